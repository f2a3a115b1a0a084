// Whether a server has refused a request because it does not know the session any more.
//
// The protocol has status 404 for it. Many servers answer 400 and words, and some answer 200 with an error. A request that is
// refused so was not executed and is sent to the next session. The answer of a tool must not be mistaken for such a refusal,
// although it may have the same status and mention sessions.

import type { MessageHead } from '../../jsonrpc/connection.js'
import type { ErrorFrame } from '../../jsonrpc/frame.js'
import { membersAt } from '../../jsonrpc/members.js'
import { rawAt } from '../../jsonrpc/text.js'
import { refusesRequest } from '../../mcp/error-codes.js'
import { requests } from '../../mcp/methods.js'
import type { HttpSession } from './http-session.js'

const unknownSession = /no valid session|session (?:not found|expired)|invalid session|unknown session/i

/** A refusal of a request: its status, its body, and the error to the request in it. */
interface RefusedRequest {
  readonly status: number
  readonly error: ErrorFrame | undefined
  readonly body?: string
}

/** Whether the refusal means that the session is forgotten. */
export function forgetsSession(
  session: HttpSession,
  { method }: MessageHead,
  { status, error, body = '' }: RefusedRequest,
): boolean {
  const isPossible = status === 404 || status === 400 || (status === 200 && session.hasServed)
  if (!isPossible || session.id === undefined || method === 'initialize') return false
  const isForgotten =
    error === undefined ? status === 404 || unknownSession.test(body) : saysNoSession(error, status)
  const isDoubtful =
    method !== undefined && (status === 200 || (status === 404 && requests.get(method)?.route.to === 'merge'))
  return isForgotten && !(isDoubtful && session.target.refusals.isAnswer(method, session))
}

/** Whether an error refuses a request because there is no such session. */
function saysNoSession({ line, error }: ErrorFrame, status: number): boolean {
  const members = membersAt(line, error)
  const code = members?.span('code')
  if (code === undefined || !refusesRequest(Number(rawAt(line, code)), status)) return false
  return (status === 404 ? /session/i : unknownSession).test(members?.string('message') ?? '')
}

const METHODS_MAX = 100

/**
 * Refusals by one server, over its sessions, that may be the answer to a request, and may mean that the session is forgotten.
 *
 * A server may answer 404 to a list that it does not know, and 200 with an error about a session of its own. The same refusal in
 * the next session is the answer; taken for a lost session, it would cost a session each time.
 */
export class DoubtfulRefusals {
  /** In which session a method was refused last, and whether the session before it was told the same. */
  readonly #refused = new Map<string, { readonly session: object; readonly isAnswer: boolean }>()

  /** Whether this refusal is about the request, and not about the session that asks. */
  isAnswer(method: string, session: object): boolean {
    const last = this.#refused.get(method)
    if (last?.session === session) return last.isAnswer
    if (this.#refused.size >= METHODS_MAX) this.#refused.clear()
    this.#refused.set(method, { session, isAnswer: last !== undefined })
    return last !== undefined
  }

  /** The server has answered with a result. */
  given(method: string | undefined): void {
    if (this.#refused.size > 0 && method !== undefined) this.#refused.delete(method)
  }
}
