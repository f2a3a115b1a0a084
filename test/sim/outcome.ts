// What a run came to.

import type { Failure } from './ledger.js'
import type { World } from './world.js'

export interface Outcome {
  readonly failures: readonly Failure[]
  /** The sum over everything that happened on every wire. */
  readonly hash: () => string
  readonly events: number
  /** Requests that were sent, and how many of them were answered with a result. */
  readonly requests: number
  readonly results: number
  readonly trace: () => Iterable<string>
}

export function outcomeOf({ host }: World): Outcome {
  const { ledger, trace } = host
  const entries = [...ledger.entries.values()]
  return {
    failures: ledger.failures,
    hash: () => trace.hash,
    events: trace.length,
    requests: entries.length,
    results: entries.filter(({ answers }) => answers[0]?.ok === true).length,
    trace: () => trace.lines(),
  }
}
