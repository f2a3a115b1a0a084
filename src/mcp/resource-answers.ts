// What the answer to a request for a resource says.

import { membersAt } from '../jsonrpc/members.js'
import { parse, rawAt } from '../jsonrpc/text.js'
import type { Outcome } from './call.js'
import { saysResourceNotFound } from './error-codes.js'

/** Whether the server has no such resource. */
export function isNotFound(outcome: Outcome): boolean {
  if (outcome.kind !== 'answered' || outcome.frame.kind !== 'error') return false
  const { line, error } = outcome.frame
  const code = membersAt(line, error)?.span('code')
  return code !== undefined && saysResourceNotFound(Number(parse(rawAt(line, code))))
}
