// Results and errors of servers without a handshake, as clients of a session read them.
//
// Revisions before 2026-07-28 know no types of results, not for how long one may be kept, and not the numbers that it
// reserves.

import type { ErrorBody } from '../../jsonrpc/build.js'
import type { ErrorFrame, ResponseFrame, ResultFrame } from '../../jsonrpc/frame.js'
import { type Members, membersAt } from '../../jsonrpc/members.js'
import { type Edit, NO_EDITS } from '../../jsonrpc/splice.js'
import type { Call } from '../call.js'
import { internalError, notFoundInSession, numberIn, statelessRefusal } from '../error-codes.js'
import { cutFound } from '../member-edits.js'
import { resultMembers, typeNamed } from '../result-type.js'
import { toolFailure } from '../tool-failure.js'
import { wrapping } from '../structured-wrap.js'

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
  const type = typeNamed(frame)
  if (type !== undefined && type !== 'complete') {
    const what = `'${service ?? ''}' has given a result of the type '${type}', which does not pass this proxy`
    return { kind: 'error', error: internalError(what) }
  }
  const members = resultMembers(frame)
  if (members.found.length === 0) return { kind: 'edited', edits: NO_EDITS }
  const structured = isWrapped ? members.named('structuredContent') : undefined
  const edits = [
    ...untyped(members, row.route.to === 'uri'),
    ...(structured === undefined ? NO_EDITS : wrapping(structured.value)),
  ]
  return { kind: 'edited', edits }
}

/** Without the type, the name of the server, and the hints of what is read. */
function untyped(members: Members, isRead: boolean): readonly Edit[] {
  const { found } = members
  const inner = members.inner('_meta')
  const ofServer = inner?.found ?? []
  const meta = inner !== undefined && inner.size === ofServer.length ? members.named('_meta') : undefined
  const cuts = cutFound(found, (member) => {
    if (member.name === 'resultType') return 'result-type'
    if (isRead && (member.name === 'ttlMs' || member.name === 'cacheScope')) return 'cache-hint'
    // Nothing else stands in it.
    return ofServer.length > 0 && member.index === meta?.index ? 'meta' : undefined
  })
  return meta === undefined ? [...cuts, ...cutFound(ofServer, () => 'meta')] : cuts
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
