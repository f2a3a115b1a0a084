// Clocks of time zones, from what `Intl` knows.

/** A reading of one zone's clock. */
export interface Reading {
  /** Since the epoch. */
  readonly instantMs: number
  readonly offsetMs: number
  readonly isDst: boolean
}

const minuteMs = 60_000
const dayMs = 1440 * minuteMs

/** Whether the engine knows a zone of this name; offsets such as `+01:00` are no names. */
export function isZone(name: string): boolean {
  try {
    return /^[A-Za-z]/.test(name) && zoneTextAt(name, 'longOffset', 0) !== ''
  } catch {
    return false
  }
}

/** The zone that the machine is set to, by the `TZ` variable where that is set; `UTC` when it is unknown. */
export function systemZone(): string {
  const names: (string | undefined)[] = [
    process.env['TZ'],
    new Intl.DateTimeFormat().resolvedOptions().timeZone,
  ]
  return names.find((name) => name !== undefined && isZone(name)) ?? 'UTC'
}

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
  return `${wall}${offsetMs < 0 ? '-' : '+'}${new Date(Math.abs(offsetMs)).toISOString().slice(11, 16)}`
}

function offsetAt(zone: string, instantMs: number): number {
  const match = /([-+\u2212])(\d\d):(\d\d)/.exec(zoneTextAt(zone, 'longOffset', instantMs))
  // The text of offset zero is a bare `GMT`.
  if (match === null) return 0
  const [, sign, hours, minutes] = match
  const sizeMs = (Number(hours) * 60 + Number(minutes)) * minuteMs
  return sign === '+' ? sizeMs : -sizeMs
}

/**
 * By the English name of the zone ("Pacific Daylight Time"): to compare the offsets of summer and winter would go wrong in a year
 * in which a zone changes its standard offset.
 */
function isDstAt(zone: string, instantMs: number): boolean {
  return /\b(?:Daylight|Summer|Irish Standard)\b/.test(zoneTextAt(zone, 'long', instantMs))
}

/** @throws RangeError when the engine does not know the zone */
function zoneTextAt(timeZone: string, timeZoneName: 'long' | 'longOffset', instantMs: number): string {
  const parts = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName }).formatToParts(instantMs)
  return parts.find((part) => part.type === 'timeZoneName')?.value ?? 'GMT'
}
