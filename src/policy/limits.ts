// How often a principal may call tools: token buckets in memory.

import { write } from '../jsonrpc/text.js'
import type { Clock } from '../runtime/deadline.js'
import { putNewest } from '../runtime/limited-table.js'
import { matcherOf } from '../text/name-patterns.js'

/** One rule; `*` in a pattern stands for any characters. */
export interface LimitRule {
  /** The principals that it is for; undefined is every client. */
  readonly principal: string | undefined
  /** Names of tools, as clients without a profile see them. */
  readonly tools: readonly string[]
  readonly perMinute: number
  /** Calls that may come together, after a pause. */
  readonly burst: number
  /** Whether each tool has a separate bucket. */
  readonly each: boolean
}

export interface LimitedCall {
  /** Empty for clients that came through no front. */
  readonly principal: string
  /** The server and the name that it has for the tool, as JSON. */
  readonly tool: string
  /** The name of the tool as clients without a profile see it. */
  readonly name: string
}

const MINUTE_MS = 60_000

/** Buckets of all rules and principals together. The bucket that was used longest ago, which is the fullest, makes room. */
const BUCKETS_MAX = 10_000

interface Bucket {
  tokens: number
  /** The time at which `tokens` was computed. */
  atMs: number
}

interface Limit extends LimitRule {
  /** Names the buckets of the rule; an unchanged rule keeps them. */
  readonly id: string
  readonly isFor: (principal: string) => boolean
  readonly covers: (name: string) => boolean
}

export class CallLimits {
  readonly #clock: Pick<Clock, 'now'>
  #limits: readonly Limit[] = []
  readonly #buckets = new Map<string, Bucket>()

  constructor(rules: readonly LimitRule[], clock: Pick<Clock, 'now'>) {
    this.#clock = clock
    this.change(rules)
  }

  /** Takes other rules; unchanged ones keep their buckets. */
  change(rules: readonly LimitRule[]): void {
    this.#limits = rules.map(limitOf)
    const kept = new Set(this.#limits.map(({ id }) => id))
    for (const key of this.#buckets.keys())
      if (!kept.has(key.slice(0, key.indexOf('\n')))) this.#buckets.delete(key)
  }

  /** Takes a token from the bucket of each rule for this call, or from none; gives the milliseconds to wait in that case. */
  take(call: LimitedCall): number | undefined {
    const buckets: Bucket[] = []
    let waitMs = 0
    for (const limit of this.#limits) {
      if (!limit.isFor(call.principal) || !limit.covers(call.name)) continue
      const bucket = this.#bucket(limit, call)
      buckets.push(bucket)
      waitMs = Math.max(waitMs, ((1 - bucket.tokens) * MINUTE_MS) / limit.perMinute)
    }
    if (waitMs > 0) return waitMs
    for (const bucket of buckets) bucket.tokens -= 1
    return undefined
  }

  /** The bucket, refilled up to now; it becomes the one that was used last. */
  #bucket({ id, burst, perMinute, each }: Limit, { principal, tool }: LimitedCall): Bucket {
    const now = this.#clock.now()
    // The id and the tool are JSON, which contains no line end.
    const key = `${id}\n${each ? tool : ''}\n${principal}`
    const bucket = this.#buckets.get(key) ?? { tokens: burst, atMs: now }
    bucket.tokens = Math.min(burst, bucket.tokens + ((now - bucket.atMs) * perMinute) / MINUTE_MS)
    bucket.atMs = now
    putNewest(this.#buckets, key, bucket, BUCKETS_MAX)
    return bucket
  }
}

function limitOf(rule: LimitRule): Limit {
  const { principal, tools, perMinute, burst, each } = rule
  return {
    ...rule,
    id: write([principal ?? null, tools, perMinute, burst, each]),
    isFor: principal === undefined ? () => true : matcherOf([principal]),
    covers: matcherOf(tools),
  }
}
