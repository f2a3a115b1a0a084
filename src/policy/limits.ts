// Limits how often a principal may call tools, with token buckets in memory or in a shared store.

import { createHash } from 'node:crypto'
import { write } from '../jsonrpc/text.js'
import type { Clock } from '../runtime/deadline.js'
import { putNewest } from '../runtime/limited-table.js'
import type { Store } from '../store/store.js'
import { matcherOf } from '../text/name-patterns.js'

/** One rule. `*` in a pattern matches any characters. */
export interface LimitRule {
  /** A pattern of the principals that the rule limits; undefined limits every client. */
  readonly principal: string | undefined
  /** Patterns of tool names, as clients without a profile see them. */
  readonly tools: readonly string[]
  readonly perMinute: number
  /** The size of a bucket: the most calls in immediate succession. */
  readonly burst: number
  /** Whether each tool has a separate bucket. */
  readonly each: boolean
}

export interface LimitedCall {
  /** Empty for clients that are not connected through a front. */
  readonly principal: string
  /** The server and the server's name of the tool, as JSON. */
  readonly tool: string
  /** The name of the tool as clients without a profile see it. */
  readonly name: string
}

/** Why a call may not proceed now. */
export interface LimitRefusal {
  /** The milliseconds after which the client may repeat the call. */
  readonly waitMs: number
  /** Whether the store is unavailable. */
  readonly isAway: boolean
}

const MINUTE_MS = 60_000

/** Buckets of all rules and principals together. The least recently used bucket, which is the fullest, makes room. */
const BUCKETS_MAX = 10_000

/** An instance takes a tenth of a bucket from the store at a time, so that most calls need not wait for the store. */
const LEASED_PART = 10

/** How long an instance refuses calls after a failed request to the store. */
const AWAY_MS = 2000

interface Bucket {
  readonly key: string
  readonly limit: Limit
  /** With a store: the unused tokens that this instance has taken from the store. */
  tokens: number
  /** Without a store: the time at which `tokens` was computed. */
  atMs: number
  /** The last refusal of the store. Until `untilMs`, the instance does not ask the store again. */
  refused: { readonly untilMs: number; readonly isAway: boolean } | undefined
  /** The number of calls that wait for tokens of the store. */
  waiting: number
  lease: Promise<void> | undefined
}

interface Limit extends LimitRule {
  /** The id of the rule's buckets. A rule that a reload does not change keeps its buckets. */
  readonly id: string
  readonly isFor: (principal: string) => boolean
  readonly covers: (name: string) => boolean
}

export class CallLimits {
  readonly #clock: Pick<Clock, 'now'>
  readonly #store: Pick<Store, 'take'> | undefined
  #limits: readonly Limit[] = []
  readonly #buckets = new Map<string, Bucket>()

  /** With a store, all instances on the store share the buckets of equal rules. */
  constructor(rules: readonly LimitRule[], clock: Pick<Clock, 'now'>, store?: Pick<Store, 'take'>) {
    this.#clock = clock
    this.#store = store
    this.change(rules)
  }

  /** Replaces the rules. Unchanged rules keep their buckets. */
  change(rules: readonly LimitRule[]): void {
    this.#limits = rules.map(limitOf)
    const kept = new Set(this.#limits.map(({ id }) => id))
    for (const [key, { limit }] of this.#buckets) if (!kept.has(limit.id)) this.#buckets.delete(key)
  }

  /**
   * Takes one token from the bucket of each rule for this call, or none. Returns undefined if the call may proceed.
   *
   * A promise means that the store must provide tokens. It never rejects, and then the caller calls `take` again.
   */
  take(call: LimitedCall): LimitRefusal | Promise<unknown> | undefined {
    const limits = this.#limits.filter((each) => each.isFor(call.principal) && each.covers(call.name))
    const buckets = limits.map((limit) => this.#bucket(limit, call))
    const empty = buckets.filter(({ tokens }) => tokens < 1)
    if (empty.length === 0) {
      for (const bucket of buckets) bucket.tokens -= 1
      return undefined
    }
    const refusals = empty.map((bucket) => this.#refusal(bucket)).filter((each) => each !== undefined)
    const [longest] = refusals.sort((one, other) => other.waitMs - one.waitMs)
    return longest ?? Promise.all(empty.map((bucket) => this.#lease(bucket)))
  }

  /** Returns the refilled bucket, and makes it the most recently used one. */
  #bucket(limit: Limit, { principal, tool }: LimitedCall): Bucket {
    const { id, burst, perMinute, each } = limit
    const now = this.#clock.now()
    // The id and the tool are JSON, which contains no line end.
    const key = `${id}\n${each ? tool : ''}\n${principal}`
    const isShared = this.#store !== undefined
    const bucket = this.#buckets.get(key) ?? newBucket(key, limit, isShared ? 0 : burst, now)
    if (!isShared)
      bucket.tokens = Math.min(burst, bucket.tokens + ((now - bucket.atMs) * perMinute) / MINUTE_MS)
    bucket.atMs = now
    putNewest(this.#buckets, key, bucket, BUCKETS_MAX)
    return bucket
  }

  /** Returns the refusal of an empty bucket; undefined if the store may have tokens. */
  #refusal({ tokens, limit, refused }: Bucket): LimitRefusal | undefined {
    if (this.#store === undefined)
      return { waitMs: ((1 - tokens) * MINUTE_MS) / limit.perMinute, isAway: false }
    const waitMs = refused === undefined ? 0 : refused.untilMs - this.#clock.now()
    return waitMs > 0 ? { waitMs, isAway: refused?.isAway === true } : undefined
  }

  /** Sends one request to the store for all calls that wait for this bucket. */
  #lease(bucket: Bucket): Promise<void> {
    bucket.waiting += 1
    bucket.lease ??= this.#fill(bucket).finally(() => {
      bucket.lease = undefined
    })
    return bucket.lease
  }

  async #fill(bucket: Bucket): Promise<void> {
    // Calls for which the last lease was too small call `take` again in this turn, and count too.
    await Promise.resolve()
    const { burst } = bucket.limit
    const want = Math.max(1, Math.floor(burst / LEASED_PART), bucket.waiting)
    bucket.waiting = 0
    const key = `limit:${createHash('sha256').update(bucket.key).digest('base64url')}`
    const given = await this.#store?.take(key, bucket.limit, want).catch(() => undefined)
    bucket.tokens += given?.taken ?? 0
    const waitMs = given === undefined ? AWAY_MS : Math.max(1, given.waitMs)
    const isAway = given === undefined
    bucket.refused =
      given !== undefined && given.taken > 0 ? undefined : { untilMs: this.#clock.now() + waitMs, isAway }
  }
}

function newBucket(key: string, limit: Limit, tokens: number, atMs: number): Bucket {
  return { key, limit, tokens, atMs, refused: undefined, waiting: 0, lease: undefined }
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
