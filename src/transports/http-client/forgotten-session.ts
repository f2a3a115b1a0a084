// Whether a server has refused a request because it no longer knows the session.
//
// The protocol uses status 404 for this. Many servers answer 400 with a text, and some answer 200 with an
// error. Such a request was not executed, so the next session sends it again. The answer of a tool may have
// the same status and mention sessions, and must not count as such a refusal.

import type { MessageHead } from '../../jsonrpc/connection.js'
import type { ErrorFrame } from '../../jsonrpc/frame.js'
import { membersAt } from '../../jsonrpc/members.js'
import { rawAt } from '../../jsonrpc/text.js'
import { refusesRequest } from '../../mcp/error-codes.js'
import { requests } from '../../mcp/methods.js'
import type { HttpSession } from './http-session.js'

const unknownSession = /no valid session|session (?:not found|expired)|invalid session|unknown session/i

interface RefusedRequest {
  readonly status: number
  readonly error: ErrorFrame | undefined
  readonly body?: string
}

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

function saysNoSession({ line, error }: ErrorFrame, status: number): boolean {
  const members = membersAt(line, error)
  const code = members?.span('code')
  if (code === undefined || !refusesRequest(Number(rawAt(line, code)), status)) return false
  return (status === 404 ? /session/i : unknownSession).test(members?.string('message') ?? '')
}

const METHODS_MAX = 100

/**
 * Refusals by one server, in all its sessions, that may be an answer or may mean that the session is lost.
 *
 * A server may answer 404 to a list that it does not know. If the next session gets the same refusal, the
 * refusal is the answer. Otherwise each such call would cost a session.
 */
export class DoubtfulRefusals {
  /** The session in which a method was refused last, and whether the session before it got the same refusal. */
  readonly #refused = new Map<string, { readonly session: object; readonly isAnswer: boolean }>()

  /** Whether this refusal is about the request, and not about the session. */
  isAnswer(method: string, session: object): boolean {
    const last = this.#refused.get(method)
    if (last?.session === session) return last.isAnswer
    if (this.#refused.size >= METHODS_MAX) this.#refused.clear()
    this.#refused.set(method, { session, isAnswer: last !== undefined })
    return last !== undefined
  }

  /** Forgets the refusals of a method, because the server has answered it with a result. */
  onResult(method: string | undefined): void {
    if (this.#refused.size > 0 && method !== undefined) this.#refused.delete(method)
  }
}
