// Refuses members that two parsers can read differently.
//
// A proxy that routes by `method`, in front of a server that reads `Method` or the second of two members,
// would check one message and forward another. The members by which messages are routed must therefore be
// present once, in their own case, and without escapes. Other members are not checked here.

import type { Members } from './members.js'
import { type RoutedNames, fold, indexOfName } from './routed-names.js'
import { stringAt } from './text.js'

/**
 * The first ambiguity of an object's keys, as a message and the offset of the key; undefined where they have none.
 *
 * No key may stand twice, in any case, and no other key may fold to a routed name.
 */
export function ambiguity(
  members: Members | undefined,
  names: RoutedNames,
): { message: string; offset: number } | undefined {
  if (members === undefined) return undefined
  let seen = 0
  let others: Set<string> | undefined
  for (const { key } of members) {
    const known = indexOfName(members.bytes, key.start, key.end, names.exact)
    if (known >= 0 && (seen & (1 << known)) === 0) {
      seen |= 1 << known
      continue
    }
    const text = stringAt(members.bytes, key) ?? ''
    const folded = fold(text)
    if (known >= 0 || others?.has(folded)) return at(key.start, `${quoted(text)} stands twice`)
    if (names.folded.has(folded))
      return at(key.start, `${quoted(text)} is not the exact spelling of a routed member`)
    others ??= new Set()
    others.add(folded)
  }
  return undefined
}

/** The number of keys that a parser could read as `name`. */
export function spellings(members: Members, name: string): number {
  let count = 0
  for (const { key } of members) if (fold(stringAt(members.bytes, key) ?? '') === fold(name)) count++
  return count
}

function at(offset: number, message: string): { message: string; offset: number } {
  return { message, offset }
}

function quoted(text: string): string {
  return `'${text.slice(0, 64).replace(/[^\x20-\x7e]/g, '?')}'`
}
