// The trace context of a request to a server (SEP-414; W3C Trace Context): `traceparent` in `params._meta`.
//
// A call that is traced tells its server the span of the proxy, in the place of the one that its client has sent.
// The other members of a trace context, `tracestate` and `baggage`, pass as they are written.

import { OPEN_OBJECT } from '../jsonrpc/ascii.js'
import type { RequestFrame } from '../jsonrpc/frame.js'
import type { Members } from '../jsonrpc/members.js'
import type { Edit } from '../jsonrpc/splice.js'
import { stringAt } from '../jsonrpc/text.js'

const TRACEPARENT = 'traceparent'

/** How a call is traced. */
export interface CallTrace {
  /** The span of the proxy, for the server (W3C Trace Context, section 3.2). */
  readonly traceparent: string
}

/** Decides whether a call is traced, when it comes. */
export interface CallTracer {
  /** `parent` is the client's own `traceparent`, unchecked, and `id` the raw JSON of its request id. */
  begin(parent: string | undefined, id: string): CallTrace | undefined
}

/** The client's own `traceparent`. */
export function traceparentOf({ params }: RequestFrame): string | undefined {
  return params.metaSpan === undefined ? undefined : params.meta.string(TRACEPARENT)
}

/** The trace id in a `traceparent` (W3C Trace Context, section 3.2.2.3); undefined where there is none. */
export function traceIdIn(traceparent: string | undefined): string | undefined {
  const id = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-/.exec(traceparent ?? '')?.[1]
  return id === undefined || /^0+$/.test(id) ? undefined : id
}

/** `edits`, and those that give a request this `traceparent`; the edits of other members of `_meta` are among `edits`. */
export function withTrace(frame: RequestFrame, edits: readonly Edit[], traceparent: string): readonly Edit[] {
  const { line, params, idSpan } = frame
  const { span, members, meta, metaSpan } = params
  const member = `"${TRACEPARENT}":"${traceparent}"`
  if (metaSpan !== undefined) {
    // The value of a `_meta` that is no object passes, or is replaced by the leg.
    if (line[metaSpan.start] !== OPEN_OBJECT) return edits
    const own = ownValues(line, meta)
    if (own.length > 0) return [...own.map((value) => traceEdit(value, `"${traceparent}"`)), ...edits]
    return [insertion(metaSpan.start + 1, member, meta, edits), ...edits]
  }
  const withMeta = insertedMeta(edits)
  if (withMeta !== undefined) return insideOf(withMeta, member, edits)
  if (span === undefined) return [traceEdit(at(idSpan.end), `,"params":{"_meta":{${member}}}`), ...edits]
  return [insertion(span.start + 1, `"_meta":{${member}}`, members, edits), ...edits]
}

/** Of all members of that name, also where it is written with escapes: a server may read either of two. */
function ownValues(line: Buffer, meta: Members): Span[] {
  return [...meta].flatMap(({ key, value }) => (stringAt(line, key) === TRACEPARENT ? [value] : []))
}

type Span = Pick<Edit, 'start' | 'end'>

/** In front of the members of an object, of which other edits may cut some, and in front of which others may stand. */
function insertion(start: number, member: string, members: Members, edits: readonly Edit[]): Edit {
  const isKept = ({ start: key }: Span): boolean =>
    !edits.some((edit) => edit.bytes.length === 0 && edit.start <= key && key < edit.end)
  const isBefore = edits.some((edit) => edit.start === start && edit.bytes.length > 0)
  const hasMore = isBefore || [...members].some(({ key }) => isKept(key))
  return traceEdit(at(start), hasMore ? `${member},` : member)
}

const META_OPENING = Buffer.from('"_meta":{')

/** The edit that inserts a whole `_meta`, which has members. */
function insertedMeta(edits: readonly Edit[]): Edit | undefined {
  return edits.find(({ why, bytes }) => why === 'meta' && Buffer.from(bytes).includes(META_OPENING))
}

/** The edit in three, with the member in front of those that it inserts. */
function insideOf(edit: Edit, member: string, edits: readonly Edit[]): readonly Edit[] {
  const bytes = Buffer.from(edit.bytes)
  const cut = bytes.indexOf(META_OPENING) + META_OPENING.length
  const parts = [
    { ...edit, bytes: bytes.subarray(0, cut) },
    traceEdit(at(edit.end), `${member},`),
    { ...edit, start: edit.end, bytes: bytes.subarray(cut) },
  ]
  return edits.flatMap((each) => (each === edit ? parts : [each]))
}

function at(place: number): Span {
  return { start: place, end: place }
}

function traceEdit({ start, end }: Span, text: string): Edit {
  return { start, end, bytes: Buffer.from(text), why: 'trace' }
}
