// Writes a file of a person: the configuration, or the file of a client.

import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { realPlace } from '../runtime/places.js'
import { replaceFile } from '../runtime/write-file.js'

/** The file keeps its owner, its permissions and the links to it, also where it is not there yet. @throws the system's error */
export function rewriteFile(path: string, content: string | Uint8Array): void {
  const target = realPlace(path)
  mkdirSync(dirname(target), { recursive: true, mode: 0o700 })
  replaceFile(target, content, modeOf(target), true)
}

/** The permissions of a file; those of a private one where there is none. */
export function modeOf(path: string): number {
  return (statSync(path, { throwIfNoEntry: false })?.mode ?? 0o600) & 0o777
}
