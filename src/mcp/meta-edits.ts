// The members that the proxy adds to the `_meta` of a message. The proxy makes a missing `_meta`.

import { OPEN_OBJECT } from '../jsonrpc/ascii.js'
import type { Params, RequestFrame } from '../jsonrpc/frame.js'
import type { Line } from '../jsonrpc/line.js'
import type { Span } from '../jsonrpc/scan.js'
import { type Edit, bothEdits } from '../jsonrpc/splice.js'
import { type GivenMembers, cutMembers, hasKept, insertMembers, insertions } from './member-edits.js'

/** Members for `_meta` as raw JSON, possibly empty. They replace the members with these names. */
export interface MetaMembers extends GivenMembers {
  readonly names: readonly string[]
}

/** A request or notification. Missing `params` are inserted behind the `idSpan` of a request. */
interface Message {
  readonly line: Line
  readonly params: Params
  readonly idSpan?: Span
}

/** Adds to `others` the edits that insert these members. `others` are edits outside of `_meta`. */
export function metaEdits(
  { line, params: { span, members, meta, metaSpan }, idSpan }: Message,
  others: readonly Edit[],
  given: readonly MetaMembers[],
): readonly Edit[] {
  const cuts = cutMembers(
    meta,
    (_member, index) => given.find(({ names }) => meta.isNamed(index, names))?.why,
  )
  const added = given.filter(({ text }) => text !== '')
  if (added.length === 0) return bothEdits(others, cuts)
  if (metaSpan !== undefined && line[metaSpan.start] === OPEN_OBJECT)
    return [...insertMembers(metaSpan.start, meta, cuts, added), ...cuts, ...others]
  if (metaSpan !== undefined) {
    // A trace alone does not replace a `_meta` of another type.
    const why = added.find((each) => each.why !== 'trace')?.why
    const text = `{${added.map((each) => each.text).join(',')}}`
    return why === undefined ? others : [...others, { ...metaSpan, bytes: Buffer.from(text), why }]
  }
  const behind = (head: string): GivenMembers[] =>
    added.map(({ text, why }, index) => ({ text: index === 0 ? head + text : text, why }))
  if (span !== undefined) {
    const tail = hasKept(members, others) ? '},' : '}'
    return [...insertions(span.start + 1, behind('"_meta":{'), tail), ...others]
  }
  if (idSpan === undefined) return others
  return [...others, ...insertions(idSpan.end, behind(',"params":{"_meta":{'), '}}')]
}

// The trace context of a request to a server (SEP-414; W3C Trace Context): `traceparent` in `params._meta`.
//
// A traced call carries the span of the proxy to the server, in place of the span that the client sent.
// The other members of a trace context, `tracestate` and `baggage`, pass unchanged.

const TRACEPARENT = 'traceparent'

export interface CallTrace {
  /** The span of the proxy, for the server (W3C Trace Context, section 3.2). */
  readonly traceparent: string
}

/** Decides for each new call whether it is traced. */
export interface CallTracer {
  /** `parent` is the client's own `traceparent`, not validated, and `id` the raw JSON of the request id. */
  begin(parent: string | undefined, id: string): CallTrace | undefined
}

export function requestEdits(
  { frame, trace }: { readonly frame: RequestFrame; readonly trace: CallTrace | undefined },
  others: readonly Edit[],
  given: readonly MetaMembers[],
): readonly Edit[] {
  if (trace === undefined) return given.length === 0 ? others : metaEdits(frame, others, given)
  const text = `"${TRACEPARENT}":"${trace.traceparent}"`
  return metaEdits(frame, others, [{ text, names: [TRACEPARENT], why: 'trace' }, ...given])
}

export function traceparentOf({ params }: RequestFrame): string | undefined {
  return params.metaSpan === undefined ? undefined : params.meta.string(TRACEPARENT)
}

/** The trace id in a `traceparent` (W3C Trace Context, 3.2.2.3); undefined if it is missing or zero. */
export function traceIdIn(traceparent: string | undefined): string | undefined {
  const id = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-/.exec(traceparent ?? '')?.[1]
  return id === undefined || /^0+$/.test(id) ? undefined : id
}
