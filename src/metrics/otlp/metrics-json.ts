// Metrics as OTLP/HTTP has them in JSON: numbers of 64 bits are strings, and sums count from the start of the process.

import { type Counts, type Description, type Family, type Label, type Point, countOf } from '../registry.js'
import { type Attribute, attributesOf, nanos, resourceJson, scope } from './common-json.js'

/** Counted from the start, not since the last export. */
const CUMULATIVE = 2

/** The span of time that the metrics are of, in milliseconds since 1970. */
export interface Period {
  readonly startMs: number
  readonly nowMs: number
}

/** An ExportMetricsServiceRequest. */
export function metricsJson(
  families: readonly Family[],
  resource: Readonly<Record<string, string>>,
  period: Period,
): string {
  const metrics = families.flatMap((family) => {
    const points = family.points()
    return points.length === 0 ? [] : [metricOf(family.description, points, period)]
  })
  const scopeMetrics = [{ scope, metrics }]
  return JSON.stringify({ resourceMetrics: [{ resource: resourceJson(resource), scopeMetrics }] })
}

function metricOf(
  { otel, help, unit, kind, labels }: Description,
  points: readonly Point[],
  period: Period,
): object {
  const dataPoints = points.map((point) => pointOf(point, labels, period))
  const common = { name: otel, description: help, unit }
  switch (kind) {
    case 'counter':
      return { ...common, sum: { dataPoints, aggregationTemporality: CUMULATIVE, isMonotonic: true } }
    case 'gauge':
      return { ...common, gauge: { dataPoints } }
    case 'histogram':
      return { ...common, histogram: { dataPoints, aggregationTemporality: CUMULATIVE } }
  }
}

function pointOf(
  { labels: values, value }: Point,
  labels: readonly Label[],
  { startMs, nowMs }: Period,
): object {
  const times = { startTimeUnixNano: nanos(startMs), timeUnixNano: nanos(nowMs) }
  const attributes = labelled(labels, values)
  return typeof value === 'number'
    ? { attributes, ...times, asDouble: value }
    : { attributes, ...times, ...histogramOf(value) }
}

function histogramOf(counts: Counts): object {
  return {
    count: String(countOf(counts)),
    sum: counts.sum,
    bucketCounts: counts.buckets.map(String),
    explicitBounds: counts.bounds,
  }
}

/** An empty label is one that the series does not have. */
function labelled(labels: readonly Label[], values: readonly string[]): readonly Attribute[] {
  return attributesOf(labels.map(({ otel }, at) => [otel, values[at] || undefined]))
}
