// How results and errors look in each era (MCP 2026-07-28, Overview: results, errors).

import { at, numberAt, textAt } from './json.js'
import type { Entry, Ledger } from './ledger.js'

/** Results that a client may keep. */
const kept = (method: string): boolean => method.endsWith('/list') || method === 'resources/read'

/** Requests during which a server may ask. */
const asking: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read'])

/** A result says its type to whoever has no session, and to nobody else. */
export function formed(ledger: Ledger, { root, method, nonce }: Entry, result: unknown, text: string): void {
  const type = at(result, 'resultType')
  const isAsked = type === 'input_required'
  const isStateless = type === 'complete' || (isAsked && asking.has(method) && isWhole(result))
  const isHinted =
    isAsked ||
    !kept(method) ||
    (numberAt(result, 'ttlMs') !== undefined && textAt(result, 'cacheScope') !== undefined)
  if (root === undefined ? type !== undefined : !isStateless || !isHinted)
    ledger.fail('wrong-form', `${nonce} (${method}) was answered ${text}`)
}

/** There is something to answer where anything is asked, or else a state to come back with. */
function isWhole(result: unknown): boolean {
  const asked = at(result, 'inputRequests')
  if (asked === undefined) return textAt(result, 'requestState') !== undefined
  return typeof asked === 'object' && asked !== null && Object.keys(asked).length > 0
}

const reserved: readonly number[] = [-32020, -32021, -32022]

/** Codes that the stateless revision does not know never get to its clients. */
export function knownError(ledger: Ledger, code: number | undefined, text: string): void {
  const isUnknown = code === undefined || (code <= -32020 && code >= -32099 && !reserved.includes(code))
  if (isUnknown || code === -32002) ledger.fail('wrong-form', `an error without a session is ${text}`)
}
