// Writes a file whose readers find the bytes of before or the new ones, also after a crash.

import {
  closeSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import process from 'node:process'

/**
 * `mode` has the permissions: without those that the process masks, unless `isExact`. Then a file that is replaced
 * keeps its owner too. @throws the system's error
 */
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
      if (isExact) {
        keepOwner(file, path)
        fchmodSync(file, mode)
      }
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

/** A file of another user that root changes must stay readable for that user. */
function keepOwner(file: number, path: string): void {
  const before = statSync(path, { throwIfNoEntry: false })
  const { uid, gid } = fstatSync(file)
  if (before === undefined || (before.uid === uid && before.gid === gid)) return
  try {
    fchownSync(file, before.uid, before.gid)
  } catch {
    // Other users may not give files away, and a file of theirs is better than none.
  }
}
