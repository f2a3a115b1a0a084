// The login of a person to one server. A browser opens as soon as the server needs the login, or when the
// person asks for it.
//
// All servers and processes of this user share one tab at a time. The other logins wait, and use the tokens of
// the first if they fit. After a login has failed, no tab opens for a time: an agent that repeats a call must not
// open one tab after another.
//
// A client that gives up a server ends its proxy while the person is still typing. So another process
// (`cli/run-log-in.ts`) makes the login of the one server behind `connect`, and this process follows it.

import type { LogLevel, Timer } from '../runtime/runtime.js'
import { Deferred } from '../runtime/deferred.js'
import { errorText } from '../text/error-text.js'
import type { OpenLoginPages } from './callback-server.js'
import { LoginError } from './login-error.js'
import type { LoginTarget } from './login-flow.js'
import type { LoginRuntime } from './login-http.js'
import type { LoginStore } from './login-store.js'

/** The time in milliseconds after a failed login in which none begins, by what needs the login. */
const AGAIN_MS = { start: 600_000, call: 60_000, person: 0 } as const

type Need = keyof typeof AGAIN_MS

/** The process of a login ends after this time, even if it only waited for the tab of another process. */
export const LOGIN_JOB_MS = 620_000

/** The interval in milliseconds at which a process checks whether the tab of another process is closed. */
const LOOK_MS = 500

export interface LoginJob {
  readonly folder: string
  readonly target: LoginTarget
  readonly moreScopes: readonly string[]
  /** The version of the stored login that does not suffice. */
  readonly version: string
}

/** Makes a login in a process that outlives this one. Resolves when that process has ended. */
export type LogInElsewhere = (job: Omit<LoginJob, 'folder'>) => Promise<void>

/** How the person reaches the page of a login. Without members: the proxy opens a browser of this machine. */
export interface LoginWays {
  /** Makes the login in another process. */
  readonly elsewhere?: LogInElsewhere | undefined
  /** A login begins only when the person asks for it. The person opens the page. */
  readonly isOnRequest?: boolean
  /** Opens the pages for a person at another machine. Returns undefined while too many are open. */
  readonly pages?: OpenLoginPages | undefined
}

export interface StartedLogin {
  /** Resolves with undefined if the login ended before it had a page. Rejects if it failed before. */
  readonly page: Promise<string | undefined>
  /** Resolves when the login has ended: with undefined after success, else with the reason. */
  readonly ended: Promise<string | undefined>
}

export interface LoginContext {
  readonly target: LoginTarget
  readonly store: LoginStore
  readonly runtime: LoginRuntime
  /** Writes a log line, which never contains a token. */
  readonly tell: (level: LogLevel, message: string) => void
}

export class ServerLogin {
  readonly #context: LoginContext
  readonly #ways: LoginWays
  readonly #closing = new AbortController()
  #running: Promise<void> | undefined
  /** The scopes to request in addition to those of the previous login. */
  #moreScopes: readonly string[] = []
  /** The most urgent need of the current login, since a time in milliseconds since 1970. */
  #need: { readonly sinceMs: number; readonly againMs: number } = { sinceMs: 0, againMs: AGAIN_MS.start }
  #startPage: string | undefined
  #begun: (StartedLogin & { readonly shown: Deferred<string> }) | undefined
  #look: Timer | undefined

  constructor(context: LoginContext, ways: LoginWays = {}) {
    this.#context = context
    this.#ways = ways
  }

  /** The start page of the login, while this process waits for it. */
  get startPage(): string | undefined {
    return this.#startPage
  }

  /** Resolves when the current login has ended. Undefined without a login in progress. */
  get underWay(): Promise<void> | undefined {
    return this.#running
  }

  /** The login that a person began, until it ends. */
  get begun(): StartedLogin | undefined {
    return this.#begun
  }

  begin(): StartedLogin {
    if (this.#begun !== undefined) return this.#begun
    const before = this.#version
    const shown = new Deferred<string>()
    if (this.#startPage !== undefined) shown.resolve(this.#startPage)
    const ended = this.ask('person', [], before).then(() => {
      this.#begun = undefined
      return this.#version === before ? this.#failure : undefined
    })
    const failed = ended.then((why) => {
      if (why !== undefined) throw new LoginError(why)
      return undefined
    })
    const page = Promise.race([shown.promise, failed])
    page.catch(() => undefined)
    this.#begun = { page, ended, shown }
    return this.#begun
  }

  /**
   * Opens the browser for a login, unless one is in progress, or failed a short time ago. `scopes` are the
   * scopes to request. `version` is the version of the login that does not suffice; nothing opens if the store
   * has another one. Resolves when the login has ended, with success or without.
   */
  ask(need: Need, scopes: readonly string[] = [], version: string = this.#version): Promise<void> {
    if (this.#ways.isOnRequest === true && need !== 'person') return Promise.resolve()
    const againMs = AGAIN_MS[need]
    if (this.#running === undefined || againMs <= this.#need.againMs)
      this.#need = { sinceMs: this.#context.runtime.wallNow(), againMs }
    if (this.#closing.signal.aborted) return Promise.resolve()
    if (this.#running !== undefined) {
      const isEnough = scopes.every((scope) => this.#moreScopes.includes(scope))
      // If the person refuses the current login, which requests fewer rights, this call is refused too.
      return isEnough ? this.#running : this.#running.then(() => this.ask('start', scopes))
    }
    this.#moreScopes = scopes
    this.#running = this.#run(version)
      .catch((error: unknown) => this.#context.tell('warn', `its login cannot begin: ${errorText(error)}`))
      .finally(() => {
        this.#running = undefined
      })
    return this.#running
  }

  close(): void {
    this.#closing.abort()
    this.#look?.cancel()
  }

  #run(before: string): Promise<void> {
    const { elsewhere, isOnRequest } = this.#ways
    if (isOnRequest === true) return this.#logIn()
    return elsewhere === undefined ? this.#inTurn(before) : this.#follow(elsewhere, before)
  }

  async #inTurn(before: string): Promise<void> {
    const turn = this.#context.store.browserTurn()
    const isOver = (): boolean => this.#isOver(before)
    while (!turn.tryAcquire()) {
      await this.#pause()
      if (isOver()) return
    }
    try {
      if (isOver() || this.#isRefused) return
      await this.#logIn()
    } finally {
      this.#context.store.hideStartPage()
      turn.release()
    }
  }

  #isOver(before: string): boolean {
    return this.#closing.signal.aborted || this.#version !== before
  }

  /** Lets another process make the login, or follows a process that an earlier start began. */
  async #follow(elsewhere: LogInElsewhere, before: string): Promise<void> {
    const { url } = this.#context.target
    if (this.#isOver(before) || this.#isRefused) return
    const ended = new AbortController()
    const isLeftBehind = !this.#isTurnFree && this.#context.store.startPage(url) !== undefined
    const job = { target: this.#context.target, moreScopes: this.#moreScopes, version: before }
    if (!isLeftBehind) void elsewhere(job).then(() => ended.abort())
    while (!ended.signal.aborted && !this.#isOver(before)) {
      const page = this.#context.store.startPage(url)
      if (page !== undefined && page !== this.#startPage) this.#show(page, true)
      await this.#pause()
      if (isLeftBehind && this.#isTurnFree) ended.abort()
    }
    this.#startPage = undefined
    if (this.#closing.signal.aborted) return
    if (this.#version !== before) this.#context.tell('info', 'logged in')
    else this.#context.tell('warn', `its login failed: ${this.#failure}`)
  }

  async #open(startPage: string): Promise<void> {
    this.#startPage = startPage
    // The client that requested the login shows this page to the person.
    if (this.#ways.isOnRequest === true) return this.#begun?.shown.resolve(startPage)
    this.#context.store.showStartPage(this.#context.target.url, startPage)
    const { openBrowser } = await import('./browser.js')
    this.#show(startPage, await openBrowser(startPage, this.#context.runtime.env))
  }

  get #isTurnFree(): boolean {
    const turn = this.#context.store.browserTurn()
    const isFree = turn.tryAcquire()
    if (isFree) turn.release()
    return isFree
  }

  #show(startPage: string, isOpen: boolean): void {
    this.#startPage = startPage
    this.#begun?.shown.resolve(startPage)
    const words = isOpen ? 'its login is in your browser; or open' : 'to log in, open on this machine'
    this.#context.tell('info', `${words}: ${startPage}`)
  }

  get #version(): string {
    return this.#context.store.versionOf(this.#context.target.url)
  }

  get #failure(): string {
    return this.#context.store.refusal(this.#context.target.url)?.why ?? 'it has ended'
  }

  get #isRefused(): boolean {
    const refusedAtMs = this.#context.store.refusal(this.#context.target.url)?.atMs
    if (refusedAtMs === undefined) return false
    const { sinceMs, againMs } = this.#need
    return sinceMs <= refusedAtMs || this.#context.runtime.wallNow() - refusedAtMs < againMs
  }

  async #logIn(): Promise<void> {
    const { logIn } = await import('./login-flow.js')
    const left = new Promise<void>((resolve) =>
      this.#closing.signal.addEventListener('abort', () => resolve()),
    )
    try {
      const pages = this.#ways.pages?.()
      if (pages === undefined && this.#ways.pages !== undefined)
        throw new LoginError('too many logins are under way')
      const moreScopes = this.#moreScopes.length === 0 ? undefined : this.#moreScopes.join(' ')
      const target = { ...this.#context.target, moreScopes }
      const { issuer } = await logIn(target, this.#context.store, this.#context.runtime, {
        show: (page) => this.#open(page),
        left,
        pages,
      })
      this.#context.tell('info', `logged in at ${new URL(issuer).host}`)
    } catch (error) {
      if (this.#closing.signal.aborted) return
      this.#context.store.refused(this.#context.target.url, errorText(error))
      this.#context.tell('warn', `its login failed: ${errorText(error)}`)
    } finally {
      this.#startPage = undefined
    }
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      this.#look = this.#context.runtime.setTimer(LOOK_MS, resolve)
    })
  }
}
