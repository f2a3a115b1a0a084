// A runtime in which hours can pass.

import { realRuntime } from '../../src/real-runtime.js'
import type { Runtime, Timer } from '../../src/runtime/runtime.js'

/** Hours can pass in it: timers of more than 50 s that are due then fire. */
export class Clock {
  readonly runtime: Runtime
  readonly #timers = new Map<Timer, { readonly dueMs: number; readonly fire: () => void }>()
  #aheadMs = 0

  constructor() {
    const real = realRuntime()
    const wallNow = (): number => real.wallNow() + this.#aheadMs
    const setTimer: Runtime['setTimer'] = (delayMs, fire) => {
      const timer = real.setTimer(delayMs, fire)
      if (delayMs > 50_000) this.#timers.set(timer, { dueMs: wallNow() + delayMs, fire })
      return {
        cancel: () => {
          this.#timers.delete(timer)
          timer.cancel()
        },
      }
    }
    this.runtime = { ...real, wallNow, setTimer }
  }

  pass(ms: number): void {
    this.#aheadMs += ms
    for (const [timer, { dueMs, fire }] of Array.from(this.#timers)) {
      if (dueMs > this.runtime.wallNow() || !this.#timers.delete(timer)) continue
      timer.cancel()
      fire()
    }
  }
}
