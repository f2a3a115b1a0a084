// Edits of single members of an object that is forwarded.

import type { Members } from '../jsonrpc/members.js'
import { isKey } from '../jsonrpc/text.js'
import { type Edit, type EditReason, NO_EDITS } from '../jsonrpc/splice.js'

const NOTHING = new Uint8Array()

/** The edit that inserts text. */
export function insertion(at: number, text: string, why: EditReason): Edit {
  return { start: at, end: at, bytes: Buffer.from(text), why }
}

/** The edits that cut the members of these names out of an object. */
export function cutNamed(members: Members, names: readonly string[], why: EditReason): readonly Edit[] {
  return cutMembers(members, (index) => (isNamed(members, index, names) ? why : undefined))
}

/** Whether an object has a member of another name. */
export function keepsSome(members: Members, names: readonly string[]): boolean {
  for (let index = 0; index < members.size; index++) if (!isNamed(members, index, names)) return true
  return false
}

function isNamed(members: Members, index: number, names: readonly string[]): boolean {
  const { start, end } = members.at(index).key
  for (const name of names) if (isKey(members.bytes, start, end, name)) return true
  return false
}

/**
 * The edits that cut members out of an object, each with one of its commas.
 *
 * `whyOf` gives undefined for a member that stays.
 */
export function cutMembers(
  members: Pick<Members, 'size' | 'at'>,
  whyOf: (index: number) => EditReason | undefined,
): readonly Edit[] {
  // Nearly always there is none.
  let edits: Edit[] | undefined
  let hasKept = false
  const { size } = members
  for (let index = 0; index < size; index++) {
    const why = whyOf(index)
    if (why === undefined) {
      hasKept = true
      continue
    }
    // With the comma before it, or the one behind it where nothing is kept before.
    const start = hasKept ? members.at(index - 1).value.end : members.at(index).key.start
    const isLast = index + 1 === size
    const end = hasKept || isLast ? members.at(index).value.end : members.at(index + 1).key.start
    const last = edits?.at(-1)
    // Neighbours that go for one reason go with one edit.
    if (edits !== undefined && last?.end === start && last.why === why)
      edits[edits.length - 1] = { ...last, end }
    else (edits ??= []).push({ start, end, bytes: NOTHING, why })
  }
  return edits ?? NO_EDITS
}
