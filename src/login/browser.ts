// Opens an address in the browser of the person. The address is one argument, and no shell reads it.

import { spawn } from 'node:child_process'
import process from 'node:process'

type Environment = Readonly<Record<string, string | undefined>>

/** False where no browser can be opened; true says that one was started. */
export async function openBrowser(address: string, env: Environment): Promise<boolean> {
  if (!/^https?:\/\//.test(address)) return false
  for (const [program = '', ...args] of openers(env))
    if (await starts(program, [...args, address])) return true
  return false
}

/** `$BROWSER` is a choice of the person, also where there is no desktop. */
function openers(env: Environment): readonly (readonly string[])[] {
  const own = env['BROWSER']
  if (own !== undefined && own !== '') return [[own]]
  if (process.platform === 'darwin') return [['open']]
  if (process.platform === 'win32') return [['rundll32', 'url.dll,FileProtocolHandler']]
  if (env['WSL_DISTRO_NAME'] !== undefined)
    return [['wslview'], ['rundll32.exe', 'url.dll,FileProtocolHandler']]
  return hasDesktop(env) ? [['xdg-open'], ['gio', 'open']] : []
}

function hasDesktop(env: Environment): boolean {
  return env['DISPLAY'] !== undefined || env['WAYLAND_DISPLAY'] !== undefined
}

function starts(program: string, args: readonly string[]): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(program, args, { stdio: 'ignore', detached: true })
    child.once('error', () => resolve(false))
    child.once('spawn', () => {
      child.unref()
      resolve(true)
    })
  })
}
