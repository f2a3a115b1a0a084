// Counters, gauges and histograms with labels, and their text for Prometheus (version 0.0.4).
//
// A metric holds at most so many series. The labels of every further one are `other`, so that no client and no server can
// make the memory of the proxy grow.

import { type Description, descriptions } from './table.js'

export const EXPOSITION_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** The value of a label that is one too many. */
export const OTHER = 'other'

/** Series of one metric. */
export const SERIES_MAX = 2000

/** One series at one moment; an empty label is one that it does not have. */
export interface Point {
  readonly labels: readonly string[]
  readonly value: number | Histogram
}

/** The series of one name. */
export interface Family {
  readonly description: Description
  points(): readonly Point[]
}

/** A sum. */
export class Counter {
  value = 0
}

export class Histogram {
  readonly bounds: readonly number[]
  /** How many values are up to each bound and above the one before; the last is of those above all bounds. */
  readonly buckets: number[]
  sum = 0

  constructor(bounds: readonly number[]) {
    this.bounds = bounds
    this.buckets = [...bounds, Infinity].map(() => 0)
  }

  get value(): this {
    return this
  }

  observe(value: number): void {
    const { bounds, buckets } = this
    let at = 0
    while (at < bounds.length && value > (bounds[at] ?? 0)) at++
    buckets[at] = (buckets[at] ?? 0) + 1
    this.sum += value
  }
}

/** How many values a histogram has counted. */
export function countOf({ buckets }: Histogram): number {
  return buckets.reduce((sum, each) => sum + each, 0)
}

/** The series of a counter or a histogram, by their labels. */
export class SeriesFamily<T extends Counter | Histogram> implements Family {
  readonly description: Description
  readonly #newValue: () => T
  readonly #series = new Map<string, { readonly labels: readonly string[]; readonly value: T }>()

  constructor(name: string, newValue: () => T) {
    this.description = described(name)
    this.#newValue = newValue
  }

  /** The value with these labels, or the one of all that are too many. */
  of(labels: readonly string[]): T {
    const key = labels.join('\0')
    const found = this.#series.get(key)
    if (found !== undefined) return found.value
    const other = labels.map(() => OTHER)
    if (this.#series.size >= SERIES_MAX && key !== other.join('\0')) return this.of(other)
    const value = this.#newValue()
    this.#series.set(key, { labels, value })
    return value
  }

  points(): readonly Point[] {
    return [...this.#series.values()].map(({ labels, value }) => ({ labels, value: value.value }))
  }
}

/** A family that is read from elsewhere. */
export function familyOf(
  name: string,
  values: readonly (readonly [labels: readonly string[], value: number])[],
): Family {
  const points = values.map(([labels, value]) => ({ labels, value }))
  return { description: described(name), points: () => points }
}

function described(name: string): Description {
  const description = descriptions.get(name)
  if (description === undefined) throw new Error(`the metric ${name} has no row in its table`)
  return description
}

/** The page that a scraper reads. */
export function exposition(families: readonly Family[]): string {
  return families.flatMap(linesOf).join('')
}

function linesOf(family: Family): string[] {
  const { name, kind, help, labels } = family.description
  const points = family.points()
  if (points.length === 0) return []
  const lines = points.flatMap(({ labels: values, value }) => {
    const pairs = labels.map((label, at) => `${label.name}="${escaped(values[at] ?? '')}"`)
    return typeof value === 'number'
      ? [`${name}${braces(pairs)} ${value}\n`]
      : histogramLines(name, pairs, value)
  })
  return [`# HELP ${name} ${help}\n`, `# TYPE ${name} ${kind}\n`, ...lines]
}

function histogramLines(name: string, pairs: readonly string[], value: Histogram): string[] {
  let count = 0
  const buckets = [...value.bounds, '+Inf'].map((bound, at) => {
    count += value.buckets[at] ?? 0
    return `${name}_bucket${braces([...pairs, `le="${bound}"`])} ${count}\n`
  })
  return [
    ...buckets,
    `${name}_sum${braces(pairs)} ${value.sum}\n`,
    `${name}_count${braces(pairs)} ${count}\n`,
  ]
}

function braces(pairs: readonly string[]): string {
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"')
}
