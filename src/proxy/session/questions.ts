// Requests of servers to one client: sampling, elicitation, roots.
//
// Several servers ask over one connection, so their ids and progress tokens may
// clash here as clients' do there, and are lent in the same way.

import type { ErrorBody } from '../../jsonrpc/build.js'
import type { NotificationFrame, RequestFrame, ResponseFrame } from '../../jsonrpc/frame.js'
import { writing } from '../../jsonrpc/id-edit.js'
import type { Peer } from '../../jsonrpc/peer.js'
import { type RequestId, canonical } from '../../jsonrpc/request-id.js'
import type { Span } from '../../jsonrpc/scan.js'
import type { Edit } from '../../jsonrpc/splice.js'
import { rawAt } from '../../jsonrpc/text.js'
import type { Asker, ClientProfile, ServerQuestion } from '../../mcp/call.js'
import { ProgressTokens } from '../../mcp/progress-tokens.js'

/** One question on its way to the client and back. */
export class Question {
  readonly asker: Asker
  /** The server's own id. */
  readonly id: RequestId
  /** Raw JSON of the server's own progress token. */
  readonly ownToken: string | undefined
  /** Lets the time of the calls go on that it may be about. */
  readonly over: () => void
  /** What the client knows that token as. */
  token: string | undefined
  /** What the client knows the question as. */
  lentId: RequestId | undefined

  constructor({ asker, frame, over }: ServerQuestion) {
    this.asker = asker
    this.over = over
    this.id = frame.id
    this.ownToken = textAt(frame, frame.params.meta.span('progressToken'))
  }
}

/** The questions that wait for one client. */
export class Questions {
  readonly #peer: Peer<Question>
  readonly #tokens = new ProgressTokens<Question>()

  constructor(peer: Peer<Question>) {
    this.#peer = peer
  }

  /** Asks; false when this client's revision has no such question, or too many wait. */
  ask(asked: ServerQuestion, profile: ClientProfile): boolean {
    const { frame, during } = asked
    if (!profile.revision.serverRequests.some((method) => method === frame.method)) return false
    const question = new Question(asked)
    const edits = this.#withToken(frame, question)
    question.lentId = this.#peer.forward(frame, edits, question, true, during?.frame.id)
    if (question.lentId === undefined) this.#tokens.release(question.token)
    return question.lentId !== undefined
  }

  /** The client has answered. */
  answered(frame: ResponseFrame, question: Question): void {
    this.#end(question)
    question.asker.answered(frame, question.id)
  }

  /** The client will not answer, or its answer cannot be passed on. */
  refused(question: Question, error: ErrorBody): void {
    this.#end(question)
    question.asker.refused(question.id, error)
  }

  /** The client is at work on a question. */
  progressed(frame: NotificationFrame): void {
    const span = frame.params.members.span('progressToken')
    const question = this.#tokens.find(textAt(frame, span) ?? '')
    if (question?.ownToken === undefined || span === undefined) return
    const edits = writing(frame.line, span, question.ownToken, 'progress-token')
    question.asker.progressed(frame, edits)
  }

  /** A server takes a question back. */
  withdraw(frame: NotificationFrame, asker: Asker): void {
    const span = frame.params.members.span('requestId')
    const id = textAt(frame, span)
    for (const question of this.#of(asker)) {
      if (span === undefined || !isSameId(question.id, id) || question.lentId === undefined) continue
      this.#drop(question)
      return this.#peer.pass(frame, writing(frame.line, span, question.lentId, 'id'), {
        cancels: question.lentId,
      })
    }
  }

  /** Whether this server waits for an answer. */
  isOpen(asker: Asker): boolean {
    return this.#of(asker).length > 0
  }

  /** A server is gone: nobody will read the answers to what it asked. */
  forget(asker: Asker): void {
    for (const question of this.#of(asker)) {
      this.#drop(question)
      const reason = '"the server that asked is gone"'
      const params = `{"requestId":${question.lentId},"reason":${reason}}`
      this.#peer.notify('notifications/cancelled', params, { cancels: question.lentId })
    }
  }

  #of(asker: Asker): Question[] {
    return [...this.#peer.waiting()].filter((question) => question.asker === asker)
  }

  #end(question: Question): void {
    this.#tokens.release(question.token)
    question.over()
  }

  #drop(question: Question): void {
    question.over()
    this.#tokens.retire(question.token)
    if (question.lentId !== undefined) this.#peer.retire(question.lentId)
  }

  #withToken(frame: RequestFrame, question: Question): readonly Edit[] {
    const span = frame.params.meta.span('progressToken')
    if (span === undefined || question.ownToken === undefined) return []
    question.token = this.#tokens.lend(question.ownToken, question, true)
    return writing(frame.line, span, question.token, 'progress-token')
  }
}

function textAt(frame: { readonly line: Buffer }, span: Span | undefined): string | undefined {
  return span === undefined ? undefined : rawAt(frame.line, span)
}

function isSameId(id: RequestId, text: string | undefined): boolean {
  return text !== undefined && (id === text || canonical(id) === text)
}
