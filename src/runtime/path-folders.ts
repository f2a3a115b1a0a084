// Finds a program that is named without a folder.

import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'
import process from 'node:process'

/** The folders of system programs. A PATH may name folders in which confined code could put a program. */
export const systemFolders: readonly string[] = ['/usr/bin', '/usr/local/bin', '/bin']

/**
 * Splits a PATH into its folders, in its order. Resolves empty and relative folders against `cwd`, as the
 * system does (POSIX, Environment Variables: PATH). Without `cwd`, omits empty folders.
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

/** Finds a program in the folders `more`, then in those of the system. It must belong to root or to this user. */
export function findProgram(name: string, more: readonly string[] = []): string | undefined {
  return [...more, ...systemFolders].map((folder) => join(folder, name)).find((path) => isTrusted(path))
}

function isTrusted(path: string): boolean {
  if (!isProgram(path)) return false
  const { uid, mode } = statSync(path)
  return (uid === 0 || uid === process.geteuid?.()) && (mode & 0o022) === 0
}
