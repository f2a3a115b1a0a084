// Machines that have started before anybody has asked for one, each with its interpreter.
//
// A session takes one for good; it was nobody's before.

import type { LogSink, Runtime, Timer } from '../runtime/runtime.js'
import type { SessionMachine } from './session-machine.js'

/** The call that has taken one goes first: a start would cost it processor time. */
const REFILL_MS = 100

export interface SparesParts {
  readonly count: number
  readonly runtime: Runtime
  readonly log: LogSink
  /** One more that is not started yet. */
  readonly make: () => SessionMachine
  /** Whether the limits allow one more. */
  readonly hasRoom: () => boolean
}

/** Keeps so many machines ready as there is room for. */
export class Spares {
  readonly #parts: SparesParts
  readonly #machines = new Set<SessionMachine>()
  readonly #ending = new Set<Promise<void>>()
  #timer: Timer | undefined
  #isClosed = false

  constructor(parts: SparesParts) {
    this.#parts = parts
    this.refill()
  }

  /** How many there are, those that start included. */
  get size(): number {
    return this.#machines.size
  }

  /** The one that was started first; it is the caller's from now on. */
  take(): SessionMachine | undefined {
    const [machine] = this.#machines
    if (machine === undefined) return undefined
    this.#machines.delete(machine)
    this.refill()
    return machine
  }

  /** Ends one, in favour of what no spare machine fits; false when there is none. */
  giveUp(): boolean {
    const [machine] = this.#machines
    if (machine !== undefined) this.#end(machine)
    return machine !== undefined
  }

  /** Starts those that are missing, a moment from now. */
  refill(): void {
    const { count, runtime } = this.#parts
    if (count === 0 || this.#isClosed || this.#timer !== undefined) return
    this.#timer = runtime.setTimer(REFILL_MS, () => {
      this.#timer = undefined
      this.#fill()
    })
  }

  /** Ends all of them. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#timer?.cancel()
    for (const machine of this.#machines) this.#end(machine)
    await Promise.all(this.#ending)
  }

  #fill(): void {
    const { count, hasRoom, make } = this.#parts
    while (this.#machines.size < count && hasRoom()) {
      const machine = make()
      this.#machines.add(machine)
      void this.#keep(machine)
    }
  }

  /** One that ends by itself is missed at the next refill: one that cannot live is not started again and again. */
  async #keep(machine: SessionMachine): Promise<void> {
    try {
      const started = await machine.get()
      if (started.kind !== 'evaluator') machine.repl(started)
      await started.ended
    } catch (error) {
      if (this.#machines.has(machine)) this.#tell('a spare machine could not be started', error)
    }
    if (this.#machines.has(machine)) this.#end(machine)
  }

  #end(machine: SessionMachine): void {
    this.#machines.delete(machine)
    const ended = machine.discard().catch((error: unknown) => {
      this.#tell('a spare machine could not be stopped', error)
    })
    this.#ending.add(ended)
    void ended.finally(() => this.#ending.delete(ended))
  }

  #tell(message: string, error: unknown): void {
    this.#parts.log({ level: 'warn', message, details: { error } })
  }
}
