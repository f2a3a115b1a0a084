// The two tools of the Time server, with the names, descriptions and results of the well-known Python server.

import { type Reading, isZone, isoText, readingAt, readingOfWall } from './zone.js'

export interface TimeResult {
  readonly content: readonly [{ readonly type: 'text'; readonly text: string }]
  readonly isError: boolean
}

type Arguments = Readonly<Record<string, unknown>>

const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'] as const

/** The result of `tools/list`; the descriptions tell the model which zone is the local one. */
export function toolList(localZone: string): object {
  const examples = "(e.g., 'America/New_York', 'Europe/London')"
  const local = (what: string): string =>
    `Use '${localZone}' as local timezone if no ${what} provided by the user.`
  return {
    tools: [
      tool('get_current_time', 'Get current time in a specific timezone', {
        timezone: `IANA timezone name ${examples}. ${local('timezone')}`,
      }),
      tool('convert_time', 'Convert time between timezones', {
        source_timezone: `Source IANA timezone name ${examples}. ${local('source timezone')}`,
        time: 'Time to convert in 24-hour format (HH:MM)',
        target_timezone: `Target IANA timezone name (e.g., 'Asia/Tokyo', 'America/San_Francisco'). ${local('target timezone')}`,
      }),
    ],
  }
}

function tool(name: string, description: string, args: Readonly<Record<string, string>>): object {
  const properties = Object.fromEntries(
    Object.entries(args).map(([key, about]) => [key, { type: 'string', description: about }]),
  )
  return {
    name,
    description,
    inputSchema: { type: 'object', properties, required: Object.keys(args) },
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  }
}

/** Answers `tools/call`; a mistake in the call becomes a result that the model can read. */
export function callTool(name: string, args: Arguments, nowMs: number): TimeResult {
  try {
    const text = JSON.stringify(valueOf(name, args, nowMs), null, 2)
    return { content: [{ type: 'text', text }], isError: false }
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error)
    return { content: [{ type: 'text', text }], isError: true }
  }
}

function valueOf(name: string, args: Arguments, nowMs: number): object {
  switch (name) {
    case 'get_current_time': {
      const zone = zoneIn(args, 'timezone')
      return timeValue(zone, readingAt(zone, nowMs))
    }
    case 'convert_time':
      return conversion(zoneIn(args, 'source_timezone'), timeIn(args), zoneIn(args, 'target_timezone'), nowMs)
    default:
      throw new Error(`Unknown tool: ${name}`)
  }
}

function textIn(args: Arguments, key: string): string {
  const value = args[key]
  if (typeof value !== 'string' || value === '')
    throw new Error(`Input validation error: '${key}' must be a non-empty string`)
  return value
}

function zoneIn(args: Arguments, key: string): string {
  const zone = textIn(args, key)
  if (!isZone(zone)) throw new Error(`Invalid timezone: '${zone}' is not the name of an IANA time zone`)
  return zone
}

/** Milliseconds since midnight; one-digit hours and minutes are accepted. */
function timeIn(args: Arguments): number {
  const match = /^(2[0-3]|[01]\d|\d):([0-5]\d|\d)$/.exec(textIn(args, 'time'))
  if (match === null) throw new Error('Invalid time format. Expected HH:MM [24-hour format]')
  return (Number(match[1]) * 60 + Number(match[2])) * 60_000
}

function conversion(source: string, timeMs: number, target: string, nowMs: number): object {
  const today = new Date(nowMs + readingAt(source, nowMs).offsetMs).setUTCHours(0, 0, 0, 0)
  const from = readingOfWall(source, today + timeMs)
  // Within one zone a time that the zone's clock skips is not changed.
  const to = source === target ? from : readingAt(target, from.instantMs)
  return {
    source: timeValue(source, from),
    target: timeValue(target, to),
    time_difference: differenceText(to.offsetMs - from.offsetMs),
  }
}

function timeValue(timezone: string, reading: Reading): object {
  const wall = new Date(reading.instantMs + reading.offsetMs)
  return {
    timezone,
    datetime: isoText(reading),
    day_of_week: days[wall.getUTCDay()],
    is_dst: reading.isDst,
  }
}

/** `+9.0h`, but `+8.75h` and `-3.5h`. */
function differenceText(differenceMs: number): string {
  const hours = differenceMs / 3_600_000
  const digits = Number.isInteger(hours) ? hours.toFixed(1) : hours.toFixed(2).replace(/\.?0+$/, '')
  return `${hours < 0 ? '' : '+'}${digits}h`
}
