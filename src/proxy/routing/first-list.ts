// How long a list waits for servers that are starting.
//
// Most clients list once, directly after `initialize`, and never see an item that comes later. A client also gives a
// server up that does not answer in time. So a list waits for servers, but never longer than its client does.

import { listKinds } from '../../mcp/lists.js'
import type { ListKind } from '../../mcp/methods.js'
import type { CallTarget } from '../../upstream/contracts/upstream.js'

/** Where something is kept, a list waits this long for servers of which nothing is kept, from their start on. */
const KEPT_WAIT_MS = 1500

/** Where nothing is kept, the servers that list within this time of each other stand in one list. */
const QUIET_MS = 3000

/** A server that answers this soon is in time for every client, so a shorter wait says nothing about it. */
export const SHORT_MS = 1500

/** The time between the end of a wait and the moment at which the client gives up. */
const MARGIN_MS = 2000

/** For clients that are not in the table, and for those that show their user how far a request has come. */
const UNKNOWN_MS = 8000
const PROGRESS_MS = 45_000

/**
 * How long a client waits for a server, in milliseconds, by the beginning of its `clientInfo.name`. The default of its
 * documentation or source; where that is longer than a minute, a minute.
 */
const clientLimitsMs: readonly (readonly [name: string, limitMs: number])[] = [
  // Codex (`startup_timeout_sec`, which covers `initialize` and the lists).
  ['codex-mcp-client', 10_000],
  // Claude Code (`MCP_TIMEOUT`).
  ['claude-code', 30_000],
  // Claude Desktop, and others that use the TypeScript SDK with its default.
  ['claude-ai', 60_000],
  ['cursor-vscode', 60_000],
  ['Visual Studio Code', 60_000],
  // Copilot CLI.
  ['github-copilot-developer', 60_000],
  ['gemini-cli-mcp-client', 60_000],
  ['goose', 60_000],
  ['langchain-mcp-adapter', 60_000],
  ['windsurf-client', 60_000],
  ['Zed', 60_000],
  // The default of the Python SDK; the OpenAI Agents SDK sets five seconds.
  ['mcp', 5000],
]

/** How long the lists of one client wait. */
export interface ListTimes {
  /** Without a configured time, a list is answered earlier where something can be shown. */
  readonly isConfigured: boolean
  readonly ms: number
}

/** `configuredMs` is `startupGraceMs`; `hasToken` says whether the request has a progress token. */
export function listTimes(
  client: string | undefined,
  hasToken: boolean,
  configuredMs: number | undefined,
): ListTimes {
  if (configuredMs !== undefined) return { isConfigured: true, ms: configuredMs }
  // The default of the Python SDK is a whole name, since it is the beginning of many others.
  const isOf = (name: string): boolean =>
    name === 'mcp' ? client === name : client?.startsWith(name) === true
  const limitMs = clientLimitsMs.find(([name]) => isOf(name))?.[1]
  const unknownMs = hasToken ? PROGRESS_MS : UNKNOWN_MS
  return { isConfigured: false, ms: limitMs === undefined ? unknownMs : limitMs - MARGIN_MS }
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
  const isSomeKept = lanes.some(({ view }) => view.isShown(kind) && view.wasKept)
  if (isSomeKept && !times.isConfigured) return lastStartOf(missing) + Math.min(KEPT_WAIT_MS, times.ms)
  // A list of tools must not be empty. Many servers have no prompts and resources, so these lists follow the tools.
  return quietAt(lanes, missing, kind === 'tools' ? ['tools'] : listKinds, times)
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
