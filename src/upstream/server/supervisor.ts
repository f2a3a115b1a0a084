// Keeps one connection to a server alive: started once however many calls wait for it, started again after a crash
// with the delays of the server, and left alone while the server keeps crashing.
//
// The breaker belongs to the server: after several crashes in a short time, or one before a process that came back has
// stayed up for a while, calls fail immediately. When the hold is over one attempt is made. A process that every client may
// use makes it without a call, since clients wait for the news that the server is back; the process of one client that
// nothing is wanted of stays down until its next call.

import type { LogRecord, Timer } from '../../runtime/runtime.js'
import {
  asUpstreamError,
  thatServer,
  isAboutCredentials,
  type UpstreamError as Failure,
} from '../contracts/errors.js'
import type { FailureReason } from '../../mcp/error-codes.js'
import type { ServerConnection } from './connection.js'
import type { ServerContext } from './context.js'
import type { Restarts, Start } from './restarts.js'
import type { Starter } from './starter.js'
import { within } from '../../runtime/deadline.js'

/** A start waits for the end of the process before it for one part in so many of a call's time. */
const REST_WAIT_SHARE = 12

/** One attempt to open a connection. */
interface Attempt {
  readonly kind: 'starting'
  /** It may close the breaker: calls that come meanwhile fail. */
  readonly isProbe: boolean
  /** Whether a call waits for it; only then may it end an idle process of another client to make room. */
  isCalled: boolean
  made: Promise<ServerConnection>
  /** Set when the attempt opens it. */
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
  /** It starts for a call, and where there is a `timer`, after a delay or a login. */
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
  /** Connections that get no more calls, each until it has ended. */
  readonly #leaving = new Map<ServerConnection, Promise<void>>()
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
    if (state.kind === 'ready' || state.kind === 'closed') return state.kind
    if (restarts.isBroken) return 'broken'
    const isAtRest = state.kind === 'waiting' && state.timer === undefined
    return isAtRest && restart && restarts.isProven ? 'stopped' : state.kind
  }

  /** Why the last connection ended or could not be opened. */
  get failure(): Failure | undefined {
    return this.#failure
  }

  /** The connection, when calls can start immediately. */
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
        if (this.#context.restarts.isHeld) {
          // A process that is needed without a call starts when the hold is over, also where this is its first start.
          if (state.kind === 'stopped' && this.#starter.isWantedUncalled) this.#startIfWanted()
          return Promise.reject(this.#down('unavailable', 'is down'))
        }
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
    const left = this.#leave(
      connection,
      connection.calls.idle().then(() => connection.stop()),
    )
    if (isAlone) this.#startBehind(left)
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
    for (const leaving of this.#leaving.keys()) void leaving.stop()
    await Promise.all(this.#leaving.values())
  }

  #stop(connection: ServerConnection, why?: string): Promise<void> {
    return this.#leave(connection, connection.stop(why))
  }

  #leave(connection: ServerConnection, ended: Promise<void>): Promise<void> {
    const left = ended.finally(() => void this.#leaving.delete(connection))
    this.#leaving.set(connection, left)
    return left
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
    const opens = start?.failed(isTried ? failure : undefined) === true
    if (isOver) return
    this.#failure = failure
    if (failure.reason === 'login-required') return this.#awaitLogin(failure)
    if (isTried || failure.reason === 'overloaded') this.#log('error', failure.message)
    if (failure.reason === 'overloaded') this.#refused()
    else this.#crashed(opens)
  }

  /** This process has crashed, or the one whose start tried the server for all. */
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
