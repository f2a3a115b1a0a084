// Structured results that are not objects, for clients whose revisions have only objects.
//
// MCP 2026-07-28, Tools: output schema. The value becomes the member `result` of an object, and the schema
// becomes the schema of that member. References within the schema move with it.

import { OPEN_ARRAY, OPEN_OBJECT } from '../jsonrpc/ascii.js'
import { membersAt, itemsAt } from '../jsonrpc/members.js'
import type { Span } from '../jsonrpc/scan.js'
import type { Edit } from '../jsonrpc/splice.js'
import { isKey, parse, rawAt, stringAt } from '../jsonrpc/text.js'
import { referredTo } from './arguments/json-value.js'
import { insertion } from './member-edits.js'

const WRAP = 'structured-wrap'

export function wrapping({ start, end }: Span): readonly Edit[] {
  return [insertion(start, '{"result":', WRAP), insertion(end, '}', WRAP)]
}

/** Whether the output schema at `span` describes values other than objects. */
export function isOtherThanObject(line: Buffer, span: Span | undefined): boolean {
  const members = membersAt(line, span)
  return members !== undefined && members.string('type') !== 'object'
}

export function schemaWrapping(line: Buffer, { start, end }: Span): readonly Edit[] {
  return [
    insertion(start, '{"type":"object","properties":{"result":', WRAP),
    ...references(line, { start, end }).map((at) => insertion(at.start + 2, '/properties/result', WRAP)),
    insertion(end, '},"required":["result"]}', WRAP),
  ]
}

/** The references to the root of the schema, or to a part of it. */
function references(line: Buffer, span: Span): readonly Span[] {
  const first = line[span.start]
  if (first === OPEN_ARRAY) return itemsAt(line, span).flatMap((item) => references(line, item))
  if (first !== OPEN_OBJECT) return []
  const members = membersAt(line, span)
  // References in a schema with an `$id` resolve against that schema.
  if (members === undefined || members.span('$id') !== undefined) return []
  return [...members].flatMap(({ key, value }) => {
    if (!isKey(line, key.start, key.end, '$ref')) return references(line, value)
    // A reference to an anchor, such as `#name`, needs no edit.
    return /^"#[/"]/.test(rawAt(line, value)) ? [value] : []
  })
}

/** Whether a reference within the schema has no target in the schema. */
export function dangles(line: Buffer, span: Span): boolean {
  const found = references(line, span)
  if (found.length === 0) return false
  const schema = parse(rawAt(line, span))
  return found.some((reference) => referredTo(schema, stringAt(line, reference)) === undefined)
}
