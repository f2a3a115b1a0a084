// Writes a file whose readers find the bytes of before or the new ones, also after a crash.

import { randomUUID } from 'node:crypto'
import {
  closeSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'

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
  // The name cannot be guessed, and `x` follows no link.
  const draft = `${path}.${randomUUID()}.tmp`
  try {
    const file = openSync(draft, 'wx', mode)
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

/** A file of another user that root changes must stay readable for that user, in a folder of that user. */
function keepOwner(file: number, path: string): void {
  const before = lstatSync(path, { throwIfNoEntry: false })
  const { uid, gid } = fstatSync(file)
  if (before === undefined || (before.uid === uid && before.gid === gid)) return
  // In another folder a third user may have put the file there.
  if (statSync(dirname(path)).uid !== before.uid) return
  try {
    fchownSync(file, before.uid, before.gid)
  } catch {
    // Other users may not give files away, and a file of theirs is better than none.
  }
}
