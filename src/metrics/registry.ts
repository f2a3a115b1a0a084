// Counters, gauges and histograms with labels, and their text for Prometheus (version 0.0.4).
//
// A metric holds at most so many series. The labels of every further one are `other`, so that no client and no server can
// make the memory of the proxy grow.

import { type Description, descriptions } from './table.js'

export const EXPOSITION_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** The labels of the series beyond the limit, and the method that the proxy does not know. */
export const OTHER = 'other'

/** The most series of one metric. */
export const SERIES_MAX = 2000

/** One series: a sum or the value of a gauge, or a histogram. An empty label is one that it does not have. */
export interface Point {
  readonly labels: readonly string[]
  value: number | Histogram
}

/** How many values are up to each bound and above the one before; the last is of those above all bounds. */
export interface Histogram {
  readonly bounds: readonly number[]
  readonly buckets: number[]
  sum: number
}

export function countOf({ buckets }: Histogram): number {
  return buckets.reduce((sum, each) => sum + each, 0)
}

/** The series of one metric. */
export class Family {
  readonly description: Description
  readonly #bounds: readonly number[] | undefined
  readonly #series = new Map<string, Point>()

  /** `bounds` are those of a histogram. */
  constructor(name: string, bounds?: readonly number[]) {
    const description = descriptions.get(name)
    if (description === undefined) throw new Error(`the metric ${name} has no row in its table`)
    this.description = description
    this.#bounds = bounds
  }

  /** Adds to the sum with these labels, or counts a value of the histogram; labels that are too many have one series together. */
  observe(labels: readonly string[], value: number): void {
    const key = labels.join('\0')
    const point = this.#series.get(key)
    if (point !== undefined) return add(point, value)
    const other = labels.map(() => OTHER)
    if (this.#series.size >= SERIES_MAX && key !== other.join('\0')) return this.observe(other, value)
    const bounds = this.#bounds
    const empty = bounds && { bounds, buckets: [...bounds, Infinity].map(() => 0), sum: 0 }
    const added: Point = { labels, value: empty ?? 0 }
    this.#series.set(key, added)
    add(added, value)
  }

  points(): readonly Point[] {
    return [...this.#series.values()]
  }
}

function add(point: Point, value: number): void {
  if (typeof point.value === 'number') {
    point.value += value
    return
  }
  const { bounds, buckets } = point.value
  const above = bounds.findIndex((bound) => value <= bound)
  const at = above === -1 ? bounds.length : above
  buckets[at] = (buckets[at] ?? 0) + 1
  point.value.sum += value
}

/** The family of values that are read from elsewhere; one that is undefined has no series. */
export function familyOf<Row extends { readonly labels: readonly string[] }>(
  name: string,
  rows: readonly Row[],
  valueOf: (row: Row) => number | undefined,
): Family {
  const family = new Family(name)
  for (const row of rows) {
    const value = valueOf(row)
    if (value !== undefined) family.observe(row.labels, value)
  }
  return family
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
