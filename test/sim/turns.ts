// Turns of a simulated event loop. A simulation runs within one turn of the real event loop, so that no outside event
// can interrupt it. `nextTick` and promises use Node's own queues, and `setImmediate` is queued here. Clocks show the
// simulated time. Real timers and real random numbers are reported.

/** A simulation that takes more turns without moving the clock is in a loop. */
const TURNS_MAX = 100_000

const forbidden = ['setTimeout', 'setInterval'] as const

export class Turns {
  readonly #stray: (what: string) => void
  #immediates: (() => void)[] = []
  readonly #restore: (() => void)[] = []

  /** `stray` is called with the name of the real timer that was used. */
  constructor(stray: (what: string) => void) {
    this.#stray = stray
  }

  install(now: () => number): void {
    this.#replace(globalThis, 'setImmediate', (run: (...args: unknown[]) => void, ...args: unknown[]) => {
      this.#immediates.push(() => run(...args))
    })
    for (const name of forbidden) this.#replace(globalThis, name, () => this.#stray(name))
    this.#replace(Math, 'random', () => {
      this.#stray('Math.random')
      return 0.5
    })
    this.#replace(Date, 'now', now)
    this.#replace(performance, 'now', now)
  }

  uninstall(): void {
    for (const restore of this.#restore.splice(0)) restore()
  }

  /** Runs all queued work, and the work that it queues. */
  settle(): void {
    runTicks()
    for (let turns = 0; this.#immediates.length > 0; turns++) {
      if (turns > TURNS_MAX) throw new Error('the event loop does not come to rest')
      const due = this.#immediates
      this.#immediates = []
      for (const run of due) {
        run()
        runTicks()
      }
    }
  }

  #replace(owner: object, name: string, replacement: unknown): void {
    const original: unknown = Reflect.get(owner, name)
    Reflect.set(owner, name, replacement)
    this.#restore.push(() => Reflect.set(owner, name, original))
  }
}

/** Runs the queues of `nextTick` and of promises until both are empty. */
function runTicks(): void {
  const run: unknown = Reflect.get(process, '_tickCallback')
  if (typeof run !== 'function') throw new Error('this version of Node cannot run its ticks on demand')
  Reflect.apply(run, process, [])
}
