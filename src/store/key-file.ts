// Keeps the key of a single gateway without `server.stateKey` in a file.

import { randomUUID } from 'node:crypto'
import { linkSync, rmSync, writeFileSync } from 'node:fs'
import process from 'node:process'
import { readFileBytes } from '../runtime/read-file.js'
import { errorCode } from '../text/error-text.js'

const KEY_BYTES = 32

const keyText = /^[\w-]{43}\n$/

/**
 * Returns the key in this file, and makes a missing file. The folder must exist. Two processes that start
 * together get the same key.
 *
 * @throws if the file cannot be made, other users can read it, or it contains no key
 */
export function keyIn(path: string, secret: (bytes: number) => Buffer): string {
  return read(path) ?? make(path, secret)
}

function make(path: string, secret: (bytes: number) => Buffer): string {
  // A new link has its whole content immediately, and never replaces a file.
  const draft = `${path}.${randomUUID()}.tmp`
  try {
    writeFileSync(draft, `${secret(KEY_BYTES).toString('base64url')}\n`, { flag: 'wx', mode: 0o600 })
    linkSync(draft, path)
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error
  } finally {
    rmSync(draft, { force: true })
  }
  const key = read(path)
  if (key === undefined) throw new Error(`${path} was removed directly after it was made`)
  return key
}

function read(path: string): string | undefined {
  const file = readFileBytes(path, 1024)
  if (file.kind === 'failed' && file.code === 'ENOENT') return undefined
  if (file.kind !== 'read') throw new Error(`${path}: ${file.why}`)
  const own = process.geteuid?.()
  if (own !== undefined && file.stats.uid !== own) throw new Error(`${path} belongs to another user`)
  if (own !== undefined && (file.stats.mode & 0o077) !== 0)
    throw new Error(`${path} can be read by others; run chmod 600 on it`)
  const text = file.bytes.toString()
  if (!keyText.test(text)) throw new Error(`${path} has no key; remove it, and another one is made`)
  return text.trim()
}
