// Arguments of a tool that are set for its clients: they leave the schema that clients see, and stand in every call.

import type { RequestFrame } from '../jsonrpc/frame.js'
import type { Line } from '../jsonrpc/line.js'
import { itemsAt, membersAt } from '../jsonrpc/members.js'
import type { Span } from '../jsonrpc/scan.js'
import { type Edit, NO_EDITS, inOrder, splice, writing } from '../jsonrpc/splice.js'
import { quote, stringAt } from '../jsonrpc/text.js'
import { cutMembers, insertion } from './member-edits.js'

export type SetArguments = ReadonlyMap<string, string>

/**
 * Sets arguments of a call.
 *
 * A client may write a name with escapes, twice, or in another case, and servers do not agree which of them counts. So
 * each of them gets the value that is set. Of arguments with too many members to be read nothing else is left.
 */
export function argumentEdits({ line, params }: RequestFrame, set: SetArguments): readonly Edit[] {
  const span = params.members.span('arguments')
  const name = params.members.span('name')
  if (span === undefined)
    return name === undefined
      ? NO_EDITS
      : [insertion(name.end, `,"arguments":${objectText(set)}`, 'argument')]
  const members = membersAt(line, span)
  if (members === undefined) return writing(line, span, objectText(set), 'argument')
  const written = [...members].map(({ key, value }) => ({ name: stringAt(line, key) ?? '', value }))
  const missing = [...set].filter(([each]) => !written.some((member) => member.name === each))
  const comma = written.length > 0 ? ',' : ''
  const added =
    missing.length > 0
      ? [insertion(span.start + 1, missing.map(memberText).join(',') + comma, 'argument')]
      : []
  const values = new Map([...set].map(([each, value]) => [each.toLowerCase(), value]))
  const replaced = written.flatMap(({ name: each, value }) => {
    const wanted = values.get(each.toLowerCase())
    return wanted === undefined ? [] : writing(line, value, wanted, 'argument')
  })
  return [...added, ...replaced]
}

function objectText(set: SetArguments): string {
  return `{${[...set].map(memberText).join(',')}}`
}

function memberText([name, value]: readonly [string, string]): string {
  return `${quote(name)}:${value}`
}

/** A tool whose schema lacks these parameters, in its properties and in those that are required. */
export function withoutParameters(tool: Line, schema: Span | undefined, set: SetArguments): Line {
  const members = membersAt(tool, schema)
  const properties = [...(membersAt(tool, members?.span('properties')) ?? [])]
  const required = itemsAt(tool, members?.span('required')).map((item) => ({ key: item, value: item }))
  const cuts = [properties, required].flatMap((list) =>
    cutMembers(list, ({ key }) => (set.has(stringAt(tool, key) ?? '') ? 'argument' : undefined)),
  )
  return splice(tool, inOrder(cuts)).joined
}
