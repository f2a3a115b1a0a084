// Turns of the event loop without the event loop.
//
// A simulation runs within one turn of the real loop, so that nothing outside can
// come between. What the proxy puts off with `nextTick` and promises is run by
// Node's own queue; what it puts off with `setImmediate` waits here. Whoever looks
// at a clock sees the simulated one, and whoever sets a real timer or throws real
// dice is found.

/** Turns after which a simulation that moves no clock is taken to go in circles. */
const TURNS_MAX = 100_000

const forbidden = ['setTimeout', 'setInterval'] as const

/** Replaces the turns of the real loop while a simulation runs. */
export class Turns {
  readonly #stray: (what: string) => void
  #immediates: (() => void)[] = []
  readonly #restore: (() => void)[] = []

  /** `stray` hears of whoever uses a real timer. */
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

  /** Runs everything that is to be run now, and what comes of it. */
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
