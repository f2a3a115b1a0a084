// The login of one remote server, as its requests carry it, and the error of a call for which there is none.
//
// Another process makes the login and may end it, so its file is looked at again. An access token is renewed before it ends, by
// one process for all.

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
import { type HeldToken, TokenRequests, heldToken } from './token-requests.js'

/** How long a failed renewal is not repeated, while the token is valid. */
const RENEW_AGAIN_MS = 30_000

/** How often the file of a login that is in use is read again: the login may have ended or changed. */
const LOOK_AGAIN_MS = 1000

/** How often the proxy looks for a login while a server waits for one. A person does not notice this delay. */
const WATCH_MS = 500

/** How long a request waits for the person, who may also log in or grant more rights later. */
const PERSON_MS = 20_000

/** For more rights so many tabs open within this time, and no further one where a login came to nothing. */
const TABS_MAX = 3
const TABS_MS = 600_000

/** Requests that wait for a person. The handshake and lists do not, because they would delay other servers. */
const calls: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read'])

/** A person may copy the command that names it into a shell, and the server has chosen it. */
const plainScope = /^[\w.:/*@+-]+$/

interface Held extends HeldToken {
  readonly login: Login
  /** Milliseconds since 1970; Infinity where the end is not known. */
  readonly renewAt: number
}

/** The login for which a call waits, and of which its error tells. */
export type LoginHelp = Pick<ServerLogin, 'ask' | 'startPage'>

export class LoginCredentials implements HttpCredentials {
  readonly #name: string
  readonly #command: string
  readonly #url: string
  readonly #context: LoginContext
  readonly #help: LoginHelp | undefined
  /** Scopes that logins for single requests have requested. */
  #more: readonly string[] = []
  #tabs = 0
  #tabsUntil = Number.NEGATIVE_INFINITY
  #held: Held | undefined
  #version = ''
  #lookedAt = Number.NEGATIVE_INFINITY
  #isNeeded = false
  #renewing: Promise<Credential | undefined> | undefined
  #failedAt = Number.NEGATIVE_INFINITY

  /** `name` is that of the server in the configuration, and `named` its name for the command. */
  constructor(context: LoginContext, name: string, help?: LoginHelp, named: string = name) {
    this.#name = name
    this.#command = loginCommand(named, context.store.user)
    this.#url = context.target.url
    this.#context = context
    this.#help = help
  }

  ask(): void {
    if (this.#isNeeded) void this.#help?.ask(true, [], this.#version)
  }

  /** Calls `wake` once, when a login was made or has ended since the server was last asked, also by another process. */
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
      this.#lookIfChanged()
    } catch (error) {
      return Promise.reject(authError(errorText(error)))
    }
    return this.#current()
  }

  #current(): Credential | undefined | Promise<Credential | undefined> {
    const held = this.#held
    if (held === undefined) return undefined
    const now = this.#context.runtime.wallNow()
    if (now >= held.endsAt) return this.#renew(held)
    if (now >= held.renewAt && now >= this.#failedAt + RENEW_AGAIN_MS)
      this.#renew(held).catch((error: unknown) => {
        this.#failedAt = now
        this.#context.tell('warn', `its access token cannot be renewed yet: ${errorText(error)}`)
      })
    return held.credential
  }

  async refused(sent: Credential | undefined, refusal: CredentialRefusal): Promise<CredentialVerdict> {
    const challenge = bearerChallenge(refusal.challenges)
    const isTooLittle = refusal.status === 403
    if (isTooLittle && challenge?.get('error') !== 'insufficient_scope') return undefined
    try {
      if (isTooLittle) return sent && challenge && (await this.#stepUp(sent, challenge))
      this.#look()
      if (this.#held === undefined)
        return challenge === undefined && sent === undefined ? undefined : await this.#awaited(refusal)
      // Another process has renewed the token, or logged in. That token may have ended too.
      if (this.#held.credential.secret !== sent?.secret) return 'other'
      return (await this.#renew(this.#held)) === undefined ? await this.#awaited(refusal) : 'again'
    } catch (error) {
      return error instanceof TransportError ? error : authError(errorText(error))
    }
  }

  /** A call waits for the login where a browser opens for it. */
  async #awaited({ rpc = '' }: CredentialRefusal): Promise<CredentialVerdict> {
    if (!calls.has(rpc) || this.#help === undefined) return this.#needed()
    await within(this.#help.ask(true, [], this.#version), PERSON_MS, this.#context.runtime)
    this.#look()
    return this.#held === undefined ? this.#needed() : 'again'
  }

  #needed(): TransportError {
    this.#isNeeded = true
    void this.#help?.ask(false, [], this.#version)
    return new TransportError(
      'TRANSPORT_LOGIN',
      `Authentication failed: '${this.#name}' needs a login; ${this.#way}`,
    )
  }

  get #way(): string {
    const page = this.#help?.startPage
    return `${page === undefined ? '' : `open ${page} or `}run: ${this.#command}`
  }

  /** Asks the person for more rights for one request, which is then sent again. */
  async #stepUp(sent: Credential, challenge: BearerChallenge): Promise<CredentialVerdict> {
    this.#look()
    if (this.#held === undefined) return this.#needed()
    if (this.#held.credential.secret !== sent.secret) return 'again'
    const asked = scopesIn(this.#held.login.scope, ...this.#more)
    const scopes = moreScopes(asked, challenge)
    if (scopes !== undefined && this.#help !== undefined && this.#mayOpenTab()) {
      await within(this.#help.ask(true, scopes, this.#version), PERSON_MS, this.#context.runtime)
      this.#look()
      if (this.#held !== undefined && this.#held.credential.secret !== sent.secret) {
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

  /** The proxy does not look again for a login of a server that wants none. */
  #lookIfChanged(): void {
    const isFirst = this.#lookedAt === Number.NEGATIVE_INFINITY
    const isOld = this.#held !== undefined && this.#context.runtime.now() - this.#lookedAt >= LOOK_AGAIN_MS
    if (!isFirst && !isOld && !this.#isNeeded) return
    if (isFirst || this.#hasChanged) this.#look()
    else this.#lookedAt = this.#context.runtime.now()
  }

  /** @throws LoginError, after which the file is read again */
  #look(): void {
    this.#lookedAt = Number.NEGATIVE_INFINITY
    const version = this.#context.store.versionOf(this.#url)
    const login = this.#context.store.read(this.#url)
    this.#version = version
    this.#lookedAt = this.#context.runtime.now()
    this.#held = login && heldOf(login)
    if (login !== undefined) this.#isNeeded = false
  }

  /** Undefined if only a new login helps. Rejects with TransportError. */
  #renew(held: Held): Promise<Credential | undefined> {
    this.#renewing ??= this.#context.store
      .alone(this.#url, () => this.#renewAlone(held))
      .catch((error: unknown) => {
        if (error instanceof TransportError) throw error
        throw new TransportError('TRANSPORT_TOKEN', `no token: ${errorText(error)}`)
      })
      .finally(() => {
        this.#renewing = undefined
      })
    return this.#renewing
  }

  /** Another process may have renewed the token in the file meanwhile: no refresh token is used twice. */
  async #renewAlone({ credential: { secret } }: Held): Promise<Credential | undefined> {
    this.#look()
    const login = this.#held?.login
    if (login === undefined) throw this.#needed()
    if (login.accessToken !== secret) return this.#held?.credential
    if (login.refreshToken === undefined) return this.#ended(login, 'it cannot be renewed')
    const startedAt = this.#context.runtime.now()
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
      this.#look()
      this.#context.tell(
        'debug',
        `its access token was renewed in ${Math.round(this.#context.runtime.now() - startedAt)} ms`,
      )
      return this.#held?.credential
    } catch (error) {
      if (error instanceof LoginError && error.isOver) return this.#ended(login, error.message)
      throw error
    }
  }

  #ended(login: Login, why: string): undefined {
    this.#context.store.remove(login.url)
    this.#look()
    this.#isNeeded = true
    this.#context.tell('warn', `its login is over: ${why}; run: ${this.#command}`)
  }
}

function heldOf(login: Login): Held {
  const { accessToken, obtainedAtMs, expiresAtMs = Number.POSITIVE_INFINITY } = login
  const life = expiresAtMs - obtainedAtMs
  return { login, renewAt: expiresAtMs - life / 5, ...heldToken(accessToken, obtainedAtMs, life) }
}

function authError(why: string): TransportError {
  return new TransportError('TRANSPORT_AUTH', `Authentication failed: ${why}`)
}
