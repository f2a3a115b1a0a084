// Edits of single members of an object that is forwarded.

import type { Member, Members } from '../jsonrpc/members.js'
import { type Edit, type EditReason, NO_EDITS } from '../jsonrpc/splice.js'

const NOTHING = new Uint8Array()

export function insertion(at: number, text: string, why: EditReason): Edit {
  return { start: at, end: at, bytes: Buffer.from(text), why }
}

/** Members to insert into an object, as raw JSON. */
export interface GivenMembers {
  readonly text: string
  readonly why: EditReason
}

/** Inserts members after the brace at `start`. `others` are edits of the object, which may cut members. */
export function insertMembers(
  start: number,
  members: Members,
  others: readonly Edit[],
  given: readonly GivenMembers[],
): readonly Edit[] {
  return insertions(start + 1, given, hasKept(members, others) ? ',' : '')
}

/** One edit for each of `given`, all at one place; `tail` follows the last. */
export function insertions(at: number, given: readonly GivenMembers[], tail: string): readonly Edit[] {
  return given.map(({ text, why }, index) =>
    insertion(at, text + (index + 1 < given.length ? ',' : tail), why),
  )
}

/** Whether an object has members that no edit cuts. */
export function hasKept(members: Members, edits: readonly Edit[]): boolean {
  if (edits.length === 0) return members.size > 0
  return [...members].some(
    ({ key }) =>
      !edits.some((edit) => edit.bytes.length === 0 && edit.start <= key.start && key.start < edit.end),
  )
}

/** The edits that cut the members of these names out of an object. */
export function cutNamed(members: Members, names: readonly string[], why: EditReason): readonly Edit[] {
  return cutMembers(members, (_member, index) => (members.isNamed(index, names) ? why : undefined))
}

/**
 * The edits that cut members out of an object, or items out of a list, each with one of its commas.
 *
 * `whyOf` returns undefined for a member that stays.
 */
export function cutMembers(
  members: Iterable<Member>,
  whyOf: (member: Member, index: number) => EditReason | undefined,
): readonly Edit[] {
  const cuts: { start: number; end: number; bytes: Uint8Array; why: EditReason }[] = []
  let isKept = false
  let endBefore = 0
  let index = 0
  for (const member of members) {
    const { key, value } = member
    const why = whyOf(member, index++)
    const last = cuts.at(-1)
    // A cut takes the comma before the member, or the comma behind it if no member before it stays.
    if (last !== undefined && !isKept) last.end = key.start
    const start = isKept ? endBefore : key.start
    endBefore = value.end
    if (why === undefined) isKept = true
    // One edit cuts neighbours with the same reason.
    else if (last?.end === start && last.why === why) last.end = value.end
    else cuts.push({ start, end: value.end, bytes: NOTHING, why })
  }
  return cuts.length === 0 ? NO_EDITS : cuts
}
