// The calls that a server ran, compared with the answers that its clients got.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { nodeProgram, type ServerEntry } from '../../integration/support/programs.js'
import { type Scope, scratch } from '../../integration/support/spawned.js'

/** The ends of calls without an answer. None of them says whether the server has run the call. */
const endings = ['instance-lost', 'answer-lost', 'shutting-down', 'broken', '502', '503', '504']

/** A call as its client saw it. */
export interface Noted {
  /** Unique among all calls of a run. */
  readonly n: string
  /** `answered`, one of `endings`, or the text of an error that is none of them. */
  readonly end: string
}

/** The file in which `ledger.mjs` writes each call. */
export class Ledger {
  readonly #path: string

  constructor(scope: Scope) {
    this.#path = join(scratch(scope), 'ledger')
    writeFileSync(this.#path, '')
  }

  /** A server that writes into it. */
  server(more: ServerEntry = {}): ServerEntry {
    return nodeProgram('ledger.mjs', { LEDGER: this.#path }, more)
  }

  get lines(): readonly string[] {
    return readFileSync(this.#path, 'utf8').split('\n').filter(Boolean)
  }
}

/** Violations: a call runs at most once and for a client that made it, and an answered call has run. */
export function wrongCalls(lines: readonly string[], calls: readonly Noted[]): string[] {
  const runs = new Map<string, number>()
  for (const line of lines) {
    const [what, n = ''] = line.split(' ')
    if (what === 'run') runs.set(n, (runs.get(n) ?? 0) + 1)
  }
  const made = new Set(calls.map(({ n }) => n))
  return [
    ...Array.from(runs).flatMap(([n, count]) => (count > 1 ? [`${n} was run ${count} times`] : [])),
    ...Array.from(runs.keys()).flatMap((n) => (made.has(n) ? [] : [`${n} was run, and no client made it`])),
    ...calls.flatMap(({ n, end }) => {
      if (end === 'answered') return runs.has(n) ? [] : [`${n} was answered and never run`]
      return endings.some((each) => each === end) ? [] : [`${n}: ${end}`]
    }),
  ]
}

/** The number of calls for each end. */
export function countsOf(calls: readonly Noted[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { end } of calls) counts[end] = (counts[end] ?? 0) + 1
  return counts
}
