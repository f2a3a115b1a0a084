// Derives a key for each use from the secrets of the configuration, and seals bytes with it.

import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import type { Runtime } from '../runtime/runtime.js'

/** Each use has a separate key, which does not open bytes of another use. */
export type KeyUse = 'session id' | 'store'

const ALGORITHM = 'aes-256-gcm'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
const HEAD_BYTES = 1 + NONCE_BYTES
const TAG = { authTagLength: TAG_BYTES }

/** The number of bytes that sealing adds. */
export const SEAL_BYTES: number = HEAD_BYTES + TAG_BYTES

interface UseKey {
  /** The first byte of sealed bytes, which selects the key. */
  readonly id: number
  readonly bytes: Buffer
}

/** Seals with the key of the first secret, and opens with the key of any secret. */
export class Sealer {
  readonly #secrets: () => readonly string[]
  readonly #use: KeyUse
  readonly #secret: (bytes: number) => Buffer
  #of: readonly string[] | undefined
  #keys: readonly UseKey[] = []

  /** `secrets` returns at least one secret of the configuration in force; the same array until they change. */
  constructor(secrets: () => readonly string[], use: KeyUse, runtime: Pick<Runtime, 'secret'>) {
    this.#secrets = secrets
    this.#use = use
    this.#secret = runtime.secret ?? randomBytes
  }

  /** Returns the key id, the nonce, the ciphertext and the tag. `open` needs the same `context`. */
  seal(opened: Uint8Array, context = ''): Buffer {
    const [key] = this.#current()
    if (key === undefined) throw new TypeError('a sealer has a secret')
    const nonce = this.#secret(NONCE_BYTES)
    const cipher = createCipheriv(ALGORITHM, key.bytes, nonce, TAG).setAAD(Buffer.from(context))
    const sealed = [cipher.update(opened), cipher.final()]
    return Buffer.concat([Buffer.of(key.id), nonce, ...sealed, cipher.getAuthTag()])
  }

  /** Returns undefined for bytes of another key, use or context, and for changed bytes. */
  open(sealed: Uint8Array, context = ''): Buffer | undefined {
    if (sealed.length < SEAL_BYTES) return undefined
    for (const { id, bytes } of this.#current()) {
      const opened = id === sealed[0] ? openWith(bytes, sealed, context) : undefined
      if (opened !== undefined) return opened
    }
    return undefined
  }

  /** Whether one of the keys may have sealed the bytes. */
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

/** HKDF with SHA-256 (RFC 5869). The id is one more byte of the output, which reveals nothing of the key. */
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
