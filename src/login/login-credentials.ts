// The login of one remote server: the token for its requests, and the error of a call while no login exists.
//
// Another process makes the login and may end it, so the proxy reads its file again. One process renews an
// access token for all processes, before the token expires.

import { TransportError } from '../jsonrpc/jsonrpc-errors.js'
import type { Timer } from '../runtime/runtime.js'
import { within } from '../runtime/deadline.js'
import { errorText } from '../text/error-text.js'
import type {
  Credential,
  CredentialRefusal,
  CredentialVerdict,
  HttpCredentials,
} from '../transports/http-client/options.js'
import { type BearerChallenge, bearerChallenge, moreScopes, scopesIn } from './challenges.js'
import { LoginError, loginCommand } from './login-error.js'
import { loginHttp } from './login-http.js'
import type { Login } from './login-store.js'
import type { LoginContext, ServerLogin } from './server-login.js'
import { type AccessToken, TokenRequests, accessTokenOf } from './token-requests.js'

/** The time in milliseconds before a failed renewal is repeated, while the token is still valid. */
const RENEW_AGAIN_MS = 30_000

/** The file of a login in use is read again at this interval, because the login may have changed. */
const READ_AGAIN_MS = 1000

/** The interval in milliseconds at which the proxy looks for a new login while a server needs one. */
const WATCH_MS = 500

/** The time in milliseconds that a request waits for the person. The person may also finish the login later. */
const PERSON_MS = 20_000

/** At most `TABS_MAX` tabs open for more rights within `TABS_MS`, and none after a tab without a login. */
const TABS_MAX = 3
const TABS_MS = 600_000

/** Requests that wait for a person. The handshake and lists do not wait, because they would delay other servers. */
const calls: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read'])

/** The server chooses the scope, and a person may copy the command that contains it into a shell. */
const plainScope = /^[\w.:/*@+-]+$/

interface StoredToken extends AccessToken {
  readonly login: Login
  /** Milliseconds since 1970. Infinity if the token has no known end. */
  readonly renewAt: number
}

/** The login for which a call waits, and whose start page the error of the call names. */
export type LoginHelp = Pick<ServerLogin, 'ask' | 'startPage'>

export class LoginCredentials implements HttpCredentials {
  readonly #name: string
  readonly #command: string
  readonly #url: string
  readonly #context: LoginContext
  readonly #help: LoginHelp | undefined
  /** Scopes that step-up logins requested. */
  #more: readonly string[] = []
  #tabs = 0
  #tabsUntil = Number.NEGATIVE_INFINITY
  #token: StoredToken | undefined
  #version = ''
  #readAt = Number.NEGATIVE_INFINITY
  #isNeeded = false
  #renewing: Promise<Credential | undefined> | undefined
  #failedAt = Number.NEGATIVE_INFINITY

  /** `name` is the name of the server in the configuration. `named` is its name for the command. */
  constructor(context: LoginContext, name: string, help?: LoginHelp, named: string = name) {
    this.#name = name
    this.#command = loginCommand(named, context.store.user)
    this.#url = context.target.url
    this.#context = context
    this.#help = help
  }

  ask(): void {
    if (this.#isNeeded) void this.#help?.ask('call', [], this.#version)
  }

  /** Calls `wake` once, when the file of the login differs from the last version that was read. */
  onChange(wake: () => void): Timer {
    const version = this.#version
    let timer: Timer | undefined
    const look = (): void => {
      timer = this.#context.runtime.setTimer(WATCH_MS, () => {
        if (this.#context.store.versionOf(this.#url) === version) look()
        else wake()
      })
    }
    look()
    return { cancel: () => timer?.cancel() }
  }

  credential(): Credential | undefined | Promise<Credential | undefined> {
    try {
      this.#readIfChanged()
    } catch (error) {
      return Promise.reject(authError(errorText(error)))
    }
    return this.#current()
  }

  #current(): Credential | undefined | Promise<Credential | undefined> {
    const token = this.#token
    if (token === undefined) return undefined
    const now = this.#context.runtime.wallNow()
    if (now >= token.endsAt) return this.#renew(token)
    if (now >= token.renewAt && now >= this.#failedAt + RENEW_AGAIN_MS)
      this.#renew(token).catch((error: unknown) => {
        this.#failedAt = now
        this.#context.tell('warn', `its access token cannot be renewed yet: ${errorText(error)}`)
      })
    return token.credential
  }

  async refused(sent: Credential | undefined, refusal: CredentialRefusal): Promise<CredentialVerdict> {
    const challenge = bearerChallenge(refusal.challenges)
    const isTooLittle = refusal.status === 403
    if (isTooLittle && challenge?.get('error') !== 'insufficient_scope') return undefined
    try {
      if (isTooLittle) return sent && challenge && (await this.#stepUp(sent, challenge))
      this.#read()
      if (this.#token === undefined)
        return challenge === undefined && sent === undefined ? undefined : await this.#awaited(refusal)
      // Another process renewed the token or logged in. That newer token may have expired too.
      if (this.#token.credential.secret !== sent?.secret) return 'other'
      return (await this.#renew(this.#token)) === undefined ? await this.#awaited(refusal) : 'again'
    } catch (error) {
      return error instanceof TransportError ? error : authError(errorText(error))
    }
  }

  /** Waits for the person if the request is a call and a browser can open. */
  async #awaited({ rpc = '' }: CredentialRefusal): Promise<CredentialVerdict> {
    if (!calls.has(rpc) || this.#help === undefined) return this.#needed()
    await within(this.#help.ask('call', [], this.#version), PERSON_MS, this.#context.runtime)
    this.#read()
    return this.#token === undefined ? this.#needed() : 'again'
  }

  #needed(): TransportError {
    this.#isNeeded = true
    void this.#help?.ask('start', [], this.#version)
    return new TransportError(
      'TRANSPORT_LOGIN',
      `Authentication failed: '${this.#name}' needs a login; ${this.#way}`,
    )
  }

  get #way(): string {
    const page = this.#help?.startPage
    return `${page === undefined ? '' : `open ${page} or `}run: ${this.#command}`
  }

  /** Asks the person for more rights for one request. The caller then sends the request again. */
  async #stepUp(sent: Credential, challenge: BearerChallenge): Promise<CredentialVerdict> {
    this.#read()
    if (this.#token === undefined) return this.#needed()
    if (this.#token.credential.secret !== sent.secret) return 'again'
    const asked = scopesIn(this.#token.login.scope, ...this.#more)
    const scopes = moreScopes(asked, challenge)
    if (scopes !== undefined && this.#help !== undefined && this.#mayOpenTab()) {
      await within(this.#help.ask('call', scopes, this.#version), PERSON_MS, this.#context.runtime)
      this.#read()
      if (this.#token !== undefined && this.#token.credential.secret !== sent.secret) {
        this.#more = scopes
        return 'again'
      }
      this.#tabs = TABS_MAX
    }
    const all = scopes ?? scopesIn(asked.join(' '), challenge.get('scope'))
    const shown = all.filter((each) => plainScope.test(each)).join(' ')
    const why = scopes === undefined ? ', and asking for them did not help' : ''
    return authError(`'${this.#name}' wants more rights${why}; ${this.#way} --scope '${shown}'`)
  }

  #mayOpenTab(): boolean {
    const now = this.#context.runtime.now()
    if (now >= this.#tabsUntil) this.#tabs = 0
    if (this.#tabs >= TABS_MAX) return false
    this.#tabs++
    this.#tabsUntil = now + TABS_MS
    return true
  }

  get #hasChanged(): boolean {
    return this.#context.store.versionOf(this.#url) !== this.#version
  }

  /** Looks for a changed login only if the server needs one or has one. */
  #readIfChanged(): void {
    const isFirst = this.#readAt === Number.NEGATIVE_INFINITY
    const isOld = this.#token !== undefined && this.#context.runtime.now() - this.#readAt >= READ_AGAIN_MS
    if (!isFirst && !isOld && !this.#isNeeded) return
    if (isFirst || this.#hasChanged) this.#read()
    else this.#readAt = this.#context.runtime.now()
  }

  /** @throws LoginError, after which the next look reads the file again */
  #read(): void {
    this.#readAt = Number.NEGATIVE_INFINITY
    const version = this.#context.store.versionOf(this.#url)
    const login = this.#context.store.read(this.#url)
    this.#version = version
    this.#readAt = this.#context.runtime.now()
    this.#token = login && storedTokenOf(login)
    if (login !== undefined) this.#isNeeded = false
  }

  /** Resolves with undefined if only a new login helps. Rejects with TransportError. */
  #renew(token: StoredToken): Promise<Credential | undefined> {
    this.#renewing ??= this.#context.store
      .withLock(this.#url, () => this.#renewAlone(token))
      .catch((error: unknown) => {
        if (error instanceof TransportError) throw error
        throw new TransportError('TRANSPORT_TOKEN', `no token: ${errorText(error)}`)
      })
      .finally(() => {
        this.#renewing = undefined
      })
    return this.#renewing
  }

  /** Reads the file first, because another process may have renewed the token. No refresh token is used twice. */
  async #renewAlone({ credential: { secret } }: StoredToken): Promise<Credential | undefined> {
    this.#read()
    const login = this.#token?.login
    if (login === undefined) throw this.#needed()
    if (login.accessToken !== secret) return this.#token?.credential
    if (login.refreshToken === undefined) return this.#ended(login, 'it cannot be renewed')
    try {
      const { issuer, tokenEndpoint, client, refreshToken, resource } = login
      const http = loginHttp(this.#context.runtime, new URL(this.#url))
      const requests = await TokenRequests.of({ issuer, token_endpoint: tokenEndpoint }, http)
      const parameters = { refresh_token: refreshToken, resource }
      const tokens = await requests.grant(client, 'refresh_token', parameters)
      const now = this.#context.runtime.wallNow()
      this.#context.store.write({
        ...login,
        accessToken: tokens.accessToken,
        refreshToken: tokens.refreshToken ?? refreshToken,
        scope: tokens.scope ?? login.scope,
        obtainedAtMs: now,
        expiresAtMs: tokens.expiresIn === undefined ? undefined : now + tokens.expiresIn * 1000,
      })
      this.#read()
      this.#context.tell('debug', 'its access token was renewed')
      return this.#token?.credential
    } catch (error) {
      if (error instanceof LoginError && error.isOver) return this.#ended(login, error.message)
      throw error
    }
  }

  #ended(login: Login, why: string): undefined {
    this.#context.store.remove(login.url)
    this.#read()
    this.#isNeeded = true
    this.#context.tell('warn', `its login is over: ${why}; run: ${this.#command}`)
  }
}

function storedTokenOf(login: Login): StoredToken {
  const { accessToken, obtainedAtMs, expiresAtMs = Number.POSITIVE_INFINITY } = login
  const life = expiresAtMs - obtainedAtMs
  return { login, renewAt: expiresAtMs - life / 5, ...accessTokenOf(accessToken, obtainedAtMs, life) }
}

function authError(why: string): TransportError {
  return new TransportError('TRANSPORT_AUTH', `Authentication failed: ${why}`)
}
