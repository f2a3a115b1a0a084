// The time limits of a server and of single tools.

import type { ServerTimes } from '../upstream/contracts/server-config.js'
import { delayMsMax, integer } from './kinds.js'
import { memberPath } from './problems.js'
import { type FieldsOf, Section, field, optional } from './section.js'

type CallTimes = Pick<ServerTimes, 'timeoutMs' | 'totalTimeoutMs'>

export interface CallTimeValues {
  timeout: number | undefined
  totalTimeout: number | undefined
}

export interface TimeValues extends CallTimeValues {
  startTimeout: number
  listTimeout: number
}

const milliseconds = integer(1, delayMsMax)
/** A cold package runner needs most of this. */
const startMs = 30_000
/** However much progress there is, nobody waits longer than this unless told to. */
const totalMs = 600_000

export const timeFields: FieldsOf<TimeValues> = {
  startTimeout: field(milliseconds, startMs, 'Longest time for a start and the handshake, in milliseconds.'),
  listTimeout: field(
    milliseconds,
    startMs,
    'Longest time for reading one list with all its pages, in milliseconds.',
  ),
  timeout: optional(
    milliseconds,
    'Longest time for a call in milliseconds, extended by progress. Absent: cli.stdio.timeout.',
  ),
  totalTimeout: optional(
    milliseconds,
    'Longest time for a call in milliseconds, whatever its progress. Absent: 600000, or timeout where that is longer.',
  ),
}

export const toolTimeFields: FieldsOf<CallTimeValues> = {
  timeout: optional(
    milliseconds,
    "Longest time for a call of this tool, extended by progress. Absent: the server's.",
  ),
  totalTimeout: optional(
    milliseconds,
    "Longest time for a call of this tool, whatever its progress. Absent: the server's, or timeout where that is longer.",
  ),
}

export interface TimeDefaults {
  /** For servers that set none. */
  readonly timeoutMs: number
  /** From the command line; overrides the file. */
  readonly timeoutMsForAll: number | undefined
}

export function readTimes(section: Section, { timeoutMs, timeoutMsForAll }: TimeDefaults): ServerTimes {
  const own = section.read(timeFields, 'timeout')
  const idleMs = timeoutMsForAll ?? own ?? timeoutMs
  return {
    startTimeoutMs: section.read(timeFields, 'startTimeout'),
    listTimeoutMs: section.read(timeFields, 'listTimeout'),
    timeoutMs: idleMs,
    totalTimeoutMs: section.read(timeFields, 'totalTimeout') ?? Math.max(totalMs, idleMs),
  }
}

/** By the server's own names of its tools; `tools` is the section that holds the table. */
export function readToolTimes(
  tools: Section,
  server: CallTimes,
  timeoutMsForAll: number | undefined,
): ReadonlyMap<string, CallTimes> {
  const times = new Map<string, CallTimes>()
  if (!tools.has('timeouts')) return times
  for (const [name, value] of tools.entries('timeouts')) {
    const section = Section.of(value, memberPath(tools.pathOf('timeouts'), name), tools.findings)
    if (section === undefined) continue
    const own = section.read(toolTimeFields, 'timeout')
    const total = section.read(toolTimeFields, 'totalTimeout')
    section.warnOfUnknownKeys()
    const timeoutMs = timeoutMsForAll ?? own ?? server.timeoutMs
    times.set(name, { timeoutMs, totalTimeoutMs: total ?? Math.max(server.totalTimeoutMs, timeoutMs) })
  }
  return times
}
