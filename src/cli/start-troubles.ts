// Why a program would not start, as far as the configuration and this machine show.

import { existsSync, statSync } from 'node:fs'
import { isAbsolute, join, resolve, sep } from 'node:path'
import { isProgram, pathFolders } from '../runtime/path-folders.js'
import { covers } from '../runtime/places.js'
import type { StdioServerConfig } from '../upstream/contracts/server-config.js'
import type { Environment } from '../config/configuration.js'

/** The reason, and the remedy; undefined if a start finds what it needs. */
export function startTrouble(server: StdioServerConfig, own: Environment): string | undefined {
  return programTrouble(server, own) ?? sandboxTrouble(server)
}

function programTrouble({ command, cwd, env }: StdioServerConfig, own: Environment): string | undefined {
  if (!isFolder(cwd)) return `has the working folder ${cwd}, which is not there; make it, or change "cwd"`
  if (/[/\\]/.test(command)) return isProgram(resolve(cwd, command)) ? undefined : notThere(command, cwd)
  const path = env['PATH'] ?? own['PATH']
  // Without PATH the system decides. A space in the command was reported when the file was read.
  if (path === undefined || /\s/.test(command)) return undefined
  return isInPath(command, path, own, cwd)
    ? undefined
    : `has the command "${command}", which is in no folder of PATH; install it, or write its whole path`
}

/** Whether a folder of `path` contains the program; relative folders are below `cwd`. */
function isInPath(command: string, path: string, own: Environment, cwd = '/'): boolean {
  const names = endings(own).map((ending) => command + ending)
  return pathFolders(path, cwd).some((folder) => names.some((name) => isProgram(join(folder, name))))
}

function notThere(command: string, cwd: string): string {
  const from = command.startsWith('.') ? ` (seen from ${cwd})` : ''
  return `has the command "${command}"${from}, which is no program that is there; check the path, and that it may be executed`
}

function endings(own: Environment): readonly string[] {
  return process.platform === 'win32' ? ['', ...(own['PATHEXT'] ?? '.COM;.EXE').split(';')] : ['']
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

function sandboxTrouble({ sandbox }: StdioServerConfig): string | undefined {
  if (sandbox === undefined) return undefined
  const paths = (['read', 'write'] as const).flatMap((key) => sandbox[key].map((path) => ({ key, path })))
  const missing = paths.find(({ path }) => !existsSync(path))
  return missing === undefined
    ? undefined
    : `has ${missing.path} in "${missing.key}" of its "sandbox", which is not there; make it, or correct the path`
}

/** A file among the server's arguments that the sandbox hides; undefined if there is none. */
export function hiddenArgument({ args, cwd, sandbox }: StdioServerConfig): string | undefined {
  if (sandbox === undefined) return undefined
  const shown = ['/usr', '/etc', sandbox.home, ...sandbox.read, ...sandbox.write]
  const isShown = (path: string): boolean => shown.some((folder) => covers(folder, path))
  const isHidden = (arg: string): boolean =>
    existsSync(resolve(cwd, arg)) && !isShown(isAbsolute(arg) ? arg : cwd)
  const hidden = args.find((arg) => arg.includes(sep) && isHidden(arg))
  if (hidden === undefined) return undefined
  const change = isAbsolute(hidden) ? '' : `write ${resolve(cwd, hidden)} in place of it, and `
  return `has the argument ${hidden}, which its sandbox hides; ${change}add its folder, with all that it imports, to "read" in "filesystem" of its "sandbox"`
}
