// The interpreters of a machine: where they are on the host, and what else has to be bound for them.

import { accessSync, constants, lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { delimiter, join, sep } from 'node:path'
import process from 'node:process'
import type { Runtime } from '../../../runtime/runtime.js'
import type { SandboxLanguage } from '../../runtime.js'
import type { RootEntry } from './arguments.js'

/** An interpreter that can be run inside. */
export interface GuestInterpreter {
  readonly program: string
  /** Folders of the host that it needs besides `/usr`. */
  readonly paths: readonly string[]
}

/** Where programs of the system are; what a PATH has before them may be a script that looks for another one. */
const SYSTEM_FOLDERS = ['/usr/bin', '/usr/local/bin', '/bin']

/** Undefined when there is none; `configured` is a path. */
export async function findInterpreter(
  language: SandboxLanguage,
  configured: string | undefined,
  runtime: Runtime,
): Promise<GuestInterpreter | undefined> {
  if (configured !== undefined) return located(configured, language, runtime)
  if (language === 'node') return nodeItself()
  const system = SYSTEM_FOLDERS.map((folder) => join(folder, 'python3')).find((path) => isProgram(path))
  if (system !== undefined) return { program: system, paths: [] }
  const found = findProgram('python3', runtime.env)
  return found === undefined ? undefined : located(found, language, runtime)
}

/** The Node that runs the service; it runs the agent too. */
export function nodeItself(): GuestInterpreter {
  const program = realpathSync(process.execPath)
  return { program, paths: isInSystem(program) ? [] : [program] }
}

/** The first in the PATH. */
export function findProgram(name: string, env: Runtime['env']): string | undefined {
  const folders = [...(env['PATH'] ?? '').split(delimiter).filter((path) => path !== ''), ...SYSTEM_FOLDERS]
  return folders.map((folder) => join(folder, name)).find((path) => isProgram(path))
}

/** What stands at the root of the host for programs: links to `/usr`, or folders beside it. */
export function rootEntries(): RootEntry[] {
  return ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'].flatMap((path): RootEntry[] => {
    const stats = lstatSync(path, { throwIfNoEntry: false })
    if (stats?.isSymbolicLink() === true) return [{ kind: 'link', path, target: readlinkSync(path) }]
    return stats?.isDirectory() === true ? [{ kind: 'folder', path }] : []
  })
}

/** An interpreter elsewhere needs its libraries: Python tells where they are, Node has none. */
async function located(
  path: string,
  language: SandboxLanguage,
  runtime: Runtime,
): Promise<GuestInterpreter | undefined> {
  if (!isProgram(path)) return undefined
  if (language === 'node') {
    const program = realpathSync(path)
    return { program, paths: isInSystem(program) ? [] : [program] }
  }
  const [executable, prefix] = await pythonPlaces(path, runtime)
  if (executable === undefined || prefix === undefined) return undefined
  const program = realpathSync(executable)
  const folders = [realpathSync(prefix)].filter((folder) => !isInSystem(folder) && folder !== sep)
  const isCovered = isInSystem(program) || folders.some((folder) => program.startsWith(`${folder}${sep}`))
  return { program, paths: isCovered ? folders : [...folders, program] }
}

async function pythonPlaces(path: string, runtime: Runtime): Promise<string[]> {
  const script = 'import sys; print(sys.executable); print(sys.base_prefix)'
  const env = { PATH: runtime.env['PATH'] ?? '', HOME: runtime.env['HOME'] ?? '/' }
  const child = runtime.spawn({ command: path, args: ['-c', script], cwd: '/', env })
  child.stdin.on('error', () => undefined).end()
  child.stderr.resume()
  const output = await text(child.stdout)
  return (await child.exited).code === 0 ? output.trim().split('\n') : []
}

function isInSystem(path: string): boolean {
  return path.startsWith('/usr/')
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
