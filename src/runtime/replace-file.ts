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

/** A file of another user that root changes must stay readable for that user. */
function keepOwner(file: number, path: string): void {
  const before = lstatSync(path, { throwIfNoEntry: false })
  const { uid, gid } = fstatSync(file)
  if (before === undefined || (before.uid === uid && before.gid === gid)) return
  // In a folder of a third user, or of all, anybody may have put the file there.
  const folder = statSync(dirname(path))
  const isOurs = folder.uid === uid && (folder.mode & 0o022) === 0
  if (folder.uid !== before.uid && !isOurs) return
  try {
    fchownSync(file, before.uid, before.gid)
  } catch {
    // Other users may not give files away, and a file of theirs is better than none.
  }
}
