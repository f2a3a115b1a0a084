// The interface by which the layers above decide how a request is served.

import type { HttpRevision } from './endpoint.js'
import type { Posted } from './message.js'
import type { Refusal } from './refusal.js'
import type { RequestHead } from './request-head.js'
import type { RequestId } from '../../jsonrpc/request-id.js'

/** The client of a session, as far as a judge asks. */
export interface SessionClient {
  readonly revision: HttpRevision
  /** Whether one of these requests is being answered already. */
  knows(keys: readonly RequestId[]): boolean
}

/** The message of a POST. */
export interface PostedMessage extends Posted {
  readonly head: RequestHead
  /** Of the requests in it. */
  readonly keys: readonly RequestId[]
}

/**
 * How a message is served: as the first of a session, which is opened where it has none, in the session that it names,
 * or alone, by a client that is gone once it is answered.
 */
export type Judgement = Refusal | 'opening' | 'session' | 'alone'

/** Decides how requests are served. */
export interface RequestJudge {
  /** The session that a request is for; asked before its body is read. */
  sessionId(head: RequestHead): string | undefined
  /** Why a client of a session may not listen, or end its session, with a request that has this head. */
  refuses(head: RequestHead, client: SessionClient): Refusal | undefined
  /** How a message is served; `client` is that of the session it is for. */
  judge(message: PostedMessage, client: SessionClient | undefined): Judgement
}
