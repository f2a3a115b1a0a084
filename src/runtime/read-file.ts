// Reads a file of any type that a program may replace at any time.
//
// The open does not wait for the writer of a named pipe. Only a regular file within the limit is read. Every
// link on the way must belong to this user or to root, because another user could change its target.

import { isUtf8 } from 'node:buffer'
import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs'
import process from 'node:process'
import { errorCode, errorText } from '../text/error-text.js'
import { placesOf } from './places.js'

interface Unread {
  /** `failed` means that the system refuses the read. */
  readonly kind: 'failed' | 'no-file' | 'too-large' | 'no-text'
  readonly why: string
  /** The code of the system; empty without one. */
  readonly code: string
}

export type TextFile = { readonly kind: 'read'; readonly text: string; readonly mode: number } | Unread

export type FileBytes = { readonly kind: 'read'; readonly bytes: Buffer; readonly stats: Stats } | Unread

/** Reads text once and synchronously, without a byte order mark. Never throws. */
export function readTextFile(path: string, bytesMax: number): TextFile {
  const file = readFileBytes(path, bytesMax)
  if (file.kind !== 'read') return file
  const { bytes, stats } = file
  return isUtf8(bytes)
    ? { kind: 'read', text: bytes.toString('utf8').replace(/^\ufeff/, ''), mode: stats.mode }
    : unread('no-text', 'it is not UTF-8 text')
}

export function readFileBytes(path: string, bytesMax: number): FileBytes {
  let fd: number | undefined
  try {
    const link = foreignLink(path)
    if (link !== undefined) return unread('no-file', `it is behind ${link}, a link of another user`)
    fd = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
    const stats = fstatSync(fd)
    if (stats.isDirectory()) return unread('no-file', 'it is a folder')
    if (!stats.isFile()) return unread('no-file', 'it is not a regular file')
    const bytes = stats.size > bytesMax ? undefined : readAll(fd, bytesMax)
    return bytes === undefined
      ? unread('too-large', `it has more than ${bytesMax} bytes`)
      : { kind: 'read', bytes, stats }
  } catch (error) {
    const code = errorCode(error) ?? errorText(error)
    return unread(
      'failed',
      `it cannot be read: ${code}${code === 'ENOENT' ? '; there is no such file' : ''}`,
      code,
    )
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}

function unread(kind: Unread['kind'], why: string, code = ''): Unread {
  return { kind, why, code }
}

/** The first link on the way that belongs neither to this user nor to root. Windows has no such owners. */
function foreignLink(path: string): string | undefined {
  const own = process.geteuid?.()
  if (own === undefined) return undefined
  return placesOf(path).find(({ linkOwner = own }) => linkOwner !== own && linkOwner !== 0)?.path
}

/** Returns undefined if the file is longer than the limit, even if its reported size is smaller. */
function readAll(fd: number, bytesMax: number): Buffer | undefined {
  const chunks: Buffer[] = []
  let length = 0
  while (length <= bytesMax) {
    const chunk = Buffer.allocUnsafe(16 * 1024)
    const read = readSync(fd, chunk)
    if (read === 0) return Buffer.concat(chunks)
    chunks.push(chunk.subarray(0, read))
    length += read
  }
  return undefined
}
