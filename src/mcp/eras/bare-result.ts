// Results and errors of servers without a handshake, as clients of a session read them.
//
// Revisions before 2026-07-28 know no types of results, not for how long one may be kept, and not the numbers that it
// reserves.

import { COMMA, QUOTE, isSpace } from '../../jsonrpc/ascii.js'
import type { ErrorBody } from '../../jsonrpc/build.js'
import type { ErrorFrame, ResponseFrame, ResultFrame } from '../../jsonrpc/frame.js'
import type { NamedMembers } from '../../jsonrpc/fast/named-members.js'
import { type Members, membersAt } from '../../jsonrpc/members.js'
import { type Edit, NO_EDITS } from '../../jsonrpc/splice.js'
import type { Call } from '../call.js'
import { internalError, notFoundInSession, numberIn, statelessRefusal } from '../error-codes.js'
import { cutNamed } from '../member-edits.js'
import { SERVER_INFO } from '../meta-keys.js'
import { toolFailure } from '../tool-failure.js'
import { wrapping } from '../structured-wrap.js'

const NOTHING = new Uint8Array()

const hints = ['ttlMs', 'cacheScope']
const typed = ['resultType']
const typedAndHinted = [...typed, ...hints]
const serverInfo = [SERVER_INFO]

/** What a client of a session is told by such an answer. */
export type BareAnswer =
  /** The answer, with these edits. */
  | { readonly kind: 'edited'; readonly edits: readonly Edit[] }
  /** What the model is to read in its place, as raw JSON. */
  | { readonly kind: 'result'; readonly result: string }
  | { readonly kind: 'error'; readonly error: ErrorBody }

/** How the answer is told. */
export function bareAnswer(call: Call, frame: ResponseFrame): BareAnswer {
  return frame.kind === 'error' ? bareError(call, frame) : bareResult(call, frame)
}

function bareResult({ row, service, isWrapped }: Call, frame: ResultFrame): BareAnswer {
  const isRead = row.route.to === 'uri'
  const { named } = frame
  const cut = isRead || named === undefined ? undefined : cutType(frame, named)
  if (named !== undefined && cut !== undefined) return withoutRest(frame, named, [cut], isWrapped)
  const members = membersAt(frame.line, frame.result)
  if (members === undefined) return { kind: 'edited', edits: NO_EDITS }
  const type = members.string('resultType')
  if (type !== undefined && type !== 'complete') {
    const what = `'${service ?? ''}' has given a result of the type '${type}', which does not pass this proxy`
    return { kind: 'error', error: internalError(what) }
  }
  return withoutRest(frame, members, untyped(members, isRead), isWrapped)
}

/** Nearly always the type stands first or last, and nothing but a comma between it and the next member. */
function cutType({ line, result }: ResultFrame, named: NamedMembers): Edit | undefined {
  const key = named.keyOf('resultType')
  const value = named.span('resultType')
  if (key === undefined || value === undefined || !named.says('resultType', 'complete')) return undefined
  const { end } = value
  if (key === result.start + 1 && line[end] === COMMA && line[end + 1] === QUOTE)
    return { start: key, end: end + 1, bytes: NOTHING, why: 'result-type' }
  const isBehind = line[key - 1] === COMMA && !isSpace(line[key - 2] ?? 0)
  return isBehind ? { start: key - 1, end, bytes: NOTHING, why: 'result-type' } : undefined
}

/** Without what stands further inside too, besides these edits. */
function withoutRest(
  { line }: ResultFrame,
  members: Pick<Members, 'span'>,
  own: readonly Edit[],
  isWrapped: boolean,
): BareAnswer {
  const metaSpan = members.span('_meta')
  const structured = isWrapped ? members.span('structuredContent') : undefined
  if (metaSpan === undefined && structured === undefined) return { kind: 'edited', edits: own }
  const meta = membersAt(line, metaSpan)
  const edits = [
    ...own,
    ...(meta === undefined ? NO_EDITS : cutNamed(meta, serverInfo, 'meta')),
    ...(structured === undefined ? NO_EDITS : wrapping(structured)),
  ]
  return { kind: 'edited', edits }
}

/** In one pass, since members that stand side by side share a comma. */
function untyped(members: Members, isRead: boolean): readonly Edit[] {
  const cuts = cutNamed(members, isRead ? typedAndHinted : typed, 'result-type')
  if (!isRead) return cuts
  const places = hints.flatMap((name) => members.span(name)?.start ?? [])
  const isHint = ({ start, end }: Edit): boolean => places.some((at) => at >= start && at < end)
  return cuts.map((cut) => (isHint(cut) ? { ...cut, why: 'cache-hint' } : cut))
}

function bareError({ row, service }: Call, { line, error }: ErrorFrame): BareAnswer {
  const members = membersAt(line, error)
  const span = members?.span('code')
  if (span === undefined) return { kind: 'edited', edits: NO_EDITS }
  const code = numberIn(line, span)
  if (statelessRefusal(code) !== undefined) {
    const message = `'${service ?? ''}' has refused the request: ${members?.string('message') ?? ''}`
    const isCall = row.route.to === 'name' && row.route.list === 'tools'
    return isCall
      ? { kind: 'result', result: toolFailure(message) }
      : { kind: 'error', error: internalError(message) }
  }
  const known = row.route.to === 'uri' ? notFoundInSession(code) : code
  const bytes = Buffer.from(String(known))
  return {
    kind: 'edited',
    edits: Object.is(known, code) ? NO_EDITS : [{ ...span, bytes, why: 'error-code' }],
  }
}
