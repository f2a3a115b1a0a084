// The questions of servers to a client with a session: requests for sampling, elicitation and roots. Several servers ask
// over one connection, so their ids and progress tokens may clash here as clients' do there, and are lent in the same way.

import type { ErrorBody } from '../../jsonrpc/build.js'
import type { NotificationFrame, RequestFrame, ResponseFrame } from '../../jsonrpc/frame.js'
import { RecentSet } from '../../jsonrpc/inflight.js'
import type { Peer } from '../../jsonrpc/peer.js'
import { canonical, type RequestId } from '../../jsonrpc/request-id.js'
import type { Span } from '../../jsonrpc/scan.js'
import { type Edit, NO_EDITS, writing } from '../../jsonrpc/splice.js'
import { rawAt } from '../../jsonrpc/text.js'
import type { Asker, Questions, ServerQuestion } from '../../calls/call.js'
import { ProgressTokens } from '../../calls/progress-tokens.js'
import { clientGone, methodNotFound } from '../../mcp/error-codes.js'
import type { AttachedClient } from './attached-client.js'

/** An answer that is said again comes soon. */
const USED_MAX = 1024

/** One question: it waits until the client is ready, or is on its way to the client and back. */
export interface Question extends Pick<ServerQuestion, 'asker' | 'over'> {
  readonly id: RequestId
  /** Raw JSON of the server's own progress token. */
  readonly ownToken: string | undefined
  early: ServerQuestion | undefined
  token: string | undefined
  lentId: RequestId | undefined
}

export class SessionQuestions implements Questions {
  readonly #peer: Peer<Question>
  readonly #client: Pick<AttachedClient, 'profile' | 'sent'>
  readonly #earlyMax: number
  readonly #questions = new Set<Question>()
  readonly #tokens = new ProgressTokens<Question>()
  /**
   * Ids with which the client was asked: none is used twice in a session (MCP, Base protocol: requests). Over HTTP a
   * client may say an answer again that it does not know to have arrived, and it must answer no other server's question.
   */
  readonly #used = new RecentSet<RequestId>(USED_MAX)
  /** Questions wait for `initialized`, are asked, or are refused since the client sends nothing any more. */
  #phase: 'early' | 'ready' | 'left' = 'early'

  constructor(peer: Peer<Question>, client: Pick<AttachedClient, 'profile' | 'sent'>, earlyMax: number) {
    this.#peer = peer
    this.#client = client
    this.#earlyMax = earlyMax
  }

  get isReady(): boolean {
    return this.#phase === 'ready'
  }

  /** The client has sent `initialized`: servers may ask it from now on. */
  ready(): void {
    if (this.#phase === 'early') this.#phase = 'ready'
    for (const question of this.#questions) {
      const { early } = question
      if (early !== undefined && !this.#send(early, question))
        this.refused(question, methodNotFound(early.frame.method))
    }
  }

  /**
   * Asks; false when this client's revision has no such question, too many wait, or the client has left. One that comes
   * before the client is ready waits until it is.
   *
   * MCP, Lifecycle: a server sends no request before `initialized`.
   */
  ask(asked: ServerQuestion): boolean {
    const isFull = this.#phase === 'early' && this.#questions.size >= this.#earlyMax
    if (this.#phase === 'left' || isFull) return false
    const { asker, over, frame } = asked
    const ownToken = textAt(frame, frame.params.meta.span('progressToken'))
    const sent = { token: undefined, lentId: undefined }
    const question: Question = { asker, over, id: frame.id, ownToken, early: asked, ...sent }
    // A client that reads too little leaves while it is asked; then the question is refused with all others.
    this.#questions.add(question)
    if (this.#phase !== 'ready' || this.#send(asked, question)) return true
    return !this.#questions.delete(question)
  }

  answered(frame: ResponseFrame, question: Question): void {
    this.#end(question)
    question.asker.answered(frame, question.id)
  }

  refused(question: Question, error: ErrorBody): void {
    this.#end(question)
    question.asker.refused(question.id, error)
  }

  progressed(frame: NotificationFrame): void {
    const span = frame.params.members.span('progressToken')
    const question = this.#tokens.find(textAt(frame, span) ?? '')
    if (question?.ownToken === undefined || span === undefined) return
    const edits = writing(frame.line, span, question.ownToken, 'progress-token')
    question.asker.progressed(frame, edits)
  }

  withdraw(frame: NotificationFrame, asker: Asker): void {
    const span = frame.params.members.span('requestId')
    const id = textAt(frame, span)
    const question = this.#of(asker).find((each) => isSameId(each.id, id))
    if (span === undefined || question === undefined) return
    const lentId = this.#drop(question)
    if (lentId !== undefined)
      this.#peer.pass(frame, writing(frame.line, span, lentId, 'id'), { cancels: lentId })
  }

  owes(asker: Asker): boolean {
    return this.#of(asker).length > 0
  }

  forget(asker: Asker): void {
    for (const question of this.#of(asker)) {
      const lentId = this.#drop(question)
      if (lentId === undefined) continue
      const params = `{"requestId":${lentId},"reason":"the server that asked is gone"}`
      this.#peer.notify('notifications/cancelled', params, { cancels: lentId })
    }
  }

  /**
   * The client sends nothing any more, also no answers, though it may still read those to its own requests. The questions
   * of servers are refused, since other clients may still need these servers.
   */
  left(): void {
    this.#phase = 'left'
    for (const question of this.#questions) {
      if (question.lentId !== undefined) this.#peer.retire(question.lentId)
      this.refused(question, clientGone())
    }
  }

  #of(asker: Asker): Question[] {
    return [...this.#questions].filter((question) => question.asker === asker)
  }

  #send({ frame, edits = NO_EDITS, during }: ServerQuestion, question: Question): boolean {
    if (!this.#client.profile.revision.serverRequests.some((method) => method === frame.method)) return false
    const all = [...edits, ...this.#withToken(frame, question)]
    const id = canonical(frame.id)
    const wasUsed = this.#used.all.has(id)
    this.#used.add(id)
    question.early = undefined
    question.lentId = this.#peer.forward(frame, all, question, true, during?.reply, wasUsed)
    if (question.lentId === undefined) this.#tokens.release(question.token)
    else this.#client.sent()
    return question.lentId !== undefined
  }

  #withToken(frame: RequestFrame, question: Question): readonly Edit[] {
    const span = frame.params.meta.span('progressToken')
    if (span === undefined || question.ownToken === undefined) return []
    question.token = this.#tokens.lend(question.ownToken, question, true)
    return writing(frame.line, span, question.token, 'progress-token')
  }

  #end(question: Question): void {
    this.#questions.delete(question)
    this.#tokens.release(question.token)
    question.over()
  }

  /** Gives the id with which the client was asked. */
  #drop(question: Question): RequestId | undefined {
    this.#questions.delete(question)
    question.over()
    this.#tokens.retire(question.token)
    if (question.lentId !== undefined) this.#peer.retire(question.lentId)
    return question.lentId
  }
}

function textAt(frame: { readonly line: Buffer }, span: Span | undefined): string | undefined {
  return span === undefined ? undefined : rawAt(frame.line, span)
}

function isSameId(id: RequestId, text: string | undefined): boolean {
  return text !== undefined && (id === text || canonical(id) === text)
}
