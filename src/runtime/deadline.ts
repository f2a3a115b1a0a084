// Deadlines in a process that may have been stopped.
//
// While a process or its machine does not run (SIGSTOP, a sleeping laptop, a busy event loop), the process
// reads no answer. Answers wait unread in pipes, and after the stop the timers fire first. So a deadline that
// fires late is not missed yet: it moves once, by the time that it was late, up to a limit.

import type { Runtime, Timer } from './runtime.js'

/** A monotonic clock in milliseconds, and its timers. */
export type Clock = Pick<Runtime, 'now' | 'setTimer'>

/** Node fires a timer with a longer delay immediately. */
const DELAY_MAX_MS = 2 ** 31 - 1

/**
 * The clock of Node, for the real runtime and for owners without a runtime. A busy loop runs its timers
 * before it reads its sockets, so a timer fires only after the bytes that arrived before it are read.
 */
export const realClock: Clock = {
  /** The value of `performance.now()`, without the load of `node:perf_hooks` at the start. */
  now: () => {
    const [seconds, nanoseconds] = process.hrtime()
    return seconds * 1000 + nanoseconds / 1e6
  },
  setTimer: (delayMs, fire) => {
    let turn: NodeJS.Immediate | undefined
    const turned = (): void => {
      turn = setImmediate(fire)
    }
    const timer = setTimeout(turned, Math.min(delayMs, DELAY_MAX_MS))
    return {
      cancel: () => {
        clearTimeout(timer)
        clearImmediate(turn)
      },
    }
  },
}

/** A loop that handles one large message is less late than this. */
const LATE_MS = 1000

/** Within this time, the process reads the bytes in a pipe, and a server that was stopped too works again. */
const GRACE_MS_MAX = 5000

/** How far a deadline moves whose timer fired `lateMs` late; nearly always 0. */
export function graceMs(lateMs: number): number {
  return lateMs > LATE_MS ? Math.min(lateMs, GRACE_MS_MAX) : 0
}

/** Sets a timer for a deadline, which moves to a later time if the process was stopped. */
export function setDeadline(clock: Clock, delayMs: number, expire: () => void): Timer {
  const delay = Math.max(0, delayMs)
  const dueAt = clock.now() + delay
  let timer = clock.setTimer(delay, () => {
    const grace = graceMs(clock.now() - dueAt)
    if (grace === 0) return expire()
    timer = clock.setTimer(grace, expire)
  })
  return { cancel: () => timer.cancel() }
}

export function repeat(clock: Pick<Clock, 'setTimer'>, everyMs: number, fire: () => void): Timer {
  let timer: Timer
  const arm = (): void => {
    timer = clock.setTimer(everyMs, () => {
      arm()
      fire()
    })
  }
  arm()
  return { cancel: () => timer.cancel() }
}

/** Resolves to the value of `promise`, or to undefined after `waitMs`. */
export function within<T>(promise: Promise<T>, waitMs: number, clock: Clock): Promise<T | undefined> {
  let timer: Timer | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setDeadline(clock, waitMs, () => resolve(undefined))
  })
  return Promise.race([promise, late]).finally(() => timer?.cancel())
}
