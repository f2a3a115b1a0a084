// The encryption of logins at rest, by a key that is in the keyring of the system alone.
//
// The key is made once for all processes of this user, and from then on each of them encrypts what it writes.

import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import { statSync } from 'node:fs'
import { basename } from 'node:path'
import { write } from '../jsonrpc/text.js'
import type { LockRuntime } from '../runtime/file-lock.js'
import type { Keyring } from '../secrets/store.js'
import { LoginError } from './login-error.js'

/** Opens the keyring of the system; undefined where there is none. */
export type OpenKeyring = () => Promise<Keyring | undefined>

/** The name of the key among the secrets. */
const NAME = 'mcps-proxy logins'

const CIPHER = 'aes-256-gcm'
const IV_BYTES = 12
const TAG_BYTES = 16

/** A login is encrypted, and its key was not fetched since it may have changed. */
export class LockedLogin extends Error {}

export class LoginKey {
  readonly #secretsFile: string
  readonly #runtime: LockRuntime
  readonly #isWanted: boolean
  readonly #keyring: OpenKeyring | undefined
  #key: Buffer | undefined
  /** Of the file with the names of secrets, when the key was fetched. */
  #version: string | undefined
  #fetching: Promise<void> | undefined

  /** `isWanted` makes a key where there is none. */
  constructor(secretsFile: string, runtime: LockRuntime, isWanted: boolean, keyring?: OpenKeyring) {
    this.#secretsFile = secretsFile
    this.#runtime = runtime
    this.#isWanted = isWanted
    this.#keyring = keyring
  }

  /** Fetches the key where there is one. Rejects with LoginError where there must be one and it cannot be had. */
  fetch(): Promise<void> {
    this.#fetching ??= this.#fetchCurrent().finally(() => {
      this.#fetching = undefined
    })
    return this.#fetching
  }

  async #fetchCurrent(): Promise<void> {
    // Another key may have come while a person unlocked the keyring for this one.
    while (this.#version !== this.#versionNow) {
      const version = this.#versionNow
      this.#key = await this.#fetched()
      this.#version = version
    }
  }

  /** Undefined where there is none. Rejects with LoginError. */
  async #fetched(): Promise<Buffer | undefined> {
    if (!this.#isWanted && this.#versionNow === 'none') return undefined
    const { SecretStore, SecretStoreError } = await import('../secrets/store.js')
    try {
      const secrets = new SecretStore(this.#secretsFile, this.#runtime, this.#keyring)
      const isThere = secrets.names().some(({ name }) => name === NAME)
      const text = isThere || this.#isWanted ? await secrets.inKeyring(NAME, newKey) : undefined
      return text === undefined ? undefined : createHash('sha256').update(text).digest()
    } catch (error) {
      if (!(error instanceof SecretStoreError)) throw error
      throw new LoginError(`the key of the logins cannot be had: ${error.message}`)
    }
  }

  /** The text as it stands in the file; without a key that is the text itself. */
  encrypt(text: string, path: string): string {
    if (this.#key === undefined) return text
    const iv = randomBytes(IV_BYTES)
    const cipher = createCipheriv(CIPHER, this.#key, iv).setAAD(nameOf(path))
    const parts = [iv, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]
    return write({ [CIPHER]: Buffer.concat(parts).toString('base64') })
  }

  /** Undefined where another key, or another file, had the text. @throws LockedLogin */
  decrypt(members: Readonly<Record<string, unknown>>, path: string): string | undefined {
    if (this.#version !== this.#versionNow) throw new LockedLogin(`the login in ${path} is encrypted`)
    const sealed = Buffer.from(String(members[CIPHER]), 'base64')
    if (this.#key === undefined || sealed.length < IV_BYTES + TAG_BYTES) return undefined
    const tagAt = sealed.length - TAG_BYTES
    const decipher = createDecipheriv(CIPHER, this.#key, sealed.subarray(0, IV_BYTES)).setAAD(nameOf(path))
    decipher.setAuthTag(sealed.subarray(tagAt))
    try {
      return decipher.update(sealed.subarray(IV_BYTES, tagAt), undefined, 'utf8') + decipher.final('utf8')
    } catch {
      return undefined
    }
  }

  get #versionNow(): string {
    const stats = statSync(this.#secretsFile, { throwIfNoEntry: false })
    return stats === undefined ? 'none' : `${stats.ino} ${stats.mtimeMs} ${stats.size}`
  }
}

function newKey(): string {
  return randomBytes(32).toString('base64')
}

/** Whether `decrypt` takes what a file has. */
export function isEncrypted(members: Readonly<Record<string, unknown>>): boolean {
  return typeof members[CIPHER] === 'string'
}

/** The text belongs to its file: one user's login is not read as that of another. */
function nameOf(path: string): Buffer {
  return Buffer.from(basename(path))
}
