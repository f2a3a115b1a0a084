// Opens the login of a server in the browser of the person as soon as the server wants it.
//
// One tab at a time, for all servers and processes of this user: the others wait, and use what the first one got. A person who
// refuses, or closes the tab, is not asked again for a while, unless a call needs the server.

import type { LogLevel, Timer } from '../runtime/runtime.js'
import { errorText } from '../text/error-text.js'
import type { LoginTarget } from './login-flow.js'
import type { LoginRuntime } from './login-http.js'
import type { LoginStore } from './login-store.js'

/** After a login that came to nothing. */
const ASK_AGAIN_MS = 600_000

/** How often a process looks whether the tab of another one is closed. */
const LOOK_MS = 500

export class AutomaticLogin {
  readonly #target: LoginTarget
  readonly #store: LoginStore
  readonly #runtime: LoginRuntime
  readonly #tell: (level: LogLevel, message: string) => void
  readonly #closing = new AbortController()
  #running: Promise<void> | undefined
  /** To ask for, beyond those of the login before. */
  #moreScopes: readonly string[] = []
  /** When a call has needed the login last, in milliseconds since 1970. */
  #calledAtMs = 0
  #startPage: string | undefined
  #look: Timer | undefined

  /** `tell` logs. */
  constructor(
    target: LoginTarget,
    store: LoginStore,
    runtime: LoginRuntime,
    tell: (level: LogLevel, message: string) => void,
  ) {
    this.#target = target
    this.#store = store
    this.#runtime = runtime
    this.#tell = tell
  }

  /** The address with which the login begins, while this process waits for it. */
  get startPage(): string | undefined {
    return this.#startPage
  }

  /**
   * Opens the browser, unless that was done; `isCalled` says that a call needs the login, and `scopes` are those to ask for.
   * `version` is that of the login which does not suffice: another one may have been made since. Resolves when the login has
   * ended, in whatever way.
   */
  ask(
    isCalled: boolean,
    scopes: readonly string[] = [],
    version: string = this.#store.versionOf(this.#target.url),
  ): Promise<void> {
    if (isCalled) this.#calledAtMs = this.#runtime.wallNow()
    if (this.#closing.signal.aborted) return Promise.resolve()
    if (this.#running !== undefined) {
      const isEnough = scopes.every((scope) => this.#moreScopes.includes(scope))
      // The login that is under way, here or in another process, asks for fewer rights. A refusal of it is one of this call too.
      return isEnough ? this.#running : this.#running.then(() => this.ask(false, scopes))
    }
    this.#moreScopes = scopes
    this.#running = this.#run(version)
      .catch((error: unknown) => this.#tell('warn', `its login cannot begin: ${errorText(error)}`))
      .finally(() => {
        this.#running = undefined
      })
    return this.#running
  }

  /** Gives up a login that is under way. */
  close(): void {
    this.#closing.abort()
    this.#look?.cancel()
  }

  async #run(before: string): Promise<void> {
    const { url } = this.#target
    const turn = this.#store.browserTurn()
    const isOver = (): boolean => this.#closing.signal.aborted || this.#store.versionOf(url) !== before
    while (!turn.tryTake()) {
      await this.#pause()
      if (isOver()) return
    }
    try {
      if (isOver() || this.#isRefused) return
      await this.#logIn()
    } finally {
      turn.free()
    }
  }

  get #isRefused(): boolean {
    const refusedAtMs = this.#store.refusedAtMs(this.#target.url)
    if (refusedAtMs === undefined || this.#calledAtMs > refusedAtMs) return false
    return this.#runtime.wallNow() - refusedAtMs < ASK_AGAIN_MS
  }

  async #logIn(): Promise<void> {
    const { logIn } = await import('./login-flow.js')
    const { openBrowser } = await import('./browser.js')
    const left = new Promise<void>((resolve) =>
      this.#closing.signal.addEventListener('abort', () => resolve()),
    )
    const show = async (startPage: string): Promise<void> => {
      this.#startPage = startPage
      const isOpen = await openBrowser(startPage, this.#runtime.env)
      const words = isOpen ? 'its login is in your browser; or open' : 'to log in, open on this machine'
      this.#tell('info', `${words}: ${startPage}`)
    }
    try {
      const moreScopes = this.#moreScopes.length === 0 ? undefined : this.#moreScopes.join(' ')
      const target = { ...this.#target, moreScopes }
      const { issuer } = await logIn(target, this.#store, this.#runtime, { show, left })
      this.#tell('info', `logged in at ${new URL(issuer).host}`)
    } catch (error) {
      if (this.#closing.signal.aborted) return
      this.#store.refused(this.#target.url)
      this.#tell('warn', `its login came to nothing: ${errorText(error)}`)
    } finally {
      this.#startPage = undefined
    }
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      this.#look = this.#runtime.setTimer(LOOK_MS, resolve)
    })
  }
}
