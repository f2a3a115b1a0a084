// Opens an address in the browser of the person. The program gets the address as one argument, without a shell.

import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, isAbsolute } from 'node:path'
import process from 'node:process'
import { findProgram, systemFolders } from '../runtime/path-folders.js'

type Environment = Readonly<Record<string, string | undefined>>

/** Resolves with whether a program was started. */
export async function openBrowser(address: string, env: Environment): Promise<boolean> {
  if (!/^https?:\/\//.test(address)) return false
  const isChosen = ownOpeners(env['BROWSER'] ?? '').length > 0
  // `xdg-open` itself searches PATH for browsers.
  const PATH = isChosen || process.platform === 'win32' ? process.env['PATH'] : systemFolders.join(delimiter)
  for (const [program = '', ...args] of openers(env))
    if (await starts(program, [...args, address], { ...process.env, PATH })) return true
  return false
}

/** The commands that can open an address. PATH finds only those of `$BROWSER`: a server in a sandbox may write there. */
export function openers(env: Environment): readonly (readonly string[])[] {
  const own = ownOpeners(env['BROWSER'] ?? '')
  if (own.length > 0) return own.map(([name = '', ...args]) => [findProgram(name) ?? name, ...args])
  return systemOpeners(env).flatMap(([name = '', ...args]) => {
    const program = process.platform === 'win32' || isAbsolute(name) ? name : findProgram(name)
    return program === undefined ? [] : [[program, ...args]]
  })
}

function systemOpeners(env: Environment): readonly (readonly string[])[] {
  if (process.platform === 'darwin') return [['open']]
  if (process.platform === 'win32') return [['rundll32', 'url.dll,FileProtocolHandler']]
  if (env['WSL_DISTRO_NAME'] !== undefined)
    return [['wslview'], ['/mnt/c/Windows/System32/rundll32.exe', 'url.dll,FileProtocolHandler']]
  return hasDesktop(env) ? [['xdg-open'], ['gio', 'open']] : []
}

/** The commands in `$BROWSER`, separated as in PATH. The address becomes the last argument instead of `%s`. */
function ownOpeners(list: string): readonly (readonly string[])[] {
  // The path of a single program may contain spaces and colons.
  if (existsSync(list)) return [[list]]
  const commands = list
    .split(delimiter)
    .map((command) => command.split(/\s+/).filter((word) => !['', '%s'].includes(word)))
  return commands.filter((words) => words.length > 0)
}

/** Whether a person seems to sit at this machine, so that the proxy may open a browser without a request. */
export function hasPerson(env: Environment): boolean {
  const isSet = (name: string): boolean => (env[name] ?? '') !== ''
  if (isSet('BROWSER')) return true
  const away = ['SSH_CONNECTION', 'SSH_TTY', 'CI', 'container', 'KUBERNETES_SERVICE_HOST']
  if (away.some(isSet) || containerMarks.some((path) => existsSync(path))) return false
  return openers(env).length > 0
}

const containerMarks = ['/.dockerenv', '/run/.containerenv']

function hasDesktop(env: Environment): boolean {
  return (env['DISPLAY'] ?? '') !== '' || (env['WAYLAND_DISPLAY'] ?? '') !== ''
}

function starts(program: string, args: readonly string[], env: Environment): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(program, args, { stdio: 'ignore', detached: true, env })
    child.once('error', () => resolve(false))
    child.once('spawn', () => {
      child.unref()
      resolve(true)
    })
  })
}
