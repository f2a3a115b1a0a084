// How requests are served by the handshake revisions (MCP 2025-03-26 to 2025-11-25, Transports).

import type { RequestId } from '../jsonrpc/request-id.js'
import { isBadRequest } from '../mcp/error-codes.js'
import type { PostedMessage } from '../transports/http-server/body.js'
import type {
  HttpRevision,
  Judgement,
  RequestJudge,
  SessionClient,
  StatelessJudgement,
} from '../transports/http-server/endpoint.js'
import type { Refusal, Refusals } from '../transports/http-server/refusal.js'
import type { RequestHead } from '../transports/http-server/request-head.js'
import { judgeStateless, namesStateless } from './stateless-judge.js'

/** Sends each message to its session; a message without a session, which opens none, is served alone. */
export class HandshakeJudge implements RequestJudge {
  readonly #refusals: Refusals
  readonly #revisions: readonly HttpRevision[]

  /** `revisions` are those that a client may name. */
  constructor(refusals: Refusals, revisions: readonly HttpRevision[]) {
    this.#refusals = refusals
    this.#revisions = revisions
  }

  isStateless(head: RequestHead): boolean {
    return namesStateless(head)
  }

  judgeStateless(message: PostedMessage): StatelessJudgement | undefined {
    return judgeStateless(message)
  }

  statusOf(code: number): number {
    return isBadRequest(code) ? 400 : 200
  }

  sessionId(head: RequestHead): string | undefined {
    return namesStateless(head) ? undefined : head.get('mcp-session-id')
  }

  refuses(head: RequestHead, client: SessionClient | undefined): Refusal | undefined {
    const version = head.get('mcp-protocol-version')
    if (version === undefined || client?.revision.versionHeader === false) return undefined
    if (this.#named(head) !== undefined) return undefined
    const versions = this.#revisions.map((revision) => revision.version).join(', ')
    const why = `Unsupported protocol version: ${version} (supported versions: ${versions})`
    return this.#refusals.plain(400, why)
  }

  judge(message: PostedMessage, client: SessionClient | undefined): Judgement {
    const { head, frames, isBatch, keys } = message
    const opens = frames.some(opensSession)
    const refusal = isBatch ? this.#refusesBatch(opens, client?.revision ?? this.#named(head)) : undefined
    if (refusal !== undefined) return refusal
    const isDoubled = keys.length > 1 && new Set(keys).size < keys.length
    if (isDoubled || client?.knows(keys) === true)
      return this.#refusals.invalid('a request with this id is being answered already', onlyId(message))
    // Nobody has asked whoever answers so.
    if (client === undefined && frames.some(({ kind }) => kind === 'result' || kind === 'error'))
      return this.#refusals.noSessionId()
    if (opens) return 'opening'
    return this.refuses(head, client) ?? (client === undefined ? 'alone' : 'session')
  }

  #refusesBatch(opens: boolean, revision: HttpRevision | undefined): Refusal | undefined {
    if (opens) return this.#refusals.invalid('initialize must not be part of a batch')
    if (revision?.batching !== false) return undefined
    return this.#refusals.invalid(`protocol version ${revision.version} has no batches`)
  }

  /** The revision that a request names by itself. */
  #named(head: RequestHead): HttpRevision | undefined {
    const version = head.get('mcp-protocol-version')
    return this.#revisions.find((revision) => revision.version === version)
  }
}

/** Whether the message opens a session (MCP, Lifecycle). */
function opensSession(frame: PostedMessage['frames'][number]): boolean {
  return frame.kind === 'request' && frame.method === 'initialize'
}

function onlyId({ frames }: PostedMessage): RequestId | undefined {
  const [only] = frames
  return frames.length === 1 && only?.kind === 'request' ? only.id : undefined
}
