// For how long clients may keep what they were given, and for whom.
//
// MCP 2026-07-28, Utilities: caching. What several servers are together is out of date with the first of them, and for
// everybody only where each of them is.

import type { Members } from '../jsonrpc/members.js'
import { parse, rawAt } from '../jsonrpc/text.js'

export interface CacheHint {
  readonly ttlMs: number
  /** Whether others may be given it too. */
  readonly isPublic: boolean
}

/** What may be something else with the next look, and for another client. */
export const staleHint: CacheHint = { ttlMs: 0, isPublic: false }

/** What never changes; the hint of nothing. */
export const lastingHint: CacheHint = { ttlMs: Infinity, isPublic: true }

/** The hint that holds for all of them together. */
export function leastHint(hints: readonly CacheHint[]): CacheHint {
  return hints.reduce(
    (least, { ttlMs, isPublic }) => ({
      ttlMs: Math.min(least.ttlMs, ttlMs),
      isPublic: least.isPublic && isPublic,
    }),
    lastingHint,
  )
}

/** The hint that a result has; undefined where it has none. */
export function hintOf(bytes: Buffer, members: Members): CacheHint | undefined {
  const span = members.span('ttlMs')
  if (span === undefined) return undefined
  const ttlMs: unknown = parse(rawAt(bytes, span))
  const isTime = typeof ttlMs === 'number' && ttlMs >= 0
  return { ttlMs: isTime ? Math.trunc(ttlMs) : 0, isPublic: members.string('cacheScope') === 'public' }
}

/** The members that say it, as raw JSON. */
export function hintMembers(hint: CacheHint): string {
  // Nobody has said how long nothing holds.
  const { ttlMs, isPublic } = Number.isSafeInteger(hint.ttlMs) ? hint : staleHint
  return `"ttlMs":${ttlMs},"cacheScope":"${isPublic ? 'public' : 'private'}"`
}
