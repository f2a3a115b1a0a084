// Arguments of a tool that are set for its clients: they leave the schema that clients see, and stand in every call.

import type { RequestFrame } from '../jsonrpc/frame.js'
import type { Line } from '../jsonrpc/line.js'
import { itemsAt, type Member, membersAt } from '../jsonrpc/members.js'
import type { Span } from '../jsonrpc/scan.js'
import { type Edit, NO_EDITS, inOrder, splice, writing } from '../jsonrpc/splice.js'
import { quote, stringAt } from '../jsonrpc/text.js'
import { insertion } from './member-edits.js'

/** Names and their values as raw JSON. */
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
  const required = itemsAt(tool, members?.span('required'))
  const isSet = (key: Span | undefined): boolean => key !== undefined && set.has(stringAt(tool, key) ?? '')
  const edits = [
    ...removed(properties.map(whole), (at) => isSet(properties[at]?.key)),
    ...removed(required, (at) => isSet(required[at])),
  ]
  return splice(tool, inOrder(edits))
}

function whole({ key, value }: Member): Span {
  return { start: key.start, end: value.end }
}

/** Takes things out of a list with commas: with each run of them the comma before it, or the one behind it at the start. */
function removed(spans: readonly Span[], isGone: (index: number) => boolean): Edit[] {
  const edits: Edit[] = []
  for (let first = 0; first < spans.length; first++) {
    if (!isGone(first)) continue
    let last = first
    while (last + 1 < spans.length && isGone(last + 1)) last++
    const [before, from, to, next] = [spans[first - 1], spans[first], spans[last], spans[last + 1]]
    if (from !== undefined && to !== undefined) {
      const start = before?.end ?? from.start
      const end = before === undefined ? (next?.start ?? to.end) : to.end
      edits.push({ start, end, bytes: new Uint8Array(), why: 'argument' })
    }
    first = last
  }
  return edits
}
