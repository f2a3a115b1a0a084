// What a scenario is given, and what it gives back.

/** A run of one scenario. */
export interface Run {
  /** How much of it: kills, sessions, frames; each scenario says of what. */
  readonly count: number
  /** What chance follows from. */
  readonly seed: number
  /** The command under test. */
  readonly cli: string
  /** Tells how far it is. */
  readonly say: (progress: string) => void
}

export type Figures = Readonly<Record<string, number | string>>

/** What was measured, and each promise that did not hold. */
export interface Findings {
  readonly figures: Figures
  readonly broken: readonly string[]
}

/** Collects broken promises. */
export class Promises {
  readonly broken: string[] = []

  /** Notes what was promised, where it does not hold. */
  hold(holds: boolean, promise: string): void {
    if (!holds) this.broken.push(promise)
  }

  equal(got: number, wanted: number, what: string): void {
    this.hold(got === wanted, `${what}: ${got}, and it must be ${wanted}`)
  }

  below(got: number, limit: number, what: string): void {
    this.hold(got < limit, `${what}: ${round(got)}, and it must be below ${round(limit)}`)
  }
}

export function round(value: number): number {
  return Math.round(value * 100) / 100
}

/** The value below which `share` of them lie. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = Float64Array.from(values).sort()
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

export const MiB: number = 1024 * 1024
