// How long a list waits for servers that are starting.
//
// Most clients list once, directly after `initialize`, and never see an item that comes later. A client also gives a
// server up that does not answer in time. So a list waits for servers, but never longer than its client does.

import { patienceMs } from '../../mcp/client-patience.js'
import { listKinds } from '../../mcp/list-items.js'
import type { ListKind } from '../../mcp/methods.js'
import type { CallTarget } from '../../upstream/contracts/upstream.js'

/** A list waits this long when something is kept, for servers of which nothing is kept, from their start on. */
const KEPT_WAIT_MS = 1500

/** Servers that list within this time of each other stand in one list when nothing is kept. */
const QUIET_MS = 3000

/** A server that answers this soon is in time for every client, so a shorter wait says nothing about it. */
export const SHORT_MS = 1500

/** How long the lists of one client wait. */
export interface ListTimes {
  /** Without a configured time, a list is answered earlier where something can be shown. */
  readonly isConfigured: boolean
  readonly ms: number
}

/**
 * `configuredMs` is `startupGraceMs`; `hasToken` says whether the request has a progress token, and `waitedMs` how long the
 * client had waited before any server could start.
 */
export function listTimes(
  client: string | undefined,
  hasToken: boolean,
  configuredMs: number | undefined,
  waitedMs: number = 0,
): ListTimes {
  if (configuredMs !== undefined) return { isConfigured: true, ms: configuredMs }
  return { isConfigured: false, ms: Math.max(0, patienceMs(client, hasToken) - waitedMs) }
}

/** The servers that a list still lacks. */
export function missingOf(lanes: readonly CallTarget[], kind: ListKind): readonly CallTarget[] {
  const isSomeShown = lanes.some(({ view }) => view.isShown(kind))
  // A server that did not answer at its last start delays nothing. But an empty list looks as if there were nothing.
  return lanes.filter(
    ({ view }) =>
      !view.isShown(kind) && view.isComing(kind) && (!isSomeShown || view.before.kind !== 'silent'),
  )
}

/** From when on a list is answered with what is there, in monotonic milliseconds. */
export function answerAt(lanes: readonly CallTarget[], kind: ListKind, times: ListTimes): number {
  const missing = missingOf(lanes, kind)
  if (missing.length === 0) return -Infinity
  // A list of tools must not be empty. Many servers have no prompts and resources, so these lists follow the tools.
  const isFilled = ({ view }: CallTarget): boolean =>
    view.isShown(kind) && (kind !== 'tools' || view.items(kind).length > 0)
  const isSomeKept = lanes.some((lane) => lane.view.wasKept && isFilled(lane))
  if (isSomeKept && !times.isConfigured) return lastStartOf(missing) + Math.min(KEPT_WAIT_MS, times.ms)
  return quietAt(lanes.filter(isFilled), missing, kind === 'tools' ? ['tools'] : listKinds, times)
}

/** From when on it is not worth waiting for `missing`: no other server has listed for a while, or the time is over. */
export function quietAt(
  lanes: readonly CallTarget[],
  missing: readonly CallTarget[],
  kinds: readonly ListKind[],
  { isConfigured, ms }: ListTimes,
): number {
  const startedAt = lastStartOf(missing)
  const times = lanes.flatMap(({ view }) => kinds.map((kind) => view.listedAt(kind) ?? -Infinity))
  const listedAt = Math.max(-Infinity, ...times)
  if (isConfigured || listedAt === -Infinity) return startedAt + ms
  return Math.min(startedAt + ms, Math.max(startedAt, listedAt) + QUIET_MS)
}

/** When the last of these began its start. */
export function lastStartOf(lanes: readonly CallTarget[]): number {
  return Math.max(...lanes.map(({ view }) => view.startedAt ?? -Infinity))
}
