// Paths as the file writes them.

import { isAbsolute, join, resolve } from 'node:path'

/** `~` as shells read it; there is no shell between the file and us. */
export function fromHome(path: string, home: string): string {
  return path === '~' || path.startsWith('~/') ? join(home, path.slice(1)) : path
}

/** A path of the file, made absolute. */
export function absolute(path: string, folder: string, home: string): string {
  const whole = fromHome(path, home)
  return isAbsolute(whole) ? whole : resolve(folder, whole)
}
