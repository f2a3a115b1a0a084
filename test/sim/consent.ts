// Calls of tools to which the user of the client must agree first, in a share of the seeds.

import { textAt } from './json.js'
import type { Plan } from './plan.js'

/** The tool of a server that needs consent. */
export const CAREFUL = 'careful'

/** What users say to the question of the proxy; `never` leaves it without an answer. */
const consents = ['accept', 'accept', 'decline', 'cancel', 'never'] as const
type Consent = (typeof consents)[number]

/** The plan of a seed; in every third one each server has such a tool. */
export function withConsent(plan: Plan): Plan {
  if (plan.seed % 3 !== 1) return plan
  return { ...plan, servers: plan.servers.map((server) => ({ ...server, confirms: true })) }
}

/** Whether the call with this nonce is one of that tool, where its server has it. */
export function isCareful(nonce: string): boolean {
  return countIn(nonce) % 3 === 0
}

/** What the user says about this call. */
export function consentTo(nonce: string): Consent {
  return consents[countIn(nonce) % consents.length] ?? 'accept'
}

/** Whether the question is the proxy's own. */
export function isConsent(question: unknown): boolean {
  return (
    textAt(question, 'params', 'message')?.startsWith(`Allow this call of the tool '${CAREFUL}'`) === true
  )
}

function countIn(nonce: string): number {
  return Number(nonce.split('-')[1] ?? 0)
}
