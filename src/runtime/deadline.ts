// Deadlines in a process that may have been stopped.
//
// While a process, or the machine under it, does not run (SIGSTOP, a laptop that
// sleeps, a loop that was kept busy), no answer can be read, and what was answered
// before waits unread in its pipe. The first thing that such a process sees is
// its timers. So a deadline that fires late has not been missed yet: it is put
// off once, by as much as it was late, within reason.

import type { Runtime, Timer } from './runtime.js'

/** Monotonic time in milliseconds, and timers in it. */
export type Clock = Pick<Runtime, 'now' | 'setTimer'>

/** A longer delay would fire immediately. */
const DELAY_MAX_MS = 2 ** 31 - 1

/**
 * The clock of Node: of the real runtime, and of owners that have no runtime. A timer fires when what had come before it is
 * read: a loop that was busy runs its timers first, and an answer may wait in its socket.
 */
export const realClock: Clock = {
  /** As `performance.now()`, which would load all of `node:perf_hooks` at the start. */
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

/** A loop that is busy with something large is not later than this. */
const LATE_MS = 1000

/** Within this time the bytes in a pipe are read, and a server that was stopped too works again. */
const GRACE_MS_MAX = 5000

/** By how much a deadline is put off whose timer fired `lateMs` after its time; nearly always 0. */
export function graceMs(lateMs: number): number {
  return lateMs > LATE_MS ? Math.min(lateMs, GRACE_MS_MAX) : 0
}

/** A timer for a deadline, which moves to a later time when the process was stopped. */
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

/** Calls `fire` every so often until it is cancelled. */
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

/** The value of `promise`, or undefined when that takes longer than `waitMs`. */
export function within<T>(promise: Promise<T>, waitMs: number, clock: Clock): Promise<T | undefined> {
  let timer: Timer | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setDeadline(clock, waitMs, () => resolve(undefined))
  })
  return Promise.race([promise, late]).finally(() => timer?.cancel())
}
