// Structured results that are no objects, for clients whose revisions have only objects.
//
// MCP 2026-07-28, Tools: output schema. The value becomes the member `result` of an object, and so does its schema; what
// the schema refers to within itself moves with it.

import { OPEN_ARRAY, OPEN_OBJECT, QUOTE } from '../jsonrpc/ascii.js'
import { membersAt, itemsAt } from '../jsonrpc/members.js'
import type { Span } from '../jsonrpc/scan.js'
import type { Edit } from '../jsonrpc/splice.js'
import { stringAt } from '../jsonrpc/text.js'
import { insertion } from './member-edits.js'

const HASH = 0x23
const WRAP = 'structured-wrap'

export function wrapping({ start, end }: Span): readonly Edit[] {
  return [insertion(start, '{"result":', WRAP), insertion(end, '}', WRAP)]
}

/** Whether the values of an output schema are something else than objects; `span` is where it stands. */
export function isOtherThanObject(line: Buffer, span: Span | undefined): boolean {
  const members = membersAt(line, span)
  return members !== undefined && members.string('type') !== 'object'
}

export function schemaWrapping(line: Buffer, { start, end }: Span): readonly Edit[] {
  return [
    insertion(start, '{"type":"object","properties":{"result":', WRAP),
    ...references(line, { start, end }).map((at) => insertion(at, '/properties/result', WRAP)),
    insertion(end, '},"required":["result"]}', WRAP),
  ]
}

/** Behind which bytes the path of each reference to the root of the schema begins. */
function references(line: Buffer, span: Span): number[] {
  const first = line[span.start]
  if (first === OPEN_ARRAY) return itemsAt(line, span).flatMap((item) => references(line, item))
  if (first !== OPEN_OBJECT) return []
  const members = membersAt(line, span)
  // References in a schema with an `$id` begin at that schema.
  if (members === undefined || members.span('$id') !== undefined) return []
  return [...members].flatMap(({ key, value }) =>
    line.toString('utf8', key.start, key.end) === '"$ref"' ? pathIn(line, value) : references(line, value),
  )
}

/** Whether a reference within the schema leads to a place that the schema does not have. */
export function dangles(line: Buffer, span: Span): boolean {
  return references(line, span).some((at) => {
    const [, ...path] = line.toString('utf8', at, line.indexOf(QUOTE, at)).split('/')
    return target(line, span, path) === undefined
  })
}

/** The value at a JSON pointer (RFC 6901). */
function target(line: Buffer, span: Span, [step, ...path]: readonly string[]): Span | undefined {
  if (step === undefined) return span
  const name = unescaped(step)
  const next =
    line[span.start] === OPEN_ARRAY
      ? itemsAt(line, span)[Number(name)]
      : [...(membersAt(line, span) ?? [])].find(({ key }) => stringAt(line, key) === name)?.value
  return next && target(line, next, path)
}

function unescaped(step: string): string {
  try {
    return decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')
  } catch {
    return step
  }
}

/** `#` alone, or with a path behind it; a name behind it stays what it is. */
function pathIn(line: Buffer, { start, end }: Span): number[] {
  const isLocal = line[start] === QUOTE && line[start + 1] === HASH
  const isPath = end === start + 3 || line[start + 2] === SLASH
  return isLocal && isPath ? [start + 2] : []
}

const SLASH = 0x2f
