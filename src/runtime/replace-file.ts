// Writes a file whose readers find the bytes of before or the new ones, also after a crash.

import { closeSync, fchmodSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import process from 'node:process'

/** `mode` has the permissions: without those that the process masks, unless `isExact`. @throws the system's error */
export function replaceFile(
  path: string,
  content: string | Uint8Array,
  mode: number,
  isExact: boolean = false,
): void {
  const draft = `${path}.${process.pid}.tmp`
  try {
    const file = openSync(draft, 'w', mode)
    try {
      if (isExact) fchmodSync(file, mode)
      writeFileSync(file, content)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    renameSync(draft, path)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
}
