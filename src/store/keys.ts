// The keys of single uses, which are made from the secrets of the configuration, and bytes that are sealed with them.

import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import type { Runtime } from '../runtime/runtime.js'

/** A key is for one use, so that bytes that were sealed for another use do not open. */
export type KeyUse = 'session id' | 'store'

const ALGORITHM = 'aes-256-gcm'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
const HEAD_BYTES = 1 + NONCE_BYTES
const TAG = { authTagLength: TAG_BYTES }

/** How many bytes sealing adds. */
export const SEAL_BYTES: number = HEAD_BYTES + TAG_BYTES

interface UseKey {
  /** Finds the key of sealed bytes among a few keys. */
  readonly id: number
  readonly bytes: Buffer
}

/** Seals with the key of the first of its secrets, and opens with that of each. */
export class Sealer {
  readonly #secrets: () => readonly string[]
  readonly #use: KeyUse
  readonly #secret: (bytes: number) => Buffer
  #of: readonly string[] | undefined
  #keys: readonly UseKey[] = []

  /** `secrets` gives those of the configuration in force, which are at least one. */
  constructor(secrets: () => readonly string[], use: KeyUse, runtime: Pick<Runtime, 'secret'>) {
    this.#secrets = secrets
    this.#use = use
    this.#secret = runtime.secret ?? randomBytes
  }

  /** Gives the id of the key, the nonce, the sealed bytes and the tag. `context` must be the same when they are opened. */
  seal(opened: Uint8Array, context = ''): Buffer {
    const [key] = this.#current()
    if (key === undefined) throw new TypeError('a sealer has a secret')
    const nonce = this.#secret(NONCE_BYTES)
    const cipher = createCipheriv(ALGORITHM, key.bytes, nonce, TAG).setAAD(Buffer.from(context))
    const sealed = [cipher.update(opened), cipher.final()]
    return Buffer.concat([Buffer.of(key.id), nonce, ...sealed, cipher.getAuthTag()])
  }

  /** Undefined for bytes that were sealed with another key, for another use or context, or changed since. */
  open(sealed: Uint8Array, context = ''): Buffer | undefined {
    if (sealed.length < SEAL_BYTES) return undefined
    for (const { id, bytes } of this.#current()) {
      const opened = id === sealed[0] ? openWith(bytes, sealed, context) : undefined
      if (opened !== undefined) return opened
    }
    return undefined
  }

  /** Whether one of the keys may have sealed it. */
  knows(sealed: Uint8Array): boolean {
    return this.#current().some(({ id }) => id === sealed[0])
  }

  #current(): readonly UseKey[] {
    const secrets = this.#secrets()
    if (this.#of !== secrets) this.#keys = secrets.map((secret) => keyOf(secret, this.#use))
    this.#of = secrets
    return this.#keys
  }
}

/** HKDF with SHA-256 (RFC 5869). The id is one byte more of the same output, which shows nothing of the key. */
function keyOf(secret: string, use: KeyUse): UseKey {
  const bytes = Buffer.from(hkdfSync('sha256', secret, '', `mcps-proxy ${use}`, KEY_BYTES + 1))
  return { id: bytes[KEY_BYTES] ?? 0, bytes: bytes.subarray(0, KEY_BYTES) }
}

function openWith(key: Buffer, sealed: Uint8Array, context: string): Buffer | undefined {
  const end = sealed.length - TAG_BYTES
  const decipher = createDecipheriv(ALGORITHM, key, sealed.subarray(1, HEAD_BYTES), TAG)
    .setAAD(Buffer.from(context))
    .setAuthTag(sealed.subarray(end))
  try {
    return Buffer.concat([decipher.update(sealed.subarray(HEAD_BYTES, end)), decipher.final()])
  } catch {
    return undefined
  }
}
