// The zone names that Python's `zoneinfo` accepts, and its errors for the others.
//
// `Intl` ignores case and knows names of its own (`PST`, `SystemV/PST8`, on newer
// engines `+01:00`). The server that this one stands in for takes exactly the names
// of the IANA database, so the spelling is checked before `Intl` sees the name. A
// rule does that and not a list, since a list would refuse the zones of next year.
//
// Files of a machine's own copy of the database (`localtime`, `posix/UTC`, `Factory`)
// are zones to Python, but not here: no engine knows them.

import { pythonString } from './python-repr.js'

/** The words of zone names that are not a capital followed by small letters. */
const ODD_WORDS =
  'es au of IN ComodRivadavia DeNoronha DumontDUrville McMurdo EasterIsland BajaNorte BajaSur ' +
  'ACT LHI NSW GB NZ CHAT PRC ROC ROK UCT UTC US W SU CET EET EST HST MET MST WET ' +
  'EST5EDT CST6CDT MST7MDT PST8PDT GMT GMT0'

const SPELLINGS: ReadonlyMap<string, string> = new Map(
  ODD_WORDS.split(' ').map((word) => [word.toLowerCase(), word]),
)

/**
 * Whether the name is spelled as the IANA database would spell it.
 *
 * Says nothing about whether such a zone exists.
 */
export function isWellSpelled(name: string): boolean {
  return /^[A-Za-z]/.test(name) && !isEngineName(name) && name.replace(/[^/_+-]+/g, spell) === name
}

/** Names that engines keep from other sources or from the past, as the rule would spell them. */
function isEngineName(name: string): boolean {
  return /^(?:[A-Z][a-z]{2}$|ACT$|Systemv\/|US\/Pacific-New$|Canada\/East-Saskatchewan$)/.test(name)
}

function spell(word: string): string {
  const lower = word.toLowerCase()
  return SPELLINGS.get(lower) ?? lower.charAt(0).toUpperCase() + lower.slice(1)
}

/** Python's words for a name that has the wrong shape for a path; undefined for a right one. */
export function keyRefusal(name: string): string | undefined {
  if (name.startsWith('/')) return `ZoneInfo keys may not be absolute paths, got: ${name}`
  if (!isNormalized(name)) return `ZoneInfo keys must be normalized relative paths, got: ${name}`
  if (/^\.\.?(?:\/|$)/.test(name)) return `ZoneInfo keys must refer to subdirectories of TZPATH, got: ${name}`
  return undefined
}

/** Python compares lengths before and after `normpath`, so that `.` and a leading `..` pass here. */
function isNormalized(name: string): boolean {
  if (name === '.') return true
  const parts = name.split('/')
  return parts.every((part, at) => {
    if (part === '' || part === '.') return false
    return part !== '..' || at === 0 || parts[at - 1] === '..'
  })
}

/** Python's words for a zone that it does not have: a `KeyError`, which prints as a quoted string. */
export function unknownZone(name: string): string {
  return pythonString(`No time zone found with key ${name}`)
}
