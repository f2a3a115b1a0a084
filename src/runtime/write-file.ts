// Writes files in places where another program may have put something else. Readers find the old bytes or the
// new ones, even after a crash.

import { randomUUID } from 'node:crypto'
import {
  closeSync,
  constants,
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
import { type FileHandle, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import process from 'node:process'

const { O_APPEND, O_CREAT, O_EXCL, O_WRONLY } = constants

/** Windows has neither flag. */
const SAFE = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)

const flags = { append: O_APPEND, create: O_EXCL, replace: 0 }

/** The system makes these names links. */
const [STDOUT, STDERR] = ['/dev/stdout', '/dev/stderr']

/** Whether the path names a standard stream of this process, which is no separate file. */
export function isStream(path: string): boolean {
  return path === STDOUT || path === STDERR
}

/**
 * Opens a file for writing. It follows no link, waits for no reader of a pipe, and makes the file readable by
 * its owner only. The result is a regular file of this user, stderr, or a stdout that is appended to. Rejects
 * with the error of the system, or with the reason why the file is refused.
 */
export async function openToWrite(path: string, how: 'append' | 'create' | 'replace'): Promise<FileHandle> {
  if (path === STDERR || (path === STDOUT && how === 'append')) return open(path, 'a')
  const handle = await open(path, O_WRONLY | O_CREAT | SAFE | flags[how], 0o600)
  try {
    const stats = await handle.stat()
    if (!stats.isFile()) throw new Error('it is not a regular file')
    const own = process.geteuid?.()
    if (own !== undefined && stats.uid !== own) throw new Error('it belongs to another user')
    // A file with the attribute append-only (chattr +a) takes lines, and its mode cannot be changed.
    if (own !== undefined && (stats.mode & 0o077) !== 0) await handle.chmod(0o600).catch(() => undefined)
    if (how === 'replace') await handle.truncate()
    return handle
  } catch (error) {
    await handle.close()
    throw error
  }
}

/**
 * Replaces a file as a whole. The umask of the process applies to `mode`, unless `isExact`; a replaced file
 * then keeps its owner too. @throws the error of the system
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

/** If root replaces the file of another user, the file must stay readable for that user. */
function keepOwner(file: number, path: string): void {
  const before = lstatSync(path, { throwIfNoEntry: false })
  const { uid, gid } = fstatSync(file)
  if (before === undefined || (before.uid === uid && before.gid === gid)) return
  // In a folder of a third user, or of all users, any user may have put the file there.
  const folder = statSync(dirname(path))
  const isOurs = folder.uid === uid && (folder.mode & 0o022) === 0
  if (folder.uid !== before.uid && !isOurs) return
  try {
    fchownSync(file, before.uid, before.gid)
  } catch {
    // Only root may change the owner, and a file with another owner is better than none.
  }
}
