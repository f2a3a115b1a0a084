// The end of a session, from the moment it is certain to the last answer.

import type { Runtime, Timer } from './upstream/host.js'

/** Whether a session ends, since when, and how. */
export class Draining {
  /** Resolves when the session begins to end: nothing new is taken from now on. */
  readonly begun: Promise<void>
  /** Resolves when everything is answered, though the client may not have read it yet. */
  readonly answered: Promise<void>
  readonly #runtime: Pick<Runtime, 'now' | 'setTimer'>
  readonly #giveUp: () => void
  #timer: Timer | undefined
  #endsAt = Infinity
  #exitCode = 0
  #on = false
  #begin: () => void = () => {}
  #finish: () => void = () => {}

  /** `giveUp` answers what still runs when patience is over. */
  constructor(runtime: Pick<Runtime, 'now' | 'setTimer'>, giveUp: () => void) {
    this.#runtime = runtime
    this.#giveUp = giveUp
    this.begun = new Promise((resolve) => {
      this.#begin = resolve
    })
    this.answered = new Promise((resolve) => {
      this.#finish = resolve
    })
  }

  get on(): boolean {
    return this.#on
  }

  get exitCode(): number {
    return this.#exitCode
  }

  /** The first call counts; a later one only when it has less patience. */
  begin(exitCode: number, graceMs: number): void {
    this.#wait(graceMs)
    if (this.#on) return
    this.#on = true
    this.#exitCode = exitCode
    this.#begin()
  }

  /** Nothing is left to be answered. */
  finish(): void {
    this.#on = true
    this.#endsAt = -Infinity
    this.#timer?.cancel()
    this.#begin()
    this.#finish()
  }

  #wait(graceMs: number): void {
    const endsAt = this.#runtime.now() + graceMs
    if (endsAt >= this.#endsAt) return
    this.#endsAt = endsAt
    this.#timer?.cancel()
    this.#timer = this.#runtime.setTimer(graceMs, this.#giveUp)
  }
}
