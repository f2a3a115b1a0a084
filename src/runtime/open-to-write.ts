// Opens a file for writing where another program may have put something in its place.

import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import process from 'node:process'

const { O_APPEND, O_CREAT, O_EXCL, O_WRONLY } = constants

/** Windows has neither. */
const SAFE = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)

const flags = { append: O_APPEND, create: O_EXCL, replace: 0 }

/** This name is a link of the system. */
const STDERR = '/dev/stderr'

/**
 * Follows no link, waits for no reader of a pipe, and makes a new file readable by its owner only.
 *
 * The result is a regular file of this user, or stderr. Rejects with the error of the system, or with what the file is.
 */
export async function openToWrite(path: string, how: 'append' | 'create' | 'replace'): Promise<FileHandle> {
  if (path === STDERR) return open(path, 'a')
  const handle = await open(path, O_WRONLY | O_CREAT | SAFE | flags[how], 0o600)
  try {
    const stats = await handle.stat()
    if (!stats.isFile()) throw new Error('it is not a regular file')
    const own = process.geteuid?.()
    if (own !== undefined && stats.uid !== own) throw new Error('it belongs to another user')
    if (how === 'replace') await handle.truncate()
    return handle
  } catch (error) {
    await handle.close()
    throw error
  }
}
