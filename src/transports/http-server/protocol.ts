// The facts about a message in its header fields: the session, the revision, and repeated parts of the body
// (MCP 2025-03-26 to 2025-11-25 and 2026-07-28, Transports, Streamable HTTP).

import type { Message } from '../../jsonrpc/splice.js'
import type { ErrorBody } from '../../jsonrpc/build.js'
import { type RequestFrame, readFrame } from '../../jsonrpc/frame.js'
import {
  headerMismatch,
  invalidRequest,
  isMissing,
  numberOfError,
  retryIn,
  statelessRefusal,
} from '../../mcp/error-codes.js'
import type { PostedMessage } from './body.js'
import type { ClientConnection } from './client-connection.js'
import type { AnswerStatus } from './post-reply.js'
import { isRefusal, type Refusal, refuse, invalid, noSession, noSessionId } from './refusal.js'
import type { RequestHead } from '../http1/server.js'
import { namedVersion, metaFault, methodFault, versionFault } from '../../mcp/eras/request-context.js'
import { mirroredName, textOfField } from '../../mcp/http-headers.js'
import { namesRevision } from '../../mcp/meta-keys.js'
import { statelessRequests } from '../../mcp/methods.js'
import { type Revision, sessionRevision, sessionRevisions, statelessRevision } from '../../mcp/revisions.js'

/** How to serve a message of a revision with sessions: it opens a session, belongs to one, or is a single message. */
type SessionJudgement = Refusal | 'opening' | 'session' | 'alone'

/** How to serve a message without a session. */
type StatelessJudgement = Refusal | 'ignored' | 'stateless'

/** The status and fields of a response whose body is this error, for a message without a session. */
export function statusOf(error: Message): AnswerStatus {
  const frame = readFrame(error.joined)
  if (frame.kind !== 'error') return { status: 200, fields: [] }
  const retry = retryIn(frame)
  if (retry !== undefined) return { status: retry.status, fields: ['retry-after', String(retry.seconds)] }
  const code = numberOfError(frame)
  if (isMissing(code)) return { status: 404, fields: [] }
  return { status: statelessRefusal(code) === undefined ? 200 : 400, fields: [] }
}

/** The id of the session in the head, available before the body is read. */
export function sessionIdIn(head: RequestHead): string | undefined {
  return namesStateless(head) ? undefined : head.fields.get('mcp-session-id')
}

/** Why a request with this head may not listen to a session, or end it. */
export function refusesVersion(head: RequestHead, client: ClientConnection | undefined): Refusal | undefined {
  const version = head.fields.get('mcp-protocol-version')
  if (version === undefined || client?.revision.hasVersionHeader === false) return undefined
  if (namedRevision(head) !== undefined) return undefined
  const versions = sessionRevisions.map((revision) => revision.version).join(', ')
  return refuse(400, `Unsupported protocol version: ${version} (supported versions: ${versions})`)
}

/** Decides how to serve a message. `client` belongs to the session in its head, or says why that is refused. */
export function judge(
  posted: PostedMessage,
  client: ClientConnection | Refusal | undefined,
): SessionJudgement | StatelessJudgement {
  const stateless = judgeStateless(posted)
  if (stateless !== undefined) return stateless
  if (client !== undefined && isRefusal(client)) return client
  // The session may have ended while the body arrived.
  if (client?.open === false) return noSession
  const judgement = judgeInSession(posted, client)
  return typeof judgement === 'object' ? { ...judgement, revision: client?.revision } : judgement
}

function judgeInSession(
  { head, frames, isBatch }: PostedMessage,
  client: ClientConnection | undefined,
): SessionJudgement {
  const opens = frames.some((frame) => frame.kind === 'request' && frame.method === 'initialize')
  if (isBatch) {
    // MCP, Lifecycle.
    if (opens) return invalid('initialize must not be part of a batch')
    const revision = client?.revision ?? namedRevision(head)
    if (revision?.hasBatches === false) return invalid(`protocol version ${revision.version} has no batches`)
  }
  // The proxy has sent no request without a session, so this answers none.
  if (client === undefined && frames.some(({ kind }) => kind === 'result' || kind === 'error'))
    return noSessionId
  if (opens) return 'opening'
  return refusesVersion(head, client) ?? (client === undefined ? 'alone' : 'session')
}

/** The revision that a request names in its head. */
export function namedRevision(head: RequestHead): Revision | undefined {
  const version = head.fields.get('mcp-protocol-version') ?? ''
  return sessionRevision(version) ?? statelessRevision(version)
}

// The rules for messages without a session, even if their heads name one (MCP 2026-07-28, Transports,
// Streamable HTTP). The order of the faults is fixed, because clients act on the first one.

/** Whether the head of a request names a revision without sessions. */
export function namesStateless(head: RequestHead): boolean {
  const version = head.fields.get('mcp-protocol-version')
  return version !== undefined && statelessRevision(version) !== undefined
}

/** Decides how to serve a message without a session; undefined if its session decides. */
function judgeStateless({ head, frames, isBatch }: PostedMessage): StatelessJudgement | undefined {
  const isNamed = namesStateless(head)
  const [frame] = frames
  if (isBatch) {
    const isClaimed = isNamed || frames.some((each) => 'method' in each && namesRevision(each))
    return isClaimed ? refused(invalidRequest('a message that says what it is comes alone')) : undefined
  }
  if (frame?.kind === 'request') {
    if (!namesRevision(frame)) return isNamed ? refused(metaFault(frame), frame) : undefined
    return faultOf(head, frame) ?? 'stateless'
  }
  if (frame?.kind === 'notification') return isNamed || namesRevision(frame) ? 'ignored' : undefined
  return isNamed ? refused(invalidRequest('a client without a session is asked nothing')) : undefined
}

/** Whether the answer to a message without a session lasts as long as its client listens. */
export function staysOpen({ frames: [frame] }: PostedMessage): boolean {
  return frame?.kind === 'request' && statelessRequests.get(frame.method)?.staysOpen === true
}

function faultOf(head: RequestHead, frame: RequestFrame): Refusal | undefined {
  const fault =
    metaFault(frame) ??
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

/** The version in the head is missing, or differs from the version in the body. */
function versionMismatch(
  head: RequestHead,
  frame: RequestFrame,
  which: 'named' | 'absent',
): ErrorBody | undefined {
  const sent = head.fields.get('mcp-protocol-version')
  if ((sent === undefined) !== (which === 'absent')) return undefined
  return mismatch('MCP-Protocol-Version', sent, namedVersion(frame))
}

function methodMismatch(head: RequestHead, { method }: RequestFrame): ErrorBody | undefined {
  return mismatch('Mcp-Method', head.fields.get('mcp-method'), method)
}

function nameMismatch(head: RequestHead, frame: RequestFrame): ErrorBody | undefined {
  const name = mirroredName(frame)
  const sent = head.fields.get('mcp-name')
  // If the method needs a name, another check refuses a request without one.
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

const SHOWN_LENGTH_MAX = 200

function shown(text: string): string {
  return text.slice(0, SHOWN_LENGTH_MAX)
}
