// The folders in which the system looks for a program that is named without a folder.

import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, resolve } from 'node:path'

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
