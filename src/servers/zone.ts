// Time zones as Python's `zoneinfo` shows them, from what `Intl` tells.
//
// `Intl` gives the offset of an instant but not the database's `is_dst` flag, and
// it cannot go from a wall clock to an instant. Both are worked out here. Nothing
// is built before a tool is called: the formatters cost more than a handshake.

import { isWellSpelled, keyRefusal, unknownZone } from './zone-name.js'

/** A zone of the IANA database, under the name that the client gave. */
export interface Zone {
  readonly kind: 'zone'
  readonly name: string
  readonly offsets: Intl.DateTimeFormat
}

/** Something that the server will not do, in the words of the Python server. */
export interface Refused {
  readonly kind: 'refused'
  readonly reason: string
}

/** A reading of one zone's clock. */
export interface Reading {
  /** Since the epoch. */
  readonly instantMs: number
  readonly offsetMs: number
  readonly isDst: boolean
}

const secondMs = 1000
const dayMs = 86_400 * secondMs
const monthMs = 30 * dayMs
const MONTHS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12] as const

/** Zones whose standard time is their larger offset: the flag is set in winter, in Morocco in Ramadan. */
const NEGATIVE_DST: ReadonlySet<string> = new Set([
  'Europe/Dublin',
  'Eire',
  'Africa/Casablanca',
  'Africa/El_Aaiun',
])

/** Finds a zone by its exact IANA name, links included. */
export function openZone(name: string): Zone | Refused {
  const badKey = keyRefusal(name)
  if (badKey !== undefined) return { kind: 'refused', reason: badKey }
  const offsets = isWellSpelled(name) ? formatterOf(name, 'longOffset') : undefined
  if (offsets === undefined) return { kind: 'refused', reason: unknownZone(name) }
  return { kind: 'zone', name, offsets }
}

/** The zone's clock at an instant. */
export function readingAt(zone: Zone, instantMs: number): Reading {
  return { instantMs, offsetMs: offsetAt(zone, instantMs), isDst: isDstAt(zone, instantMs) }
}

/**
 * The reading that a wall clock shows as `wallMs`, the milliseconds of a UTC clock that shows the same.
 *
 * Of two such readings the earlier. One that a forward change skips keeps the offset of before
 * the change, as a Python `datetime` with `fold=0` does.
 */
export function readingOfWall(zone: Zone, wallMs: number): Reading {
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

function offsetAt(zone: Zone, instantMs: number): number {
  const text = zoneTextAt(zone.offsets, instantMs)
  const match = /([-+\u2212])(\d\d):(\d\d)(?::(\d\d))?$/.exec(text)
  // The text of offset zero is a bare `GMT`.
  if (match === null) return 0
  const [, sign, hours, minutes, seconds = '0'] = match
  const sizeMs = (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * secondMs
  return sign === '+' ? sizeMs : -sizeMs
}

/**
 * Whether the database flags the instant as daylight saving time.
 *
 * The English zone names carry the flag ("Pacific Daylight Time"), also in a year in which a
 * zone changes its standard offset, where comparing summer with winter would go wrong. A few
 * zones have no English name; there an offset counts as daylight saving time if it comes and goes.
 */
function isDstAt(zone: Zone, instantMs: number): boolean {
  if (NEGATIVE_DST.has(zone.name)) return comesAndGoes(zone, instantMs, (offset, other) => offset < other)
  const names = formatterOf(zone.name, 'long')
  const text = names === undefined ? 'GMT' : zoneTextAt(names, instantMs)
  if (!text.startsWith('GMT')) return /\b(?:Daylight|Summer)\b/.test(text)
  return comesAndGoes(zone, instantMs, (offset, other) => offset > other)
}

type IsApart = (offset: number, other: number) => boolean

/** Whether the offset is apart from one in the year before and from one in the year after. */
function comesAndGoes(zone: Zone, instantMs: number, isApart: IsApart): boolean {
  const offset = offsetAt(zone, instantMs)
  const isApartIn = (months: number): boolean => isApart(offset, offsetAt(zone, instantMs + months * monthMs))
  return MONTHS.some((months) => isApartIn(-months)) && MONTHS.some(isApartIn)
}

function zoneTextAt(format: Intl.DateTimeFormat, instantMs: number): string {
  const parts = format.formatToParts(instantMs)
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
