// Edits of single members of an object that is forwarded.

import type { Members, NamedMember } from '../jsonrpc/members.js'
import { type Edit, type EditReason, NO_EDITS } from '../jsonrpc/splice.js'

const NOTHING = new Uint8Array()

/** The edit that inserts text. */
export function insertion(at: number, text: string, why: EditReason): Edit {
  return { start: at, end: at, bytes: Buffer.from(text), why }
}

/** The edits that cut the members of these names out of an object. */
export function cutNamed(members: Members, names: readonly string[], why: EditReason): readonly Edit[] {
  // Nearly always there is none.
  return hasNamed(members, names)
    ? cutMembers(members, (index) => members.isNamed(index, names), why)
    : NO_EDITS
}

function hasNamed(members: Members, names: readonly string[]): boolean {
  const { size } = members
  for (let index = 0; index < size; index++) if (members.isNamed(index, names)) return true
  return false
}

/** The edits that cut members out of an object, each with one of its commas. */
function cutMembers(
  members: Pick<Members, 'size' | 'key' | 'value'>,
  isCut: (index: number) => boolean,
  why: EditReason,
): readonly Edit[] {
  let edits: Edit[] | undefined
  let hasKept = false
  const { size } = members
  for (let index = 0; index < size; index++) {
    if (!isCut(index)) {
      hasKept = true
      continue
    }
    // With the comma before it, or the one behind it where nothing is kept before.
    const start = hasKept ? members.value(index - 1).end : members.key(index).start
    const isLast = index + 1 === size
    const end = hasKept || isLast ? members.value(index).end : members.key(index + 1).start
    const last = edits?.at(-1)
    // Neighbours go with one edit.
    if (edits !== undefined && last?.end === start) edits[edits.length - 1] = { ...last, end }
    else (edits ??= []).push({ start, end, bytes: NOTHING, why })
  }
  return edits ?? NO_EDITS
}

/**
 * The edits that cut members out of an object, of which the proxy knows the named ones alone; each goes with one comma.
 *
 * `whyOf` gives undefined for a member that stays.
 */
export function cutFound(
  found: readonly NamedMember[],
  whyOf: (member: NamedMember) => EditReason | undefined,
): readonly Edit[] {
  let edits: Edit[] | undefined
  for (const member of found) {
    const why = whyOf(member)
    if (why === undefined) continue
    edits ??= []
    // All members before it that are not cut are kept, also those with other names.
    const hasKept = member.index > edits.length
    const { before, key, value, next } = member
    const start = hasKept ? before : key.start
    edits.push({ start, end: hasKept ? value.end : (next ?? value.end), bytes: NOTHING, why })
  }
  return edits ?? NO_EDITS
}
