// One alternating run: all subjects run together, each is measured once a round, in changing order.

import { roundOrder } from './statistics.js'
import { type Place, Subject, type SubjectSpec, type Way } from './subject.js'

export interface Plan<T> {
  readonly rounds: number
  /** The subjects are started anew this often, since one process may be lucky for all its life. */
  readonly generations: number
  /** How often a fresh subject is measured for nothing: compilers warm up, buffers grow. */
  readonly warmUps: number
  readonly once: (subject: Subject) => Promise<T>
}

/** The result of every round for every way, and the reason why a way is missing. */
export interface Outcome<T> {
  readonly rounds: readonly ReadonlyMap<Way, T>[]
  readonly failures: ReadonlyMap<Way, string>
}

class Run<T> {
  readonly rounds: Map<Way, T>[] = []
  readonly failures = new Map<Way, string>()
  readonly #place: Place
  readonly #plan: Plan<T>

  constructor(place: Place, plan: Plan<T>) {
    this.#place = place
    this.#plan = plan
  }

  async generation(specs: readonly SubjectSpec[], rounds: number): Promise<void> {
    const subjects: Subject[] = []
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

  async #open(spec: SubjectSpec): Promise<Subject | undefined> {
    if (this.failures.has(spec.way)) return undefined
    try {
      const subject = await Subject.open(spec, this.#place)
      for (let n = 0; n < this.#plan.warmUps; n += 1) await this.#measured(subject)
      return subject
    } catch (error) {
      this.#failed(spec.way, error instanceof Error ? error.message : String(error))
      return undefined
    }
  }

  async #round(subjects: readonly Subject[]): Promise<void> {
    const round = new Map<Way, T>()
    const order = subjects.length === 0 ? [] : roundOrder(subjects, this.rounds.length)
    for (const subject of order) {
      const value = await this.#measured(subject)
      if (value !== undefined) round.set(subject.way, value)
    }
    this.rounds.push(round)
  }

  /** A subject that fails once is excluded from the figure; the others go on. */
  async #measured(subject: Subject): Promise<T | undefined> {
    if (this.failures.has(subject.way)) return undefined
    try {
      return await this.#plan.once(subject)
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
export async function alternate<T>(
  specs: readonly SubjectSpec[],
  place: Place,
  plan: Plan<T>,
): Promise<Outcome<T>> {
  const run = new Run(place, plan)
  for (let n = 0; n < plan.generations; n += 1) {
    const before = Math.round((n * plan.rounds) / plan.generations)
    const after = Math.round(((n + 1) * plan.rounds) / plan.generations)
    await run.generation(specs, after - before)
  }
  return run
}
