// The folders in which a program is looked for that is named without a folder.

import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'
import process from 'node:process'

/** The folders of system programs. A PATH may name folders in which confined code could put a program. */
export const systemFolders: readonly string[] = ['/usr/bin', '/usr/local/bin', '/bin']

/**
 * The folders of a PATH, in its order.
 *
 * An empty or relative one is seen from `cwd`, as the system does (POSIX, Environment Variables: PATH). Without `cwd`
 * empty ones are left out.
 */
export function pathFolders(path: string | undefined, cwd?: string): string[] {
  const folders = (path ?? '').split(delimiter)
  return cwd === undefined
    ? folders.filter((folder) => folder !== '')
    : folders.map((folder) => resolve(cwd, folder))
}

/** Whether this user may execute the file. */
export function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

/** The program of that name in one of the folders `more`, or else in one of the system; it belongs to root or this user. */
export function findProgram(name: string, more: readonly string[] = []): string | undefined {
  return [...more, ...systemFolders].map((folder) => join(folder, name)).find((path) => isTrusted(path))
}

function isTrusted(path: string): boolean {
  if (!isProgram(path)) return false
  const { uid, mode } = statSync(path)
  return (uid === 0 || uid === process.geteuid?.()) && (mode & 0o022) === 0
}
