// Groups usage by tool, server, client or profile.

import type { UsageRow } from '../inspector/protocol.js'

export const groupings = ['tool', 'server', 'client', 'profile'] as const
export type Grouping = (typeof groupings)[number]

export interface UsageGroup {
  readonly name: string
  readonly calls: number
  readonly errors: number
  /** Upper bounds, in milliseconds. */
  readonly p50: number
  readonly p95: number
  readonly argumentBytes: number
  readonly resultBytes: number
  /** An estimate: one token for four bytes. */
  readonly tokens: number
}

const BYTES_OF_TOKEN = 4

/** Returns the groups, the one with most calls first. */
export function grouped(rows: readonly UsageRow[], by: Grouping): UsageGroup[] {
  const groups = new Map<string, UsageRow[]>()
  for (const row of rows) {
    const name = nameOf(row, by)
    groups.set(name, [...(groups.get(name) ?? []), row])
  }
  return [...groups].map(([name, members]) => groupOf(name, members)).sort((a, b) => b.calls - a.calls)
}

function nameOf({ schema, server, what, client, view }: UsageRow, by: Grouping): string {
  const within = schema === 'default' || schema === '' ? '' : `${schema}/`
  switch (by) {
    case 'tool':
      return `${within}${what}`
    case 'server':
      return server === '' ? '' : `${within}${server}`
    case 'client':
      return client
    case 'profile':
      return view
  }
}

function groupOf(name: string, rows: readonly UsageRow[]): UsageGroup {
  const sum = (member: 'calls' | 'errors' | 'argumentBytes' | 'resultBytes'): number =>
    rows.reduce((total, row) => total + row[member], 0)
  const [argumentBytes, resultBytes] = [sum('argumentBytes'), sum('resultBytes')]
  const times = rows.flatMap((row) => row.times).sort(([a], [b]) => a - b)
  const calls = sum('calls')
  return {
    name,
    calls,
    errors: sum('errors'),
    p50: quantile(times, calls * 0.5),
    p95: quantile(times, calls * 0.95),
    argumentBytes,
    resultBytes,
    tokens: Math.round((argumentBytes + resultBytes) / BYTES_OF_TOKEN),
  }
}

/** Returns the upper bound of the class that contains the call of this rank. */
function quantile(times: UsageRow['times'], rank: number): number {
  let seen = 0
  for (const [ms, count] of times) {
    seen += count
    if (seen >= rank) return ms
  }
  return 0
}
