// The two tools of the Time server, with the names, descriptions and results of the well-known Python server.
// `Intl` provides the time zones.

export interface TimeResult {
  readonly content: readonly [{ readonly type: 'text'; readonly text: string }]
  readonly isError: boolean
}

type Arguments = Readonly<Record<string, unknown>>

const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'] as const

/** Returns the result of `tools/list`. The descriptions tell the model the local time zone. */
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

/** Returns the result of `tools/call`. An invalid call becomes an error result that the model can read. */
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
    case 'get_current_time':
      return timeValue(zoneIn(args, 'timezone'), nowMs)
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

/** Returns the milliseconds since midnight. Hours and minutes may have one digit. */
function timeIn(args: Arguments): number {
  const match = /^(2[0-3]|[01]\d|\d):([0-5]\d|\d)$/.exec(textIn(args, 'time'))
  if (match === null) throw new Error('Invalid time format. Expected HH:MM [24-hour format]')
  return (Number(match[1]) * 60 + Number(match[2])) * 60_000
}

function conversion(source: string, timeMs: number, target: string, nowMs: number): object {
  const today = new Date(nowMs + offsetAt(source, nowMs)).setUTCHours(0, 0, 0, 0)
  const instantMs = instantOfWall(source, today + timeMs)
  return {
    source: timeValue(source, instantMs),
    target: timeValue(target, instantMs),
    time_difference: differenceText(offsetAt(target, instantMs) - offsetAt(source, instantMs)),
  }
}

/** Writes the time in ISO 8601 with seconds and a numeric offset, like Python's `isoformat(timespec="seconds")`. */
function timeValue(timezone: string, instantMs: number): object {
  const offsetMs = offsetAt(timezone, instantMs)
  const wall = new Date(instantMs + offsetMs)
  const offset = new Date(Math.abs(offsetMs)).toISOString().slice(11, 16)
  return {
    timezone,
    datetime: `${wall.toISOString().slice(0, 19)}${offsetMs < 0 ? '-' : '+'}${offset}`,
    day_of_week: days[wall.getUTCDay()],
    is_dst: isDstAt(timezone, instantMs),
  }
}

/** Returns `+9.0h` for whole hours, and `+8.75h` or `-3.5h` for others. */
function differenceText(differenceMs: number): string {
  const hours = differenceMs / 3_600_000
  const digits = Number.isInteger(hours) ? hours.toFixed(1) : hours.toFixed(2).replace(/\.?0+$/, '')
  return `${hours < 0 ? '' : '+'}${digits}h`
}

const DAY_MS = 86_400_000

/** Whether the engine knows a zone of this name; offsets such as `+01:00` are no names. */
export function isZone(name: string): boolean {
  try {
    return /^[A-Za-z]/.test(name) && zoneTextAt(name, 'longOffset', 0) !== ''
  } catch {
    return false
  }
}

/** Returns the zone in the `TZ` variable, else the zone of the machine; `UTC` if the engine knows neither. */
export function systemZone(): string {
  const names: (string | undefined)[] = [
    process.env['TZ'],
    new Intl.DateTimeFormat().resolvedOptions().timeZone,
  ]
  return names.find((name) => name !== undefined && isZone(name)) ?? 'UTC'
}

/**
 * Returns the instant at which a clock of the zone shows the time that a UTC clock shows at `wallMs`: the
 * earlier of two such instants. A time that a clock change skips moves forward by the length of the gap.
 */
export function instantOfWall(zone: string, wallMs: number): number {
  const [before = 0, after = 0] = [-DAY_MS, DAY_MS].map((ms) => offsetAt(zone, wallMs + ms))
  const fitting = [before, after].find((offsetMs) => offsetAt(zone, wallMs - offsetMs) === offsetMs)
  return wallMs - (fitting ?? before)
}

function offsetAt(zone: string, instantMs: number): number {
  const match = /([-+\u2212])(\d\d):(\d\d)/.exec(zoneTextAt(zone, 'longOffset', instantMs))
  // The text of offset zero is a bare `GMT`.
  if (match === null) return 0
  const [, sign, hours, minutes] = match
  const sizeMs = (Number(hours) * 60 + Number(minutes)) * 60_000
  return sign === '+' ? sizeMs : -sizeMs
}

/**
 * Reads the English name of the zone ("Pacific Daylight Time"). A comparison of summer and winter offsets would
 * fail in a year in which a zone changes its standard offset.
 */
function isDstAt(zone: string, instantMs: number): boolean {
  return /\b(?:Daylight|Summer|Irish Standard)\b/.test(zoneTextAt(zone, 'long', instantMs))
}

/** @throws RangeError when the engine does not know the zone */
function zoneTextAt(timeZone: string, timeZoneName: 'long' | 'longOffset', instantMs: number): string {
  const parts = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName }).formatToParts(instantMs)
  return parts.find((part) => part.type === 'timeZoneName')?.value ?? 'GMT'
}
