// Calls of the Time server's tools, answered with the texts of the well-known Python server.
//
// Results and errors are the same to the letter. Arguments are checked in the order in
// which the Python server and its schema validator report them.

import { pythonRepr } from './python-repr.js'
import { CONVERT_TIME_ARGUMENTS, CURRENT_TIME_ARGUMENTS } from './time-tool-list.js'
import { isoText, openZone, readingAt, readingOfWall, type Reading, type Refused, type Zone } from './zone.js'

/** Milliseconds since the epoch. */
export type WallClock = () => number

/** The result of `tools/call`. */
export interface TimeResult {
  readonly content: readonly [{ readonly type: 'text'; readonly text: string }]
  readonly isError: boolean
}

type Arguments = Readonly<Record<string, unknown>>
type Answer = { readonly kind: 'answer'; readonly value: object } | Refused

const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'] as const

/** Answers `tools/call`; whatever is wrong with the call becomes a result that the model can read. */
export function callTool(name: string, args: Arguments, now: WallClock): TimeResult {
  if (name === 'get_current_time')
    return inputError(args, CURRENT_TIME_ARGUMENTS) ?? queryResult(currentTime(textOf(args, 'timezone'), now))
  if (name === 'convert_time')
    return inputError(args, CONVERT_TIME_ARGUMENTS) ?? queryResult(convertTime(args, now))
  return queryResult(refused(`Unknown tool: ${name}`))
}

/**
 * What the Python server's schema validator says, undefined if nothing.
 *
 * It reports one error: the first missing property, otherwise the wrong type whose property comes
 * last in the alphabet, which is how its `best_match` breaks ties between paths of one length.
 */
function inputError(args: Arguments, required: readonly string[]): TimeResult | undefined {
  const missing = required.find((key) => !Object.hasOwn(args, key))
  if (missing !== undefined) return errorResult(`Input validation error: '${missing}' is a required property`)
  const wrong = [...required].sort().findLast((key) => typeof args[key] !== 'string')
  if (wrong === undefined) return undefined
  return errorResult(`Input validation error: ${pythonRepr(args[wrong])} is not of type 'string'`)
}

/** Only for an argument that `inputError` let pass. */
function textOf(args: Arguments, key: string): string {
  return String(args[key])
}

function currentTime(timezone: string, now: WallClock): Answer {
  if (timezone === '') return refused('Missing required argument: timezone')
  const zone = openZone(timezone)
  if (zone.kind === 'refused') return invalidZone(zone)
  return { kind: 'answer', value: timeValue(zone, readingAt(zone, now())) }
}

function convertTime(args: Arguments, now: WallClock): Answer {
  const source = openZone(textOf(args, 'source_timezone'))
  if (source.kind === 'refused') return invalidZone(source)
  const target = openZone(textOf(args, 'target_timezone'))
  if (target.kind === 'refused') return invalidZone(target)
  const timeMs = timeOfDayMs(textOf(args, 'time'))
  if (timeMs === undefined) return refused('Invalid time format. Expected HH:MM [24-hour format]')
  return { kind: 'answer', value: conversion(source, timeMs, target, now()) }
}

/** Accepts what Python's `strptime` accepts for `%H:%M`, one-digit hours and minutes included. */
function timeOfDayMs(text: string): number | undefined {
  const match = /^(2[0-3]|[01]\d|\d):([0-5]\d|\d)$/.exec(text)
  return match === null ? undefined : (Number(match[1]) * 60 + Number(match[2])) * 60_000
}

/** The time of day is meant for the day that it is in the source zone. */
function conversion(source: Zone, timeMs: number, target: Zone, nowMs: number): object {
  const today = new Date(nowMs + readingAt(source, nowMs).offsetMs).setUTCHours(0, 0, 0, 0)
  const from = readingOfWall(source, today + timeMs)
  // Within one zone Python leaves even a time alone that the zone's clock skips.
  const to = source.name === target.name ? from : readingAt(target, from.instantMs)
  return {
    source: timeValue(source, from),
    target: timeValue(target, to),
    time_difference: differenceText(to.offsetMs - from.offsetMs),
  }
}

function timeValue(zone: Zone, reading: Reading): object {
  const wall = new Date(reading.instantMs + reading.offsetMs)
  return {
    timezone: zone.name,
    datetime: isoText(reading),
    day_of_week: DAYS[wall.getUTCDay()],
    is_dst: reading.isDst,
  }
}

/** `+9.0h`, but `+8.75h` and `-3.5h`. */
function differenceText(differenceMs: number): string {
  const hours = differenceMs / 3_600_000
  const digits = Number.isInteger(hours) ? hours.toFixed(1) : hours.toFixed(2).replace(/\.?0+$/, '')
  return `${hours < 0 ? '' : '+'}${digits}h`
}

function invalidZone({ reason }: Refused): Refused {
  return refused(`Invalid timezone: ${reason}`)
}

function refused(reason: string): Refused {
  return { kind: 'refused', reason }
}

function queryResult(answer: Answer): TimeResult {
  if (answer.kind === 'refused')
    return errorResult(`Error processing mcp-server-time query: ${answer.reason}`)
  return { content: [{ type: 'text', text: JSON.stringify(answer.value, null, 2) }], isError: false }
}

function errorResult(text: string): TimeResult {
  return { content: [{ type: 'text', text }], isError: true }
}
