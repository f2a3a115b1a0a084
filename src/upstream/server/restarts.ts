// The crashes of one server, whichever of its processes they happen to, and when the server may be started again.
//
// While no process has come up since the last crash, one start at a time tries it for all: the others wait for the
// result, and fail with it. So the number of clients does not multiply the starts of a broken server.

import type { LogRecord, Runtime, Timer } from '../../runtime/runtime.js'
import {
  asUpstreamError,
  thatServer,
  isAboutCredentials,
  type UpstreamError,
  type UpstreamError as Failure,
} from '../contracts/errors.js'
import type { FailureReason } from '../../mcp/error-codes.js'
import type { ServerConnection } from './connection.js'
import type { ServerContext } from './context.js'
import type { Starter } from './starter.js'
import { within } from '../../runtime/deadline.js'

/** How crashes are answered. */
export interface RestartPolicy {
  /** The delay before a restart doubles with every crash, up to this. */
  readonly delayMsMax: number
  /** Crashes within the window that open the breaker. */
  readonly crashesMax: number
  readonly windowMs: number
  /** How long the open breaker fails calls at once, before the one attempt that may close it. */
  readonly holdMs: number
  /** Uptime after which crashes are forgotten; a start that succeeds says little. */
  readonly healthyMs: number
}

/** One start of one process. */
export interface Start {
  /** In monotonic milliseconds. */
  readonly startedAt: number
  /** The process is ready. */
  succeeded(): void
  /** The process did not become ready; undefined when that says nothing of the server. */
  failed(failure: UpstreamError | undefined): void
}

/** A start that tries the server for all its processes. */
class Trial {
  readonly over: Promise<UpstreamError | undefined>
  end: (failure: UpstreamError | undefined) => void = () => {}

  constructor() {
    this.over = new Promise((resolve) => {
      this.end = resolve
    })
  }
}

/** The history of one server, shared by all its processes. */
export class Restarts {
  readonly #policy: RestartPolicy
  readonly #firstDelayMs: number
  readonly #runtime: Pick<Runtime, 'now' | 'random'>
  /** When the latest crashes were. */
  #recent: number[] = []
  #inARow = 0
  /** The breaker has opened, and one crash opens it again. */
  #onTrial = false
  /** The breaker is open: no start has succeeded since. */
  isBroken = false
  /** Of the latest crash. */
  failure: UpstreamError | undefined
  #nextAt = -Infinity
  #crashedAt = -Infinity
  /** A process has come up since the last crash. */
  isProven: boolean
  #trial: Trial | undefined
  /** Starts after a crash. */
  count = 0
  /** The login that the server lacks has been logged. */
  isLoginLogged = false

  /** `wasWell` says that the server came up in an earlier run of the proxy. */
  constructor(
    policy: RestartPolicy,
    firstDelayMs: number,
    runtime: Pick<Runtime, 'now' | 'random'>,
    wasWell: boolean = false,
  ) {
    this.isProven = wasWell
    this.#policy = policy
    this.#firstDelayMs = firstDelayMs
    this.#runtime = runtime
  }

  /** How long to wait before a start that no call waits for. */
  get waitMs(): number {
    return Math.max(0, this.#nextAt - this.#runtime.now())
  }

  /** Whether calls fail at once: the breaker is open, and this is not the time of the attempt that may close it. */
  get isHeld(): boolean {
    return this.isBroken && (this.waitMs > 0 || this.#trial !== undefined)
  }

  /**
   * Resolves with the result of the start that has to end before another one may begin; undefined when one may begin.
   */
  get trial(): Promise<UpstreamError | undefined> | undefined {
    return this.isProven ? undefined : this.#trial?.over
  }

  begin(): Start {
    const startedAt = this.#runtime.now()
    const trial = this.isProven ? undefined : new Trial()
    this.#trial = trial ?? this.#trial
    if (trial !== undefined && this.failure !== undefined) this.count++
    const over = (failure: UpstreamError | undefined): void => {
      if (this.#trial === trial) this.#trial = undefined
      trial?.end(failure)
    }
    return {
      startedAt,
      succeeded: () => {
        // A process that was started before the last crash does not show that another start would succeed.
        if (startedAt >= this.#crashedAt) {
          this.isProven = true
          this.isBroken = false
        }
        this.isLoginLogged = false
        over(undefined)
      },
      failed: (failure) => {
        if (failure?.reason === 'login-required') this.isProven = false
        else if (failure !== undefined) this.crashed(startedAt, failure)
        over(failure)
      },
    }
  }

  /**
   * A process that was started then has crashed; whether that has opened the breaker.
   *
   * Processes that were started before the last crash and end after it tell nothing new: they may have ended together.
   */
  crashed(startedAt: number, failure: UpstreamError): boolean {
    if (startedAt < this.#crashedAt) return false
    const { crashesMax, windowMs, delayMsMax, holdMs } = this.#policy
    const now = this.#runtime.now()
    this.failure = failure
    this.#crashedAt = now
    this.isProven = false
    this.#recent = [...this.#recent.filter((at) => now - at < windowMs), now]
    this.#inARow++
    const opens = this.#onTrial || this.#recent.length >= crashesMax
    if (opens) {
      this.#onTrial = true
      this.isBroken = true
    }
    const delayMs = Math.min(this.#firstDelayMs * 2 ** (this.#inARow - 1), delayMsMax)
    // A person has to repair the credentials first, and a server may lock out a client that tries too often.
    const waitMs = opens ? holdMs : failure.reason === 'unauthorized' ? delayMsMax : delayMs
    // Servers that crashed together do not come back together.
    this.#nextAt = now + waitMs * (0.8 + 0.4 * this.#runtime.random())
    return opens
  }

  /** A process has ended that was ready since then: whether the crashes before it are forgiven is decided now. */
  wasUp(readyAt: number): void {
    if (this.#runtime.now() - readyAt >= this.#policy.healthyMs) this.forgive()
  }

  forgive(): void {
    this.#recent = []
    this.#inARow = 0
    this.#onTrial = false
    this.isBroken = false
    this.#nextAt = -Infinity
  }
}

// Keeps one connection to a server alive: started once however many calls wait for it, started again after a crash
// with the delays of the server, and left alone while the server keeps crashing.
//
// The breaker belongs to the server: after several crashes in a short time, or one before a process that came back has
// stayed up for a while, calls fail at once. When the hold is over one attempt is made. A process that every client may
// use makes it without a call, since clients wait for the news that the server is back; the process of one client that
// nothing is wanted of stays down until its next call.

/** The share of a call's time that a start waits for the end of the process before it. */
const REST_WAIT_SHARE = 12

/** One attempt to open a connection. */
interface Attempt {
  readonly kind: 'starting'
  /** It may close the breaker: calls that come meanwhile fail. */
  readonly isProbe: boolean
  /** Whether a call waits for it; only then may it end an idle process of another client to make room. */
  isCalled: boolean
  made: Promise<ServerConnection>
  /** Set as soon as it is being opened. */
  connection: ServerConnection | undefined
}

type State =
  | { readonly kind: 'stopped' | 'closed' }
  | {
      readonly kind: 'ready'
      readonly connection: ServerConnection
      readonly startedAt: number
      readonly readyAt: number
    }
  | Attempt
  /** It starts when `timer` runs out or a login is there, where it waits for that, or for a call. */
  | { readonly kind: 'waiting'; readonly timer: Timer | undefined }

/** Opens connections, one at a time. */
export class Supervisor {
  readonly #context: ServerContext
  readonly #starter: Starter
  /** Changed by `#to` only. */
  #state: State = { kind: 'stopped' }
  #failure: Failure | undefined
  #hasCrashed = false
  /** Starts in a row that were refused for want of room. */
  #refusals = 0
  /** Connections that are being stopped. */
  readonly #stopping = new Set<Promise<void>>()
  /** Connections whose calls still run, and that get no more. */
  readonly #retired = new Set<ServerConnection>()
  /** The end of a process that was at rest: its successor may need what it still holds, a lock perhaps. */
  #resting: Promise<void> | undefined

  constructor(context: ServerContext, starter: Starter) {
    this.#context = context
    this.#starter = starter
  }

  /**
   * `broken` while the breaker is open and this process is down. A crash does not count once another process of the server
   * has come up, unless this one is being started again: it is as good as `stopped`.
   */
  get state(): State['kind'] | 'broken' {
    const { restart, restarts } = this.#context
    const state = this.#state
    if (state.kind !== 'starting' && state.kind !== 'waiting') return state.kind
    if (restarts.isBroken) return 'broken'
    const isAtRest = state.kind === 'waiting' && state.timer === undefined
    return isAtRest && restart && restarts.isProven ? 'stopped' : state.kind
  }

  /** Why the last connection ended or could not be opened. */
  get failure(): Failure | undefined {
    return this.#failure
  }

  /** The connection, when calls can start at once. */
  get connection(): ServerConnection | undefined {
    return this.#state.kind === 'ready' ? this.#state.connection : undefined
  }

  /** The connection, started for a call if it is not there. @throws UpstreamError */
  ready(): Promise<ServerConnection> {
    const state = this.#state
    switch (state.kind) {
      case 'ready':
        return Promise.resolve(state.connection)
      case 'starting':
        if (state.isProbe) return Promise.reject(this.#down('unavailable', 'is down'))
        state.isCalled = true
        return state.made
      case 'closed':
        return Promise.reject(this.#down('shutting-down', 'is stopped'))
      case 'stopped':
      case 'waiting':
        if (!this.#context.restart && this.#hasCrashed)
          return Promise.reject(this.#down('unavailable', 'is down and not restarted'))
        if (this.#context.restarts.isHeld) return Promise.reject(this.#down('unavailable', 'is down'))
        return this.#start(true)
    }
  }

  /** The connection has ended by itself. */
  onConnectionEnded(connection: ServerConnection): void {
    const state = this.#state
    if (state.kind !== 'ready' || state.connection !== connection) return
    this.#failure = connection.failure
    if (connection.isSpent) return this.#renew(connection)
    if (connection.failure.reason === 'login-required') return this.#awaitLogin(connection.failure)
    this.#log('error', connection.failure.message)
    this.#context.restarts.wasUp(state.readyAt)
    this.#crashed(this.#context.restarts.crashed(state.startedAt, connection.failure))
  }

  /** Stops the connection until a call comes; `why` explains the error of its calls. */
  async rest(why?: string): Promise<void> {
    const state = this.#state
    if (state.kind !== 'ready') return
    const { connection, readyAt } = state
    this.#to({ kind: 'stopped' })
    this.#context.restarts.wasUp(readyAt)
    const stopped = this.#stop(connection, why)
    if (connection.dialed.pid !== undefined) this.#startBehind(stopped)
    connection.calls.requeueUnsent()
    await stopped
  }

  /** Ends the connection and starts it anew, though it has not crashed; one that has a successor already is ending. */
  async restart(connection: ServerConnection, why: string): Promise<void> {
    if (this.connection !== connection) return
    this.#log('warn', `restarting: ${why}`)
    await this.rest(why)
    if (this.#state.kind === 'stopped') this.#startIfWanted()
  }

  /**
   * Ends the connection when its calls have ended; later calls get another one.
   *
   * A server of which one process runs at a time may hold a lock, so its next process waits for the end of this one.
   */
  succeed(connection: ServerConnection, why: string, isAlone: boolean): void {
    const state = this.#state
    if (state.kind !== 'ready' || state.connection !== connection) return
    this.#log('debug', `its next call gets another process: ${why}`)
    this.#to({ kind: 'stopped' })
    this.#context.restarts.wasUp(state.readyAt)
    this.#retired.add(connection)
    const stopped = connection.calls
      .idle()
      .then(() => (this.#retired.delete(connection) ? this.#stop(connection) : undefined))
    if (isAlone) this.#startBehind(stopped)
    this.#startIfWanted()
  }

  #startBehind(stopped: Promise<void>): void {
    const resting = stopped.then(() => {
      if (this.#resting === resting) this.#resting = undefined
    })
    this.#resting = resting
  }

  async close(): Promise<void> {
    const connection = 'connection' in this.#state ? this.#state.connection : undefined
    this.#to({ kind: 'closed' })
    if (connection !== undefined) void this.#stop(connection)
    for (const retired of this.#retired) void this.#stop(retired)
    this.#retired.clear()
    await Promise.all(this.#stopping)
  }

  #stop(connection: ServerConnection, why?: string): Promise<void> {
    const stopped = connection.stop(why).finally(() => {
      this.#stopping.delete(stopped)
    })
    this.#stopping.add(stopped)
    return stopped
  }

  /**
   * The next connection begins immediately if it is needed, and earlier crashes are forgiven: the server has answered
   * calls.
   */
  #renew(connection: ServerConnection): void {
    this.#log('warn', `${connection.failure.message}; opening another one`)
    this.#context.restarts.forgive()
    this.#to({ kind: 'stopped' })
    this.#startIfWanted()
  }

  /** While the server is left alone, the start waits for the end of that. */
  #startIfWanted(): void {
    const { restarts } = this.#context
    if (!this.#starter.isWanted) return
    if (restarts.isHeld) this.#wait(restarts.waitMs)
    else this.#start(false).catch(() => {})
  }

  #start(isCalled: boolean): Promise<ServerConnection> {
    const { isBroken } = this.#context.restarts
    const attempt: Attempt = {
      kind: 'starting',
      isProbe: isBroken,
      isCalled,
      connection: undefined,
      made: new Promise(() => {}),
    }
    this.#to(attempt)
    attempt.made = this.#attempt(attempt)
    return attempt.made
  }

  async #attempt(attempt: Attempt): Promise<ServerConnection> {
    const { restarts } = this.#context
    let start: Start | undefined
    try {
      if (this.#resting !== undefined) await this.#rested(this.#resting)
      const turn = this.#starter.turn()
      if (turn !== undefined) await turn
      // Nothing is awaited between the last look and the beginning, so that one start at a time tries the server.
      for (let { trial } = restarts; trial !== undefined; trial = restarts.trial)
        await this.#tried(attempt, trial)
      // The breaker may have opened while this start waited.
      if (restarts.isHeld && !attempt.isProbe) throw this.#down('unavailable', 'is down')
      start = restarts.begin()
      // A server that has ended on a question is started once more, and not asked.
      const connection = (await this.#opened(attempt)) ?? (await this.#opened(attempt))
      this.#expect(attempt)
      if (connection === undefined) throw this.#down('closed', 'ends whenever it is started')
      if (!connection.isOpen) throw connection.failure
      this.#to({
        kind: 'ready',
        connection,
        startedAt: start.startedAt,
        readyAt: this.#context.runtime.now(),
      })
      start.succeeded()
      this.#failure = undefined
      this.#refusals = 0
      return connection
    } catch (error) {
      if (attempt.connection !== undefined) void this.#stop(attempt.connection)
      const failure = asUpstreamError(this.#context.service, error)
      this.#ended(attempt, start, failure)
      throw failure
    }
  }

  /** Waits for the start that tries the server. @throws UpstreamError what that has failed with */
  async #tried(attempt: Attempt, trial: NonNullable<Restarts['trial']>): Promise<void> {
    const failure = await trial
    this.#expect(attempt)
    if (failure !== undefined) throw failure
  }

  /**
   * Undefined when the server has ended on the question which revisions it speaks; then it is gone, with what it
   * held.
   */
  async #opened(attempt: Attempt): Promise<ServerConnection | undefined> {
    this.#expect(attempt)
    const lease = await this.#starter.admit(attempt.isCalled)
    if (this.#state !== attempt) lease?.release()
    this.#expect(attempt)
    const { connection, ready } = this.#starter.open(lease)
    attempt.connection = connection
    try {
      await ready
      return connection
    } catch (error) {
      if (!connection.endedOnProbe) throw error
      this.#log(
        'debug',
        `${connection.failure.message} when it was asked what it speaks; starting it anew without that`,
      )
      await this.#stop(connection)
      return undefined
    }
  }

  async #rested(resting: Promise<void>): Promise<void> {
    const { times, runtime } = this.#context
    await within(resting, times.timeoutMs / REST_WAIT_SHARE, runtime)
  }

  /** @throws UpstreamError when it was closed meanwhile */
  #expect(attempt: Attempt): void {
    if (this.#state !== attempt) throw this.#down('shutting-down', 'is stopped')
  }

  /** The attempt has failed: by itself, with the start of another process, or since there was no room. */
  #ended(attempt: Attempt, start: Start | undefined, failure: Failure): void {
    const isOver = this.#state !== attempt
    const isTried = !isOver && start !== undefined && failure.reason !== 'overloaded'
    const isCrash = isTried && failure.reason !== 'login-required'
    const wasBroken = this.#context.restarts.isBroken
    start?.failed(isTried ? failure : undefined)
    if (isOver) return
    this.#failure = failure
    if (failure.reason === 'login-required') return this.#awaitLogin(failure)
    if (isCrash || failure.reason === 'overloaded') this.#log('error', failure.message)
    if (failure.reason === 'overloaded') this.#refused()
    else this.#crashed(isCrash && (!wasBroken || attempt.isProbe) && this.#context.restarts.isBroken)
  }

  /** The server has crashed, this process of it or the one that was started first. */
  #crashed(opens: boolean): void {
    const { limits, restart, restarts } = this.#context
    this.#hasCrashed = true
    if (opens) {
      const seconds = Math.round(limits.restart.holdMs / 1000)
      this.#log('error', `it keeps crashing: left alone for ${seconds} s`)
    }
    this.#wait(restart ? restarts.waitMs : undefined)
  }

  /** A person has to log in: the server has not crashed, and is tried again when there is a login. */
  #awaitLogin({ message }: Failure): void {
    const { logins, restarts } = this.#context
    if (!restarts.isLoginLogged) this.#log('warn', message)
    restarts.isLoginLogged = true
    if (this.#starter.hasCalls) logins?.ask()
    if (logins?.tool !== undefined) this.#starter.showTool(logins.tool.item)
    // Also the process of one client, which sees nothing of the server until then.
    this.#to({ kind: 'waiting', timer: logins?.onChange(() => this.#retry()) })
  }

  /** There is no room for another process: the server has not failed, and is tried again less and less often. */
  #refused(): void {
    const { limits, restartDelayMs } = this.#context
    this.#wait(Math.min(restartDelayMs * 2 ** this.#refusals++, limits.restart.delayMsMax))
  }

  #wait(delayMs: number | undefined): void {
    const isTimed = delayMs !== undefined && this.#starter.isWanted
    const timer = isTimed ? this.#context.runtime.setTimer(delayMs, () => this.#retry()) : undefined
    this.#to({ kind: 'waiting', timer })
  }

  /** The delay is over; the crash of another process may have begun a longer one. */
  #retry(): void {
    const { restarts } = this.#context
    if (restarts.waitMs > 0) this.#wait(restarts.waitMs)
    else this.#start(false).catch(() => {})
  }

  #to(state: State): void {
    if ('timer' in this.#state) this.#state.timer?.cancel()
    this.#state = state
  }

  #down(reason: FailureReason, what: string): Failure {
    const failure = this.#failure ?? this.#context.restarts.failure
    if (failure !== undefined && isAboutCredentials(failure.reason)) return failure
    const why = failure === undefined ? '' : `: ${failure.message}`
    return thatServer(this.#context.service, reason, `${what}${why}`)
  }

  #log(level: LogRecord['level'], message: string): void {
    this.#context.log({ level, service: this.#context.service, message })
  }
}
