// Finds the program of a server through PATH, as the system does.

import { statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { isProgram, pathFolders } from '../runtime/path-folders.js'
import type { StdioServerConfig } from '../upstream/contracts/server-config.js'
import type { Environment } from '../config/configuration.js'

/** Why a start would not find the program or its folder, and what to write; undefined when it would. */
export function programTrouble(
  { command, cwd, env }: StdioServerConfig,
  own: Environment,
): string | undefined {
  if (!isFolder(cwd)) return `has the working folder ${cwd}, which is not there; make it, or change "cwd"`
  if (/[/\\]/.test(command)) return isProgram(resolve(cwd, command)) ? undefined : notThere(command, cwd)
  const path = env['PATH'] ?? own['PATH']
  // The system decides what happens then; a space was warned of when the file was read.
  if (path === undefined || /\s/.test(command)) return undefined
  return isInPath(command, path, own, cwd)
    ? undefined
    : `has the command "${command}", which is in no folder of PATH; install it, or write its whole path`
}

/** Whether one of the folders of `path` has the program; those that are relative are seen from `cwd`. */
export function isInPath(command: string, path: string, own: Environment, cwd = '/'): boolean {
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
