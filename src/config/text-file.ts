// Reads a file that may be anything as text, no further than a limit.

import { isUtf8 } from 'node:buffer'
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'

export type TextFile =
  | { readonly kind: 'read'; readonly text: string; readonly mode: number }
  /** `code` is the system's where it has one. */
  | { readonly kind: 'failed'; readonly why: string; readonly code: string }
  | { readonly kind: 'no-file' | 'too-large' | 'no-text'; readonly why: string }

/** Reads once and synchronously, without a byte order mark; never throws. */
export function readTextFile(path: string, bytesMax: number): TextFile {
  let fd: number | undefined
  try {
    // Without blocking: to open a named pipe would wait for a writer for ever.
    fd = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
    const stat = fstatSync(fd)
    if (stat.isDirectory()) return { kind: 'no-file', why: 'it is a folder' }
    if (!stat.isFile()) return { kind: 'no-file', why: 'it is not a regular file' }
    const bytes = stat.size > bytesMax ? undefined : readAll(fd, bytesMax)
    if (bytes === undefined) return { kind: 'too-large', why: `it has more than ${bytesMax} bytes` }
    if (!isUtf8(bytes)) return { kind: 'no-text', why: 'it is not UTF-8 text' }
    return { kind: 'read', text: bytes.toString('utf8').replace(/^\ufeff/, ''), mode: stat.mode }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
    return {
      kind: 'failed',
      why: `it cannot be read: ${code}${code === 'ENOENT' ? '; there is no such file' : ''}`,
      code,
    }
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}

/** Undefined when there is more than the limit, also when the reported size is smaller. */
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
