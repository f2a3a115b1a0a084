// Counters, gauges and histograms with labels, by the names that Prometheus and OpenTelemetry give them.
//
// A family holds at most so many series. The labels of every further one are `other`, so that no client and no server can
// make the memory of the proxy grow.

/** The value of a label that is one too many. */
export const OTHER = 'other'

/** The bounds of the OpenTelemetry conventions for MCP, in seconds. */
export const operationBounds: readonly number[] = [
  0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300,
]

/** The name, the meaning and the labels of a family. */
export interface Description {
  /** For Prometheus. */
  readonly name: string
  /** For OpenTelemetry. */
  readonly otel: string
  readonly kind: 'counter' | 'gauge' | 'histogram'
  /** Of UCUM: `s`, `By`, or a thing in braces. */
  readonly unit: string
  readonly help: string
  readonly labels: readonly Label[]
}

export interface Label {
  /** For Prometheus. */
  readonly name: string
  /** For OpenTelemetry. */
  readonly otel: string
}

/** One series at one moment; an empty label is one that it does not have. */
export interface Point {
  readonly labels: readonly string[]
  /** A number, or the state of a histogram. */
  readonly value: number | Counts
}

/** The state of a histogram. */
export interface Counts {
  readonly bounds: readonly number[]
  /** Of the values up to each bound and above the one before; the last is of those above all bounds. */
  readonly buckets: readonly number[]
  readonly sum: number
}

/** The series of one name. */
export interface Family {
  readonly description: Description
  points(): readonly Point[]
}

/** Adds up values of one series. */
export class Counter {
  #sum = 0

  get value(): number {
    return this.#sum
  }

  add(amount: number): void {
    this.#sum += amount
  }
}

/** Counts the values of one series. */
export class Histogram implements Counts {
  readonly bounds: readonly number[]
  readonly buckets: number[]
  sum = 0

  constructor(bounds: readonly number[]) {
    this.bounds = bounds
    this.buckets = [...bounds, Infinity].map(() => 0)
  }

  get value(): Counts {
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
export function countOf({ buckets }: Counts): number {
  return buckets.reduce((sum, each) => sum + each, 0)
}

/** The series of a counter or a histogram, by their labels. */
export class SeriesFamily<Series extends Counter | Histogram> implements Family {
  readonly description: Description
  readonly #seriesMax: number
  readonly #newSeries: () => Series
  readonly #series = new Map<string, { readonly labels: readonly string[]; readonly series: Series }>()

  constructor(description: Description, seriesMax: number, newSeries: () => Series) {
    this.description = description
    this.#seriesMax = seriesMax
    this.#newSeries = newSeries
  }

  /** The series with these labels, or the one of all that are too many. */
  series(labels: readonly string[]): Series {
    const key = labels.join('\0')
    const known = this.#series.get(key)
    if (known !== undefined) return known.series
    const isOver = this.#series.size >= this.#seriesMax
    const other = labels.map(() => OTHER)
    if (isOver && key !== other.join('\0')) return this.series(other)
    const series = this.#newSeries()
    this.#series.set(key, { labels, series })
    return series
  }

  points(): readonly Point[] {
    return [...this.#series.values()].map(({ labels, series }) => ({ labels, value: series.value }))
  }
}

/** At most so many different values; every further one is the `rest`. */
export class LimitedValues {
  readonly #valuesMax: number
  readonly #rest: string
  readonly #known = new Set<string>()

  constructor(valuesMax: number, rest: string) {
    this.#valuesMax = valuesMax
    this.#rest = rest
  }

  of(value: string): string {
    if (this.#known.has(value)) return value
    if (this.#known.size >= this.#valuesMax) return this.#rest
    this.#known.add(value)
    return value
  }
}
