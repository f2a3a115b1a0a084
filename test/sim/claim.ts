// What a request says of itself that belongs to no session (MCP 2026-07-28).

import type { Entry } from './ledger.js'
import { askable } from './questions.js'

export type Askable = (typeof askable)[number]

/** What its client does when it is asked something. */
export const returns = [
  /** Comes back with the answers. */
  'answers',
  /** Comes back, and again in the same words. */
  'twice',
  /** Comes back, and again with other answers. */
  'changes',
  /** Comes back with some of the answers, and then with the others. */
  'parts',
  /** Another client comes with its state before it does. */
  'stolen',
  /** Comes with other arguments first. */
  'alters',
  /** Never comes back. */
  'leaves',
] as const

export type Returns = (typeof returns)[number]

export interface Claim {
  readonly can: readonly Askable[]
  /** The first request of the call that it comes back to. */
  readonly root?: Entry
}

const PREFIX = 'io.modelcontextprotocol'

/** Members of `_meta`, behind others. */
export function claimMembers(claim: Claim | undefined): string {
  if (claim === undefined) return ''
  const can = claim.can.map((name) => `"${name}":{}`).join(',')
  return `,"${PREFIX}/protocolVersion":"2026-07-28","${PREFIX}/clientCapabilities":{${can}}`
}
