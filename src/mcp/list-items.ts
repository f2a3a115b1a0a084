// Lists: the proxy reads them from servers page by page, and merges them for clients.
//
// An item keeps the bytes that its server wrote, except for edits that each have a reason.

import type { ResultFrame } from '../jsonrpc/frame.js'
import { type Line, toLine } from '../jsonrpc/line.js'
import { OPEN_ARRAY, QUOTE } from '../jsonrpc/ascii.js'
import { itemsAt, membersAt, membersOf } from '../jsonrpc/members.js'
import type { Span } from '../jsonrpc/scan.js'
import { type Edit, splice } from '../jsonrpc/splice.js'
import { parse, quote, rawAt, stringAt } from '../jsonrpc/text.js'
import { repairs } from './item-form.js'
import { insertion } from './member-edits.js'
import type { ListKind } from './methods.js'
import type { Revision } from './revisions.js'
import { isOtherThanObject, schemaWrapping } from './structured-wrap.js'

/** The method and the members of one kind of list (MCP, Server features). */
interface ListShape {
  readonly method: string
  /** The member of the result that holds the items. */
  readonly items: string
  /** The member that identifies an item. */
  readonly key: string
  readonly changed: string
}

export const listShapes: Readonly<Record<ListKind, ListShape>> = {
  tools: shape('tools', 'tools', 'name', 'tools'),
  prompts: shape('prompts', 'prompts', 'name', 'prompts'),
  resources: shape('resources', 'resources', 'uri', 'resources'),
  templates: shape('resources/templates', 'resourceTemplates', 'uriTemplate', 'resources'),
}

function shape(family: string, items: string, key: string, changed: string): ListShape {
  return { method: `${family}/list`, items, key, changed: `notifications/${changed}/list_changed` }
}

export const listKinds: readonly ListKind[] = ['tools', 'prompts', 'resources', 'templates']

/** One item of a server's list, copied out of the list. Spans count from the start of `line`. */
export interface ListItem {
  readonly line: Line
  /** The server's own name, URI or URI template. */
  readonly key: string
  readonly keySpan: Span
  readonly descriptionSpan: Span | undefined
  /** The schema of a tool's arguments. */
  readonly schemaSpan: Span | undefined
  /** The schema of a tool's structured results, if they are not objects. */
  readonly wrappedSpan: Span | undefined
  /** Whether the tool can only be called as a task (2025-11-25, Tool-Level Negotiation). */
  readonly needsTask: boolean
  /** Why no client gets the item although the server lists it: it differs from the accepted item. */
  readonly withheld?: string
}

export interface Page {
  readonly items: readonly ListItem[]
  /** The faults of the items that are left out, because clients refuse lists with such items. */
  readonly faults: readonly string[]
  readonly cursor: string | undefined
  /** How long the page is fresh (2026-07-28, Utilities: caching); undefined if the server does not say. */
  readonly ttlMs: number | undefined
}

/**
 * Reads one page, repairs its items and leaves out the invalid ones; undefined if the result is no such list.
 *
 * A page with more than `itemsMax` items is not read. `outputs` is from the server's revision.
 */
export function readPage(
  frame: ResultFrame,
  kind: ListKind,
  itemsMax: number,
  outputs: Revision['outputs'],
): Page | 'too-long' | undefined {
  const shape = listShapes[kind]
  const members = frame.members
  const span = members?.span(shape.items)
  if (members === undefined || span === undefined || frame.line[span.start] !== OPEN_ARRAY) return undefined
  const spans = itemsAt(frame.line, span, itemsMax)
  if (spans.length > itemsMax) return 'too-long'
  const items: ListItem[] = []
  const faults: string[] = []
  for (const item of spans) {
    const line = toLine(frame.line.subarray(item.start, item.end))
    const read = readItem(line, shape.key)
    if (read === undefined) {
      faults.push(`'${shape.key}' is missing in one of its ${kind}`)
      continue
    }
    const edits = repairs(line, kind, outputs)
    if (typeof edits === 'string') faults.push(`${edits} in '${read.key}' of its ${kind}`)
    else items.push(edits.length === 0 ? read : (readItem(splice(line, edits).joined, shape.key) ?? read))
  }
  const cursor = cursorAt(frame.line, members.span('nextCursor'))
  return { items, faults, cursor, ttlMs: ttlOf(frame.line, members.span('ttlMs')) }
}

/** Reads an item that was kept as raw JSON; undefined if it is not of this kind. */
export function readListItem(bytes: Uint8Array, kind: ListKind): ListItem | undefined {
  return readItem(toLine(bytes), listShapes[kind].key)
}

function readItem(line: Line, keyName: string): ListItem | undefined {
  const members = membersOf(line)
  const keySpan = members?.span(keyName)
  const key = stringAt(line, keySpan)
  if (members === undefined || keySpan === undefined || key === undefined) return undefined
  const output = members.span('outputSchema')
  return {
    line,
    key,
    keySpan,
    descriptionSpan: members.span('description'),
    schemaSpan: members.span('inputSchema'),
    wrappedSpan: isOtherThanObject(line, output) ? output : undefined,
    needsTask: membersAt(line, members.span('execution'))?.string('taskSupport') === 'required',
  }
}

/** A list is out of date if its hint is no number of milliseconds. */
function ttlOf(line: Line, span: Span | undefined): number | undefined {
  if (span === undefined) return undefined
  const ttlMs: unknown = parse(rawAt(line, span))
  return typeof ttlMs === 'number' && ttlMs >= 0 ? ttlMs : 0
}

/** Raw JSON of a cursor; undefined if it is no string. */
export function cursorAt(line: Line, span: Span | undefined): string | undefined {
  if (span === undefined || line[span.start] !== QUOTE) return undefined
  return rawAt(line, span)
}

export function isSameItem(one: ListItem, other: ListItem | undefined): boolean {
  return one === other || other?.line.equals(one.line) === true
}

/**
 * The edits of a listed item: its public name, the mark before its description, and the schema of structured
 * results that are not objects, for a client whose revision has only objects (`isWrapped`).
 */
export function itemEdits(
  item: ListItem,
  publicName: string,
  mark: string | undefined,
  isWrapped: boolean,
): Edit[] {
  const edits: Edit[] = []
  if (isWrapped && item.wrappedSpan !== undefined) edits.push(...schemaWrapping(item.line, item.wrappedSpan))
  if (publicName !== item.key) {
    edits.push({ ...item.keySpan, bytes: Buffer.from(quote(publicName)), why: 'name' })
  }
  const span = item.descriptionSpan
  if (mark !== undefined && span !== undefined && item.line[span.start] === QUOTE) {
    edits.push(insertion(span.start + 1, quote(mark).slice(1, -1), 'describe'))
  }
  return edits
}

const COMMA = Buffer.from(',')

/** The raw JSON of one page of a list; `cursor` is the plain text of the cursor of the next page. */
export function listResult(
  kind: ListKind,
  items: readonly Uint8Array[],
  cursor: string | undefined,
): Uint8Array {
  const tail = cursor === undefined ? ']}' : `],"nextCursor":${quote(cursor)}}`
  return itemList(listShapes[kind].items, items, tail)
}

export function itemList(member: string, items: readonly Uint8Array[], tail = ']}'): Uint8Array {
  const parts = items.flatMap((item, at) => (at === 0 ? [item] : [COMMA, item]))
  return Buffer.concat([Buffer.from(`{${quote(member)}:[`), ...parts, Buffer.from(tail)])
}
