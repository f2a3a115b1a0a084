// What many runs came to, as far as they have come.

import type { Told } from './many.js'
import { failuresText } from './report.js'

/** Seeds that are told of; more would be the same again. */
const TOLD_MAX = 20

/** How often it is said how far they are: on a terminal in one line, elsewhere in a new one each. */
const TERMINAL_MS = 500
const LINES_MS = 10_000

/** Counts runs, and says what is wrong as soon as it is known. */
export class Tally {
  readonly #seeds: number
  readonly #ops: number
  readonly #more: string
  readonly #startedAt = performance.now()
  readonly #cpu = process.cpuUsage()
  readonly #isTerminal = process.stdout.isTTY
  readonly #timer: NodeJS.Timeout
  #runs = 0
  #requests = 0
  #events = 0
  #failed = 0

  /** `more` is what else a seed has to be repeated with. */
  constructor(seeds: number, ops: number, more = '') {
    this.#more = more
    this.#seeds = seeds
    this.#ops = ops
    this.#timer = setInterval(() => this.#progress(), this.#isTerminal ? TERMINAL_MS : LINES_MS)
  }

  take(told: Told): void {
    if (told.kind === 'done') {
      this.#runs += told.runs
      this.#requests += told.requests
      this.#events += told.events
    } else if (++this.#failed <= TOLD_MAX) {
      const what =
        told.kind === 'differs' ? '  the same seed gave another trace' : failuresText(told.failures)
      this.#say(`npm run sim -- --seed ${told.seed} --ops ${this.#ops}${this.#more}\n${what}`)
    }
  }

  /** Says what it came to; true when nothing was wrong. */
  end(): boolean {
    clearInterval(this.#timer)
    const seconds = (performance.now() - this.#startedAt) / 1000
    const { user, system } = process.cpuUsage(this.#cpu)
    const cpuSeconds = (user + system) / 1e6
    const runs = this.#runs
    this.#say(
      `${runs} seeds of ${this.#ops} operations, ${this.#requests} requests, ${this.#events} events: ${this.#failed} failed`,
    )
    this.#say(
      `${seconds.toFixed(1)} s, ${(runs / seconds).toFixed(0)} seeds a second; ` +
        `${cpuSeconds.toFixed(1)} s of CPU, ${(runs / cpuSeconds).toFixed(0)} seeds a second of it`,
    )
    return this.#failed === 0
  }

  #progress(): void {
    const seconds = (performance.now() - this.#startedAt) / 1000
    const left = Math.round((seconds / Math.max(1, this.#runs)) * (this.#seeds - this.#runs))
    const text = `${this.#runs} of ${this.#seeds} seeds, ${this.#failed} failed`
    if (this.#isTerminal) process.stdout.write(`\r${text}, ${left} s left \u001b[K`)
    else this.#say(text)
  }

  #say(text: string): void {
    process.stdout.write(`${this.#isTerminal ? '\r\u001b[K' : ''}${text}\n`)
  }
}
