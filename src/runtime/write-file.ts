// Writes files where another program may have put something in their place, and whose readers must find the bytes of before or
// the new ones, also after a crash.

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

/** Windows has neither. */
const SAFE = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)

const flags = { append: O_APPEND, create: O_EXCL, replace: 0 }

/** These names are links of the system. */
const [STDOUT, STDERR] = ['/dev/stdout', '/dev/stderr']

/** Whether the path names a stream of this process, which is no separate file. */
export function isStream(path: string): boolean {
  return path === STDOUT || path === STDERR
}

/**
 * Follows no link, waits for no reader of a pipe, and makes the file readable by its owner only.
 *
 * The result is a regular file of this user, stderr, or a stdout that is appended to. Rejects with the error of the system, or with what the file is.
 */
export async function openToWrite(path: string, how: 'append' | 'create' | 'replace'): Promise<FileHandle> {
  if (path === STDERR || (path === STDOUT && how === 'append')) return open(path, 'a')
  const handle = await open(path, O_WRONLY | O_CREAT | SAFE | flags[how], 0o600)
  try {
    const stats = await handle.stat()
    if (!stats.isFile()) throw new Error('it is not a regular file')
    const own = process.geteuid?.()
    if (own !== undefined && stats.uid !== own) throw new Error('it belongs to another user')
    // A file that is only appended to (chattr +a) takes lines and no other mode.
    if (own !== undefined && (stats.mode & 0o077) !== 0) await handle.chmod(0o600).catch(() => undefined)
    if (how === 'replace') await handle.truncate()
    return handle
  } catch (error) {
    await handle.close()
    throw error
  }
}

/**
 * Replaces a file as a whole. `mode` has the permissions: without those that the process masks, unless `isExact`. Then a file that is replaced
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
