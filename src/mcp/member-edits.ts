// Edits of single members of an object that is forwarded.

import type { Members } from '../jsonrpc/members.js'
import type { Span } from '../jsonrpc/scan.js'
import type { Edit, EditReason } from '../jsonrpc/splice.js'

const NOTHING = new Uint8Array()
const NONE = [] as const

/** The edits that cut the members of these names out of an object. */
export function cutNamed(members: Members, names: readonly string[], why: EditReason): readonly Edit[] {
  const found = names.flatMap((name) => members.span(name)?.start ?? [])
  return found.length === 0 ? NONE : cutMembers(members, (_key, value) => found.includes(value.start), why)
}

/** The edits that cut members out of an object, each with one of its commas. */
export function cutMembers(
  members: Members,
  isCut: (key: Span, value: Span) => boolean,
  why: EditReason,
): Edit[] {
  const edits: Edit[] = []
  let keptEnd: number | undefined
  let beforeEnd = 0
  for (let index = 0; index < members.size; index++) {
    const { key, value } = members.at(index)
    if (isCut(key, value)) {
      // With the comma before it, or the one behind it where nothing is kept before.
      const start = keptEnd === undefined ? key.start : beforeEnd
      const isLast = index + 1 === members.size
      const end = keptEnd !== undefined || isLast ? value.end : members.key(index + 1).start
      const last = edits.at(-1)
      // Neighbours go with one edit.
      if (last?.end === start) edits[edits.length - 1] = { ...last, end }
      else edits.push({ start, end, bytes: NOTHING, why })
    } else keptEnd = value.end
    beforeEnd = value.end
  }
  return edits
}
