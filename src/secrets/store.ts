// Stores secrets by name: in the keyring of the system, or in a file that only its owner can read.
//
// The file lists all names, so no keyring must be unlocked to list them. The value of a secret in the keyring
// is null there.

import { chmodSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import process from 'node:process'
import { readJson } from '../config/json-syntax.js'
import { isObject } from '../text/json-object.js'
import { readTextFile } from '../runtime/read-file.js'
import { FileLock, type LockRuntime } from '../runtime/file-lock.js'
import { replaceFile } from '../runtime/write-file.js'
import { errorText } from '../text/error-text.js'

const FILE_BYTES_MAX = 1024 * 1024

/** The version of the file format. A newer program reads older formats. */
const FORMAT = 1

export type SecretPlace = 'keyring' | 'file'

/** A secret could not be read or written. The message says why, and what to do. */
export class SecretStoreError extends Error {
  override readonly name = 'SecretStoreError'
}

export class SecretStore {
  /** The path of the file, which may not exist. */
  readonly path: string
  readonly #runtime: LockRuntime
  readonly #keyring: () => Promise<Keyring | undefined>

  constructor(path: string, runtime: LockRuntime, keyring: () => Promise<Keyring | undefined> = openKeyring) {
    this.path = path
    this.#runtime = runtime
    this.#keyring = keyring
  }

  /** Resolves with undefined if no secret has this name. @throws SecretStoreError */
  async get(name: string): Promise<string | undefined> {
    const value = this.#read().get(name)
    if (value !== null) return value
    const keyring = await this.#keyring()
    if (keyring === undefined)
      throw new SecretStoreError(
        `the secret is in the keyring of the system, which cannot be reached; unlock it, install @napi-rs/keyring beside mcps-proxy, or set it again`,
      )
    try {
      const found = await keyring(name).getPassword()
      return typeof found === 'string' ? found : undefined
    } catch (error) {
      throw new SecretStoreError(`the keyring of the system refuses it: ${errorText(error)}`)
    }
  }

  /** @throws SecretStoreError */
  names(): readonly { readonly name: string; readonly place: SecretPlace }[] {
    return [...this.#read()].map(([name, value]) => ({ name, place: value === null ? 'keyring' : 'file' }))
  }

  /** Stores a secret, and resolves with its place: the keyring if possible, otherwise the file. @throws SecretStoreError */
  async set(name: string, value: string): Promise<SecretPlace> {
    const isInKeyring = await this.#putInKeyring(name, value)
    await this.#change((secrets) => secrets.set(name, isInKeyring ? null : value))
    return isInKeyring ? 'keyring' : 'file'
  }

  /** Resolves with false if no secret has this name. @throws SecretStoreError */
  async remove(name: string): Promise<boolean> {
    const value = this.#read().get(name)
    if (value === undefined) return false
    if (value === null) await (await this.#keyring())?.(name).deleteCredential()
    await this.#change((secrets) => secrets.delete(name))
    return true
  }

  async #putInKeyring(name: string, value: string): Promise<boolean> {
    try {
      const keyring = await this.#keyring()
      await keyring?.(name).setPassword(value)
      return keyring !== undefined
    } catch {
      return false
    }
  }

  #read(): Map<string, string | null> {
    const file = readTextFile(this.path, FILE_BYTES_MAX)
    if (file.kind === 'failed' && file.code === 'ENOENT') return new Map()
    if (file.kind !== 'read') throw new SecretStoreError(`${this.path}: ${file.why}`)
    if (process.platform !== 'win32' && (file.mode & 0o077) !== 0)
      throw new SecretStoreError(`${this.path} can be read by others; run chmod 600 on it`)
    const read = readJson(file.text)
    const value = read.kind === 'value' ? read.value : undefined
    if (!isObject(value)) throw new SecretStoreError(`${this.path} is not an object of strings`)
    // A file without a format number is the object of secrets itself.
    const isNumbered = typeof value['format'] === 'number'
    const { format, secrets } = isNumbered ? value : { format: FORMAT, secrets: value }
    if (format !== FORMAT || !isObject(secrets))
      throw new SecretStoreError(
        `${this.path} has format ${String(format)}, and this version of mcps-proxy reads ${FORMAT}; use the version that wrote it, or remove the file and set the secrets again`,
      )
    return new Map(
      Object.entries(secrets).map(([name, each]) => {
        if (typeof each === 'string' || each === null) return [name, each]
        throw new SecretStoreError(`${this.path}: '${name}' must be a string`)
      }),
    )
  }

  async #change(change: (secrets: Map<string, string | null>) => unknown): Promise<void> {
    const folder = dirname(this.path)
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    chmodSync(folder, 0o700)
    const write = (): void => {
      const secrets = this.#read()
      change(secrets)
      const content = { format: FORMAT, secrets: Object.fromEntries(secrets) }
      replaceFile(this.path, `${JSON.stringify(content, undefined, 2)}\n`, 0o600)
    }
    await new FileLock(`${this.path}.lock`, this.#runtime).during(write)
  }
}

// The package of the keyring has native code, so users install it separately.

const SERVICE = 'mcps-proxy'

/** The keyring of the kernel is not used, because a restart of the machine empties it. */
const LASTING = { linux: { store: 'secret-service' } }

/** The interface of an entry in `@napi-rs/keyring`. */
export type Keyring = (name: string) => {
  getPassword(): Promise<unknown>
  setPassword(value: string): Promise<unknown>
  deleteCredential(): Promise<unknown>
}

/** Resolves with undefined if the package is not installed, or the system has no keyring. */
async function openKeyring(): Promise<Keyring | undefined> {
  try {
    // The type `string` hides the package from the compiler, which would require it otherwise.
    const specifier: string = '@napi-rs/keyring'
    const { AsyncEntry }: KeyringModule = await import(specifier)
    const keyring: Keyring = (name) => new AsyncEntry(SERVICE, name, LASTING)
    keyring('probe')
    return keyring
  } catch {
    return undefined
  }
}

interface KeyringModule {
  readonly AsyncEntry: new (service: string, name: string, options: object) => ReturnType<Keyring>
}
