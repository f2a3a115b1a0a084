// Arguments that the configuration sets: the schema that clients see lacks them, and every call gets them.

import type { RequestFrame } from '../jsonrpc/frame.js'
import type { Line } from '../jsonrpc/line.js'
import { itemsAt, membersAt } from '../jsonrpc/members.js'
import type { Span } from '../jsonrpc/scan.js'
import { type Edit, bothEdits, NO_EDITS, inOrder, splice, writing } from '../jsonrpc/splice.js'
import { quote, stringAt } from '../jsonrpc/text.js'
import { cutMembers, insertMembers, insertion } from './member-edits.js'

export type SetArguments = ReadonlyMap<string, string>

/**
 * The edits that set arguments of a call.
 *
 * A client may write a name with escapes, twice, or in another case, and servers do not agree on which one
 * counts. So the proxy cuts all of them. It replaces arguments with too many members to be read as a whole.
 */
export function argumentEdits({ line, params }: RequestFrame, set: SetArguments): readonly Edit[] {
  const text = [...set].map(([name, value]) => `${quote(name)}:${value}`).join(',')
  const span = params.members.span('arguments')
  const name = params.members.span('name')
  if (span === undefined)
    return name === undefined ? NO_EDITS : [insertion(name.end, `,"arguments":{${text}}`, 'argument')]
  const members = membersAt(line, span)
  if (members === undefined) return writing(line, span, `{${text}}`, 'argument')
  const names = new Set([...set.keys()].map((each) => each.toLowerCase()))
  const cuts = cutMembers(members, ({ key }) =>
    names.has((stringAt(line, key) ?? '').toLowerCase()) ? 'argument' : undefined,
  )
  return bothEdits(insertMembers(span.start, members, cuts, [{ text, why: 'argument' }]), cuts)
}

/** The tool without these parameters in the `properties` and `required` of its schema. */
export function withoutParameters(tool: Line, schema: Span | undefined, set: SetArguments): Line {
  const members = membersAt(tool, schema)
  const properties = [...(membersAt(tool, members?.span('properties')) ?? [])]
  const required = itemsAt(tool, members?.span('required')).map((item) => ({ key: item, value: item }))
  const cuts = [properties, required].flatMap((list) =>
    cutMembers(list, ({ key }) => (set.has(stringAt(tool, key) ?? '') ? 'argument' : undefined)),
  )
  return splice(tool, inOrder(cuts)).joined
}
