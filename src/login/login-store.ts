// Stored logins: one file for each address of a server. All processes of this user share them.
//
// A process that refreshes a token takes the lock of the file and reads the file again first, so no refresh
// token is used twice.

import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { write } from '../jsonrpc/text.js'
import { FileLock, type LockRuntime } from '../runtime/file-lock.js'
import { readTextFile } from '../runtime/read-file.js'
import { replaceFile } from '../runtime/write-file.js'
import { errorCode, errorText } from '../text/error-text.js'
import { objectIn } from '../text/json-object.js'
import { LoginError } from './login-error.js'
import type { LoginClient } from './token-requests.js'

export interface Login {
  /** The address of the server. Another address is another server. */
  readonly url: string
  /** The user of the front, if each user has a separate login. */
  readonly user?: string | undefined
  readonly resource: string | undefined
  readonly issuer: string
  readonly tokenEndpoint: string
  readonly revocationEndpoint: string | undefined
  readonly client: LoginClient
  /** Whether the proxy registered the client itself. */
  readonly isRegistered: boolean
  readonly redirectUri: string
  readonly accessToken: string
  readonly refreshToken: string | undefined
  readonly scope: string | undefined
  /** Milliseconds since 1970. */
  readonly obtainedAtMs: number
  readonly expiresAtMs: number | undefined
}

/** The version of the file format. A newer program reads older formats. */
const FORMAT = 1

const LOGIN_BYTES_MAX = 1024 * 1024

/** The longest stored reason of a failed login, in UTF-16 units. */
const WORDS_LENGTH_MAX = 1000

export class LoginStore {
  readonly #folder: string
  readonly #runtime: LockRuntime
  readonly user: string | undefined

  constructor(folder: string, runtime: LockRuntime, user?: string) {
    this.#folder = folder
    this.#runtime = runtime
    this.user = user
  }

  /** Undefined without a login. @throws LoginError if other users may read the file, or its format is newer */
  read(url: string): Login | undefined {
    const login = this.#readFile(this.#pathOf(url))
    return login?.url === url && login.user === this.user ? login : undefined
  }

  /** Returns another text after each change of the login; empty without one. An unreadable file has one too. */
  versionOf(url: string): string {
    try {
      const stats = statSync(this.#pathOf(url), { throwIfNoEntry: false })
      return stats === undefined ? '' : `${stats.ino} ${stats.mtimeMs} ${stats.ctimeMs} ${stats.size}`
    } catch (error) {
      return errorText(error)
    }
  }

  all(): Login[] {
    try {
      const names = readdirSync(this.#folder).filter((name) => name.endsWith('.json'))
      return names.flatMap((name) => this.#readFile(join(this.#folder, name)) ?? [])
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return []
      throw error
    }
  }

  write(login: Login): void {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
    const path = this.#pathOf(login.url)
    replaceFile(path, `${write({ format: FORMAT, ...login, user: this.user })}\n`, 0o600)
    rmSync(`${path}.refused`, { force: true })
  }

  remove(url: string): void {
    rmSync(this.#pathOf(url), { force: true })
  }

  refused(url: string, why: string): void {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
    replaceFile(`${this.#pathOf(url)}.refused`, why.slice(0, WORDS_LENGTH_MAX), 0o600)
  }

  /** The time of the last failed login to this address, in milliseconds since 1970, and the reason. */
  refusal(url: string): { readonly atMs: number; readonly why: string } | undefined {
    const path = `${this.#pathOf(url)}.refused`
    const atMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs
    return atMs === undefined ? undefined : { atMs, why: textOf(path) ?? '' }
  }

  /** Shows the start page of a login to other processes. Only the process that has the browser's turn calls this. */
  showStartPage(url: string, startPage: string): void {
    replaceFile(this.#pagePath, `${url}\n${startPage}`, 0o600)
  }

  hideStartPage(): void {
    rmSync(this.#pagePath, { force: true })
  }

  startPage(url: string): string | undefined {
    const [of, page] = textOf(this.#pagePath)?.split('\n') ?? []
    return of === url ? page : undefined
  }

  get #pagePath(): string {
    return join(this.#folder, 'browser.page')
  }

  /** The lock of the process that opened the browser. All servers share it. */
  browserTurn(): FileLock {
    return new FileLock(join(this.#folder, 'browser.lock'), this.#runtime)
  }

  /** Runs while no other process runs for this address. Rejects with FileLockError if the lock stays taken too long. */
  withLock<T>(url: string, run: () => Promise<T>): Promise<T> {
    return new FileLock(`${this.#pathOf(url)}.lock`, this.#runtime).during(run)
  }

  #readFile(path: string): Login | undefined {
    const stats = statSync(path, { throwIfNoEntry: false })
    if (stats === undefined) return undefined
    if (process.platform !== 'win32' && (stats.mode & 0o077) !== 0)
      throw new LoginError(`${path} holds tokens, and others may read it: run chmod 600 on it`)
    const value = objectIn(textOf(path))
    const format = value?.['format']
    if (typeof format === 'number' && format > FORMAT)
      throw new LoginError(
        `${path} has format ${format}, and this version of mcps-proxy reads ${FORMAT}; use a newer one`,
      )
    return isLogin(value) ? value : undefined
  }

  #pathOf(url: string): string {
    // A URL contains no line break, so the key is unambiguous.
    const key = this.user === undefined ? url : `${url}\n${this.user}`
    return join(this.#folder, `${createHash('sha256').update(key).digest('hex')}.json`)
  }
}

function textOf(path: string): string | undefined {
  const file = readTextFile(path, LOGIN_BYTES_MAX)
  return file.kind === 'read' ? file.text : undefined
}

function isLogin(value: unknown): value is Login {
  if (typeof value !== 'object' || value === null) return false
  const { url, issuer, tokenEndpoint, client, accessToken, obtainedAtMs }: Record<string, unknown> = {
    ...value,
  }
  return (
    [url, issuer, tokenEndpoint, accessToken].every((each) => typeof each === 'string') &&
    typeof obtainedAtMs === 'number' &&
    typeof client === 'object' &&
    client !== null &&
    'id' in client
  )
}
