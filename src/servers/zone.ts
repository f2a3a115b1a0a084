// Clocks of time zones, from what `Intl` knows: the offset of an instant, whether it is daylight saving time, and the
// instant of a wall clock.

/** A reading of one zone's clock. */
export interface Reading {
  /** Since the epoch. */
  readonly instantMs: number
  readonly offsetMs: number
  readonly isDst: boolean
}

const secondMs = 1000
const dayMs = 86_400 * secondMs
const quarterMs = 91 * dayMs

/** Whether the engine knows a zone of this name; offsets such as `+01:00` are no names. */
export function isZone(name: string): boolean {
  return /^[A-Za-z]/.test(name) && formatterOf(name, 'longOffset') !== undefined
}

/** The zone that the machine is set to, by the `TZ` variable where that is set; `UTC` when it is unknown. */
export function systemZone(): string {
  const { TZ: variable = '' } = process.env
  if (isZone(variable)) return variable
  const name: string | undefined = new Intl.DateTimeFormat().resolvedOptions().timeZone
  return name !== undefined && isZone(name) ? name : 'UTC'
}

/** The zone's clock at an instant. */
export function readingAt(zone: string, instantMs: number): Reading {
  return { instantMs, offsetMs: offsetAt(zone, instantMs), isDst: isDstAt(zone, instantMs) }
}

/**
 * The reading that a wall clock shows as `wallMs`, the milliseconds of a UTC clock that shows the same.
 *
 * Of two such readings the earlier. One that a forward change skips keeps the offset of before
 * the change, as a Python `datetime` with `fold=0` does.
 */
export function readingOfWall(zone: string, wallMs: number): Reading {
  const before = offsetAt(zone, wallMs - dayMs)
  const after = offsetAt(zone, wallMs + dayMs)
  for (const offsetMs of [before, after]) {
    if (offsetAt(zone, wallMs - offsetMs) === offsetMs) return readingAt(zone, wallMs - offsetMs)
  }
  // Taking off the larger, later offset gives an instant on the near side of the gap.
  return { instantMs: wallMs - before, offsetMs: before, isDst: isDstAt(zone, wallMs - after) }
}

/** ISO 8601 with seconds and a numeric offset, as Python's `isoformat(timespec="seconds")`. */
export function isoText({ instantMs, offsetMs }: Reading): string {
  const wall = new Date(instantMs + offsetMs).toISOString().slice(0, 19)
  const size = new Date(Math.abs(offsetMs)).toISOString()
  return `${wall}${offsetMs < 0 ? '-' : '+'}${size.slice(11, size.startsWith(':00', 16) ? 16 : 19)}`
}

function offsetAt(zone: string, instantMs: number): number {
  const text = zoneTextAt(zone, 'longOffset', instantMs)
  const match = /([-+\u2212])(\d\d):(\d\d)(?::(\d\d))?$/.exec(text)
  // The text of offset zero is a bare `GMT`.
  if (match === null) return 0
  const [, sign, hours, minutes, seconds = '0'] = match
  const sizeMs = (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * secondMs
  return sign === '+' ? sizeMs : -sizeMs
}

/**
 * Whether the instant is in daylight saving time.
 *
 * The English zone names say so ("Pacific Daylight Time"), also in a year in which a zone changes its standard offset, where
 * comparing summer with winter would go wrong. In a zone without an English name an offset that is larger than another one of
 * half a year before or after counts as daylight saving time.
 */
function isDstAt(zone: string, instantMs: number): boolean {
  const text = zoneTextAt(zone, 'long', instantMs)
  if (!text.startsWith('GMT')) return /\b(?:Daylight|Summer|Irish Standard)\b/.test(text)
  const offset = offsetAt(zone, instantMs)
  return [-2, -1, 1, 2].some((count) => offsetAt(zone, instantMs + count * quarterMs) < offset)
}

function zoneTextAt(zone: string, style: 'long' | 'longOffset', instantMs: number): string {
  const parts = formatterOf(zone, style)?.formatToParts(instantMs) ?? []
  return parts.find((part) => part.type === 'timeZoneName')?.value ?? 'GMT'
}

/** Undefined when the engine does not know the zone. */
function formatterOf(timeZone: string, timeZoneName: 'long' | 'longOffset'): Intl.DateTimeFormat | undefined {
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName })
  } catch {
    return undefined
  }
}
