// A load run: a body that causes a fault again and again and measures, and the promises that it checks.

import type { Scope } from '../../integration/support/spawned.js'

/** How a scenario is run. */
export interface FaultSettings {
  /** How much of it: kills, sessions, frames; each scenario says of what. */
  readonly count: number
  /** What chance follows from; 1 unless given. */
  readonly seed?: number
  /** The command under test. */
  readonly cli: string
  /** Shows how far it is. */
  readonly say: (progress: string) => void
}

/** A run of one scenario. */
export type Run = Required<FaultSettings>

/** The result in one line that can be quoted. */
export interface FaultFigure {
  readonly line: string
  readonly holds: boolean
}

/** One kind of fault, caused again and again while the proxy works. */
export interface Scenario {
  /** What has to hold. */
  readonly promise: string
  readonly countDefault: number
  run(settings: FaultSettings): Promise<FaultFigure>
}

type Body = (scope: Scope, run: Run) => Promise<Findings>

export function measured(promise: string, countDefault: number, body: Body): Scenario {
  return { promise, countDefault, run: (settings) => figureOf(body, { seed: 1, ...settings }) }
}

async function figureOf(body: Body, run: Run): Promise<FaultFigure> {
  const ends: (() => void | Promise<void>)[] = []
  const scope: Scope = { after: (end) => void ends.unshift(end) }
  try {
    const { figures, broken } = await body(scope, run)
    const line = Object.entries(figures)
      .map(([name, value]) => `${name} ${typeof value === 'number' ? round(value) : value}`)
      .join(', ')
    return {
      line: [line, ...broken.map((what) => `BROKEN: ${what}`)].join('\n  '),
      holds: broken.length === 0,
    }
  } finally {
    for (const end of ends) await end()
  }
}

type Figures = Readonly<Record<string, number | string>>

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
