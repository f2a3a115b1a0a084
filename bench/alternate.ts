// One alternating run: all subjects alive at once, each measured once a round, in changing order.

import { type Place, Subject, type SubjectSpec, type Way } from './subject.js'
import { roundOrder } from './statistics.js'

/** What a run has to know of a subject. */
export interface Measured {
  readonly way: Way
  explain(error: unknown): string
  close(): Promise<void>
}

export interface Plan<T, S extends Measured = Subject> {
  readonly rounds: number
  /** The subjects are started anew this often, since one process may be lucky for all its life. */
  readonly generations: number
  /** Runs once on a fresh subject, unmeasured: compilers warm up, buffers grow. */
  warm(subject: S): Promise<void>
  measure(subject: S): Promise<T>
}

/** What every round gave for every way, and why a way is missing. */
export interface Outcome<T> {
  readonly rounds: readonly ReadonlyMap<Way, T>[]
  readonly failures: ReadonlyMap<Way, string>
}

interface Spec {
  readonly way: Way
}

class Run<T, S extends Measured, P extends Spec> {
  readonly rounds: Map<Way, T>[] = []
  readonly failures = new Map<Way, string>()
  readonly #start: (spec: P) => Promise<S>
  readonly #plan: Plan<T, S>

  constructor(start: (spec: P) => Promise<S>, plan: Plan<T, S>) {
    this.#start = start
    this.#plan = plan
  }

  async generation(specs: readonly P[], rounds: number): Promise<void> {
    const subjects: S[] = []
    try {
      for (const spec of specs) {
        const subject = await this.#open(spec)
        if (subject !== undefined) subjects.push(subject)
      }
      for (let n = 0; n < rounds; n += 1) await this.#round(subjects)
    } finally {
      await Promise.all(subjects.map((subject) => subject.close()))
    }
  }

  async #open(spec: P): Promise<S | undefined> {
    if (this.failures.has(spec.way)) return undefined
    try {
      const subject = await this.#start(spec)
      await this.#guard(subject, () => this.#plan.warm(subject))
      return subject
    } catch (error) {
      this.#failed(spec.way, error instanceof Error ? error.message : String(error))
      return undefined
    }
  }

  async #round(subjects: readonly S[]): Promise<void> {
    const round = new Map<Way, T>()
    const order = subjects.length === 0 ? [] : roundOrder(subjects, this.rounds.length)
    for (const subject of order) {
      if (this.failures.has(subject.way)) continue
      const value = await this.#guard(subject, () => this.#plan.measure(subject))
      if (value !== undefined) round.set(subject.way, value)
    }
    this.rounds.push(round)
  }

  /** A subject that fails once is out for the rest of the figure; the others go on. */
  async #guard<R>(subject: S, work: () => Promise<R>): Promise<R | undefined> {
    try {
      return await work()
    } catch (error) {
      this.#failed(subject.way, subject.explain(error))
      return undefined
    }
  }

  #failed(way: Way, reason: string): void {
    this.failures.set(way, reason)
    process.stderr.write(`  ${way}: ${reason}\n`)
  }
}

/** Measures all `specs` in `plan.rounds` rounds. */
export function alternate<T>(
  specs: readonly SubjectSpec[],
  place: Place,
  plan: Plan<T>,
): Promise<Outcome<T>> {
  return alternateAny(specs, (spec) => Subject.open(spec, place), plan)
}

/** The same with subjects of another kind, which `start` makes ready to be measured. */
export async function alternateAny<T, S extends Measured, P extends Spec>(
  specs: readonly P[],
  start: (spec: P) => Promise<S>,
  plan: Plan<T, S>,
): Promise<Outcome<T>> {
  const run = new Run(start, plan)
  for (let n = 0; n < plan.generations; n += 1) {
    const before = Math.round((n * plan.rounds) / plan.generations)
    const after = Math.round(((n + 1) * plan.rounds) / plan.generations)
    await run.generation(specs, after - before)
  }
  return run
}
