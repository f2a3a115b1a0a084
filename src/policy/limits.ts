// How often a principal may call tools: token buckets, in memory or in a store that several instances share.

import { createHash } from 'node:crypto'
import { write } from '../jsonrpc/text.js'
import type { Clock } from '../runtime/deadline.js'
import { putNewest } from '../runtime/limited-table.js'
import type { Store } from '../store/store.js'
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

/** A call may not go now. */
export interface LimitRefusal {
  /** The call may come again after so many milliseconds. */
  readonly waitMs: number
  /** Whether the reason is that the store cannot be asked. */
  readonly isAway: boolean
}

const MINUTE_MS = 60_000

/** Buckets of all rules and principals together. The bucket that was used longest ago, which is the fullest, makes room. */
const BUCKETS_MAX = 10_000

/** An instance takes this part of a bucket from the store at a time, so that most calls wait for nothing. */
const LEASED_PART = 10

/** How long calls are refused after the store could not be asked. */
const AWAY_MS = 2000

interface Bucket {
  readonly key: string
  readonly limit: Limit
  /** With a store: those that this instance has taken from the store and not used. */
  tokens: number
  /** Without a store: the time at which `tokens` was computed. */
  atMs: number
  /** Until then the store is not asked again. */
  refused: { readonly untilMs: number; readonly isAway: boolean } | undefined
  /** Calls that wait for tokens of the store. */
  waiting: number
  lease: Promise<void> | undefined
}

interface Limit extends LimitRule {
  /** Names the buckets of the rule; an unchanged rule keeps them. */
  readonly id: string
  readonly isFor: (principal: string) => boolean
  readonly covers: (name: string) => boolean
}

export class CallLimits {
  readonly #clock: Pick<Clock, 'now'>
  readonly #store: Pick<Store, 'take'> | undefined
  #limits: readonly Limit[] = []
  readonly #buckets = new Map<string, Bucket>()

  /** With a store, all instances on it share the buckets of rules that are the same. */
  constructor(rules: readonly LimitRule[], clock: Pick<Clock, 'now'>, store?: Pick<Store, 'take'>) {
    this.#clock = clock
    this.#store = store
    this.change(rules)
  }

  /** Takes other rules; unchanged ones keep their buckets. */
  change(rules: readonly LimitRule[]): void {
    this.#limits = rules.map(limitOf)
    const kept = new Set(this.#limits.map(({ id }) => id))
    for (const [key, { limit }] of this.#buckets) if (!kept.has(limit.id)) this.#buckets.delete(key)
  }

  /**
   * Takes a token from the bucket of each rule for this call, or from none; undefined where the call may go.
   *
   * The result is a promise where the store must be asked for tokens. It resolves always, and then `take` is called again.
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

  /** The bucket, refilled up to now; it becomes the one that was used last. */
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

  /** Of an empty bucket; undefined where the store may have tokens. */
  #refusal({ tokens, limit, refused }: Bucket): LimitRefusal | undefined {
    if (this.#store === undefined)
      return { waitMs: ((1 - tokens) * MINUTE_MS) / limit.perMinute, isAway: false }
    const waitMs = refused === undefined ? 0 : refused.untilMs - this.#clock.now()
    return waitMs > 0 ? { waitMs, isAway: refused?.isAway === true } : undefined
  }

  /** Asks the store once for all calls that wait for this bucket. */
  #lease(bucket: Bucket): Promise<void> {
    bucket.waiting += 1
    bucket.lease ??= this.#fill(bucket).finally(() => {
      bucket.lease = undefined
    })
    return bucket.lease
  }

  async #fill(bucket: Bucket): Promise<void> {
    // The calls that the last lease was not enough for come in the same turn, and are counted.
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
