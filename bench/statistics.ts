// Medians and orders, which turn many noisy rounds into one figure.

/** The middle and the ends of a sample. */
export interface Spread {
  readonly median: number
  readonly min: number
  readonly max: number
  readonly count: number
}

/** The value below which the share `p` of `values` lies (nearest rank); NaN of nothing. */
export function percentile(values: readonly number[], p: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  const rank = Math.min(sorted.length - 1, Math.max(0, Math.ceil(p * sorted.length) - 1))
  return sorted[rank] ?? Number.NaN
}

/** The mean of the two middle values when the count is even. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const half = sorted.length >> 1
  const upper = sorted[half] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] ?? Number.NaN) + upper) / 2
}

export function spread(values: readonly number[]): Spread {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values), count: values.length }
}

/** `one` over `other`, round by round. */
export function ratios(one: readonly number[] = [], other: readonly number[] = []): number[] {
  return one.map((value, round) => value / (other[round] ?? Number.NaN))
}

/**
 * The order of the subjects in one round: ABC, BCA, CAB, then CBA, BAC, ACB.
 *
 * Every subject comes equally often first and equally often after every other,
 * so that neither a drifting machine nor a neighbour's leftovers favour one.
 */
export function roundOrder<T>(subjects: readonly T[], round: number): T[] {
  const by = round % subjects.length
  const turned = [...subjects.slice(by), ...subjects.slice(0, by)]
  const backwards = Math.floor(round / subjects.length) % 2 === 1
  return backwards ? turned.toReversed() : turned
}
