// The requests of servers to a client with a session: sampling, elicitation and roots.
// Several servers ask over one connection, so their ids and progress tokens may clash, and the proxy replaces them.

import type { ErrorBody } from '../../jsonrpc/build.js'
import type { NotificationFrame, ResponseFrame } from '../../jsonrpc/frame.js'
import type { Peer } from '../../jsonrpc/peer.js'
import { canonical, canonicalAt, type RequestId } from '../../jsonrpc/request-id.js'
import type { Span } from '../../jsonrpc/scan.js'
import { NO_EDITS, writing } from '../../jsonrpc/splice.js'
import { rawAt } from '../../jsonrpc/text.js'
import type { Asker, Questions, ServerQuestion } from '../../calls/call.js'
import { clientGone, methodNotFound } from '../../mcp/error-codes.js'
import type { AttachedClient } from './attached-client.js'

/** One request of a server, which waits until the client is ready, or for the client's answer. */
export interface Question extends Pick<ServerQuestion, 'asker' | 'onEnd'> {
  readonly id: RequestId
  /** Raw JSON of the server's own progress token. */
  readonly ownToken: string | undefined
  early: ServerQuestion | undefined
  /** The id of the request to the client. No other question has it (MCP, Base protocol: requests). */
  sentId: RequestId | undefined
}

export class SessionQuestions implements Questions {
  readonly #peer: Peer<Question>
  readonly #client: Pick<AttachedClient, 'profile' | 'sent'>
  readonly #earlyMax: number
  readonly #questions = new Set<Question>()
  /** Questions wait (`early`), then the proxy sends them (`ready`), or refuses them because the client has `left`. */
  #phase: 'early' | 'ready' | 'left' = 'early'

  constructor(peer: Peer<Question>, client: Pick<AttachedClient, 'profile' | 'sent'>, earlyMax: number) {
    this.#peer = peer
    this.#client = client
    this.#earlyMax = earlyMax
  }

  get isReady(): boolean {
    return this.#phase === 'ready'
  }

  /** Called after `initialized`: servers may send requests to the client from now on. */
  ready(): void {
    if (this.#phase === 'early') this.#phase = 'ready'
    for (const question of this.#questions) {
      const { early } = question
      if (early !== undefined && !this.#send(early, question))
        this.refused(question, methodNotFound(early.frame.method))
    }
  }

  /**
   * Sends a question to the client. False if the client's revision has no such request, too many questions
   * wait, or the client has left. A question that arrives before the client is ready waits.
   *
   * MCP, Lifecycle: a server sends no request before `initialized`.
   */
  ask(asked: ServerQuestion): boolean {
    const isFull = this.#phase === 'early' && this.#questions.size >= this.#earlyMax
    if (this.#phase === 'left' || isFull) return false
    const { asker, onEnd, frame } = asked
    const ownToken = textAt(frame, frame.params.meta.span('progressToken'))
    const question: Question = { asker, onEnd, id: frame.id, ownToken, early: asked, sentId: undefined }
    // Add the question first: `left` must refuse it if the client is too slow and is disconnected meanwhile.
    this.#questions.add(question)
    if (this.#phase !== 'ready' || this.#send(asked, question)) return true
    return !this.#questions.delete(question)
  }

  answered(frame: ResponseFrame, question: Question): void {
    this.#end(question)
    question.asker.onAnswer(frame, question.id)
  }

  refused(question: Question, error: ErrorBody): void {
    this.#end(question)
    question.asker.onRefusal(question.id, error)
  }

  progressed(frame: NotificationFrame): void {
    const span = frame.params.members.span('progressToken')
    const id = span && canonicalAt(frame.line, span.start, span.end)
    const question = id && this.#peer.entry(id)
    if (question?.ownToken === undefined || span === undefined) return
    const edits = writing(frame.line, span, question.ownToken, 'progress-token')
    question.asker.onProgress(frame, edits)
  }

  withdraw(frame: NotificationFrame, asker: Asker): void {
    const span = frame.params.members.span('requestId')
    const id = textAt(frame, span)
    const question = this.#of(asker).find((each) => isSameId(each.id, id))
    if (span === undefined || question === undefined) return
    const sentId = this.#drop(question)
    if (sentId !== undefined)
      this.#peer.pass(frame, writing(frame.line, span, sentId, 'id'), { cancels: sentId })
  }

  isAwaitedBy(asker: Asker): boolean {
    return this.#of(asker).length > 0
  }

  forget(asker: Asker): void {
    for (const question of this.#of(asker)) {
      const sentId = this.#drop(question)
      if (sentId === undefined) continue
      const params = `{"requestId":${sentId},"reason":"the server that asked is gone"}`
      this.#peer.notify('notifications/cancelled', params, { cancels: sentId })
    }
  }

  /**
   * Called when the client sends nothing any more, not even answers. It may still read the answers to its
   * requests. The proxy refuses the servers' questions, because other clients may still need these servers.
   */
  refuseAll(): void {
    this.#phase = 'left'
    for (const question of this.#questions) {
      if (question.sentId !== undefined) this.#peer.retire(question.sentId)
      this.refused(question, clientGone())
    }
  }

  #of(asker: Asker): Question[] {
    return [...this.#questions].filter((question) => question.asker === asker)
  }

  #send({ frame, edits = NO_EDITS, during }: ServerQuestion, question: Question): boolean {
    if (!this.#client.profile.revision.serverRequests.some((method) => method === frame.method)) return false
    question.early = undefined
    question.sentId = this.#peer.forward(frame, edits, question, during?.reply)
    if (question.sentId !== undefined) this.#client.sent()
    return question.sentId !== undefined
  }

  #end(question: Question): void {
    this.#questions.delete(question)
    question.onEnd()
  }

  /** Returns the id of the request to the client; undefined if it was not sent. */
  #drop(question: Question): RequestId | undefined {
    this.#questions.delete(question)
    question.onEnd()
    if (question.sentId !== undefined) this.#peer.retire(question.sentId)
    return question.sentId
  }
}

function textAt(frame: { readonly line: Buffer }, span: Span | undefined): string | undefined {
  return span === undefined ? undefined : rawAt(frame.line, span)
}

function isSameId(id: RequestId, text: string | undefined): boolean {
  return text !== undefined && (id === text || canonical(id) === text)
}
