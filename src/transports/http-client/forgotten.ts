// Recognises the answer of a server that does not know the session any more.
//
// The protocol has 404 for it, and many servers say it in words with a 400. What is
// refused so was not taken and goes to the next session, so what a tool has answered
// must not be mistaken for it, though it may come with the same status and speak of sessions.

import { membersAt } from '../../jsonrpc/members.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import { rawAt } from '../../jsonrpc/text.js'
import { errorTo } from './failure.js'

const unknownSession = /no valid session|session (?:not found|expired)|invalid session|unknown session/i

/** What was asked, and which error numbers refuse that. */
interface Asked {
  readonly id: RequestId | undefined
  readonly refusesRequest: (code: number) => boolean
}

/** Whether the answer with this status says so. */
export function forgetsSession(status: number, body: string, { id, refusesRequest }: Asked): boolean {
  if (status !== 404 && status !== 400) return false
  const own = errorTo(id, body)
  if (own === undefined) return status === 404 || unknownSession.test(body)
  const members = membersAt(own.line, own.error)
  const code = members?.span('code')
  if (code === undefined || !refusesRequest(Number(rawAt(own.line, code)))) return false
  return (status === 404 ? /session/i : unknownSession).test(members?.string('message') ?? '')
}
