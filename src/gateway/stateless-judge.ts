// How messages are served that belong to no session, whatever their heads name.
//
// MCP 2026-07-28, Transports, Streamable HTTP. The faults are looked for in one order, since clients act on the first
// that they are told.

import type { ErrorBody } from '../jsonrpc/build.js'
import type { RequestFrame } from '../jsonrpc/frame.js'
import { headerMismatch, invalidRequest, isMissing } from '../mcp/error-codes.js'
import { claims } from '../mcp/eras/any-client.js'
import { claimFault, claimedVersion, methodFault, versionFault } from '../mcp/eras/request-context.js'
import { mirroredName, textOfField } from '../mcp/mirrored-headers.js'
import { statelessRevision } from '../mcp/revisions.js'
import type { PostedMessage } from '../transports/http-server/body.js'
import type { StatelessJudgement } from '../transports/http-server/endpoint.js'
import type { Refusal } from '../transports/http-server/refusal.js'
import type { RequestHead } from '../transports/http-server/request-head.js'

/** Whether a request names a revision without sessions in its head. */
export function namesStateless(head: RequestHead): boolean {
  const version = head.get('mcp-protocol-version')
  return version !== undefined && statelessRevision(version) !== undefined
}

/** Undefined for a message that says nothing of itself: its session does. */
export function judgeStateless({ head, frames, isBatch }: PostedMessage): StatelessJudgement | undefined {
  const isNamed = namesStateless(head)
  const [frame] = frames
  if (isBatch) {
    const isClaimed = isNamed || frames.some((each) => 'method' in each && claims(each))
    return isClaimed ? refused(invalidRequest('a message that says what it is comes alone')) : undefined
  }
  if (frame?.kind === 'request') {
    if (!claims(frame)) return isNamed ? refused(claimFault(frame), frame) : undefined
    return faultOf(head, frame) ?? 'served'
  }
  if (frame?.kind === 'notification') return isNamed || claims(frame) ? 'ignored' : undefined
  return isNamed ? refused(invalidRequest('a client without a session is asked nothing')) : undefined
}

function faultOf(head: RequestHead, frame: RequestFrame): Refusal | undefined {
  const fault =
    claimFault(frame) ??
    versionMismatch(head, frame, 'named') ??
    versionFault(frame) ??
    versionMismatch(head, frame, 'absent') ??
    methodMismatch(head, frame) ??
    nameMismatch(head, frame) ??
    methodFault(frame)
  return fault && refused(fault, frame)
}

function refused(error: ErrorBody | undefined, frame?: RequestFrame): Refusal {
  const fault = error ?? invalidRequest('it does not say what it is')
  return { status: isMissing(fault.code) ? 404 : 400, error: fault, id: frame?.id, revision: orphans }
}

const orphans = { orphanId: 'omit' } as const

/** A version that is there but another, or one that is not there. */
function versionMismatch(
  head: RequestHead,
  frame: RequestFrame,
  which: 'named' | 'absent',
): ErrorBody | undefined {
  const sent = head.get('mcp-protocol-version')
  if ((sent === undefined) !== (which === 'absent')) return undefined
  return mismatch('MCP-Protocol-Version', sent, claimedVersion(frame))
}

function methodMismatch(head: RequestHead, { method }: RequestFrame): ErrorBody | undefined {
  return mismatch('Mcp-Method', head.get('mcp-method'), method)
}

function nameMismatch(head: RequestHead, frame: RequestFrame): ErrorBody | undefined {
  const name = mirroredName(frame)
  const sent = head.get('mcp-name')
  // A request without a name is refused for that by whoever wants it.
  if (name === undefined || (name.text === undefined && sent === undefined)) return undefined
  return mismatch('Mcp-Name', sent, name.text)
}

function mismatch(name: string, sent: string | undefined, body: string | undefined): ErrorBody | undefined {
  if (sent === undefined) return headerMismatch(`the header field ${name} is missing`)
  const text = textOfField(sent)
  if (text === undefined) return headerMismatch(`the header field ${name} is not encoded as it should be`)
  if (text === body) return undefined
  return headerMismatch(
    `the header field ${name} is '${shown(text)}', and the body has '${shown(body ?? '')}'`,
  )
}

/** What somebody sent is repeated up to here. */
const SHOWN_LENGTH_MAX = 200

function shown(text: string): string {
  return text.slice(0, SHOWN_LENGTH_MAX)
}
