// The text format of Prometheus, version 0.0.4.

import { type Family, type Label, type Point, countOf } from './registry.js'

export const EXPOSITION_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** The page that a scraper reads. */
export function exposition(families: readonly Family[]): string {
  return families.flatMap(linesOf).join('')
}

function linesOf(family: Family): string[] {
  const { name, kind, help, labels } = family.description
  const points = family.points()
  if (points.length === 0) return []
  const head = [`# HELP ${name} ${escaped(help)}\n`, `# TYPE ${name} ${kind}\n`]
  return [...head, ...points.flatMap((point) => pointLines(name, labels, point))]
}

function pointLines(name: string, labels: readonly Label[], { labels: values, value }: Point): string[] {
  const pairs = labels.map(({ name: label }, at) => `${label}="${escapedValue(values[at] ?? '')}"`)
  if (typeof value === 'number') return [`${name}${braces(pairs)} ${numberText(value)}\n`]
  let count = 0
  const buckets = [...value.bounds, Infinity].map((bound, at) => {
    count += value.buckets[at] ?? 0
    return `${name}_bucket${braces([...pairs, `le="${numberText(bound)}"`])} ${count}\n`
  })
  return [
    ...buckets,
    `${name}_sum${braces(pairs)} ${numberText(value.sum)}\n`,
    `${name}_count${braces(pairs)} ${countOf(value)}\n`,
  ]
}

function braces(pairs: readonly string[]): string {
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function numberText(value: number): string {
  if (value === Infinity) return '+Inf'
  return value === -Infinity ? '-Inf' : String(value)
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
}

function escapedValue(text: string): string {
  return escaped(text).replaceAll('"', '\\"')
}
