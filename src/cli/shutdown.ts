// How a running proxy ends, after a signal or an internal fault, and the child processes that a forced exit
// kills.
//
// The first SIGINT or SIGTERM asks for an orderly close, the second one ends the process immediately. SIGHUP
// asks for a reload, unless the terminal is gone. A fault closes the proxy, with a separate exit code. An
// orderly close that takes too long is cut short.

import { closeSync, openSync } from 'node:fs'
import { constants } from 'node:os'
import process from 'node:process'
import type { Runtime } from '../index.js'
import { Deferred } from '../runtime/deferred.js'
import type { LogSink } from '../runtime/runtime.js'
import { isInstaller } from '../upstream/process/installers.js'

const signals = ['SIGINT', 'SIGTERM'] as const

type Signal = (typeof signals)[number] | 'SIGHUP'

export const internalErrorCode = 70

/** How long calls may still run after an internal fault. */
export const faultGraceMs = 1000

/** The limit for everything after the calls: reading the last answers, stopping servers, closing files. */
export const closeMsMax = 5500

export class Shutdown {
  readonly #log: LogSink
  readonly #children: Children
  readonly #terminal: boolean
  readonly #ended = new Deferred<number>()
  #hasDeadline = false
  #hangup: (() => void) | undefined
  #isClosing = false
  isFaulty = false

  /** Listens until the process ends. An end without an orderly close kills the children. */
  constructor(log: LogSink, children: Children) {
    this.#log = log
    this.#children = children
    this.#terminal = (process.stdin.isTTY || process.stderr.isTTY) && hasTerminal()
    for (const signal of signals) process.on(signal, () => this.#onSignal(signal))
    process.on('SIGHUP', () => this.#onHangup())
    process.on('uncaughtException', (error) => this.#onFault(error))
    process.on('unhandledRejection', (reason) => this.#onFault(reason))
  }

  /** Resolves with the exit code of the first signal (0) or fault (70). */
  get ended(): Promise<number> {
    return this.#ended.promise
  }

  /** The exit code of a run that would end with `exitCode`. A fault counts even if something else came first. */
  verdict(exitCode: number): number {
    return this.isFaulty ? internalErrorCode : exitCode
  }

  /** Calls `hangup` for every SIGHUP from now on. */
  onHangup(hangup: () => void): void {
    this.#hangup = hangup
  }

  /**
   * The terminal is gone, or the user wants a reload. Windows sends this signal only when the console is
   * closed, and ends the process soon after.
   */
  #onHangup(): void {
    if (process.platform === 'win32' || (this.#terminal && !hasTerminal())) return this.#onSignal('SIGHUP')
    this.#hangup?.()
  }

  /** Ends the process at this deadline, even if the process is still in use. */
  endWithin(afterMs: number): void {
    if (this.#hasDeadline) return
    this.#hasDeadline = true
    setTimeout(() => {
      try {
        this.#log({ level: 'warn', message: 'closing takes too long: exiting now' })
      } finally {
        this.#exit(this.verdict(0))
      }
    }, afterMs).unref()
  }

  #onSignal(signal: Signal): void {
    if (this.#isClosing) this.#exit(128 + constants.signals[signal])
    this.#isClosing = true
    this.#log({ level: 'info', message: `${signal}: closing; a second signal exits immediately` })
    this.#ended.resolve(0)
  }

  #onFault(error: unknown): void {
    this.#log({ level: 'error', message: 'internal error: closing', details: { error } })
    this.isFaulty = true
    this.endWithin(faultGraceMs + closeMsMax)
    this.#ended.resolve(internalErrorCode)
  }

  #exit(exitCode: number): never {
    this.#children.kill()
    process.exit(exitCode)
  }
}

function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'))
    return true
  } catch {
    return false
  }
}

type Child = ReturnType<Runtime['spawn']>

export class Children {
  /** Each child, with the signal that a forced exit sends to it. */
  readonly #alive = new Map<Child, 'SIGTERM' | 'SIGKILL'>()
  #areKilled = false

  /** Returns the same runtime, whose children are registered here. */
  watch(runtime: Runtime): Runtime {
    return {
      ...runtime,
      spawn: (spec) => {
        const child = runtime.spawn(spec)
        // A killed npm leaves a lock for which the next `npx` waits up to a minute. The guardian ends what resists.
        this.#alive.set(child, isInstaller(spec.command, spec.args) ? 'SIGTERM' : 'SIGKILL')
        void child.exited.then(() => this.#alive.delete(child))
        // A child that the end of the proxy killed has not failed, so nothing is kept for the next start.
        const never = new Deferred<never>().promise
        return { ...child, exited: child.exited.then((exit) => (this.#areKilled ? never : exit)) }
      },
    }
  }

  /** Ends every child, with its process group and the processes that have left the group. */
  kill(): void {
    this.#areKilled = true
    for (const [child, last] of this.#alive) child.signal(last)
  }
}
