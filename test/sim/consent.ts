// Calls of tools that require the consent of the user, in a third of the seeds.

import { textAt } from './json.js'
import type { Plan } from './plan.js'

export const CAREFUL = 'careful'

/** How users answer the question of the proxy. `never` does not answer. */
const consents = ['accept', 'accept', 'decline', 'cancel', 'never'] as const
type Consent = (typeof consents)[number]

/** In every third seed each server has such a tool. */
export function withConsent(plan: Plan): Plan {
  if (plan.seed % 3 !== 1) return plan
  return { ...plan, servers: plan.servers.map((server) => ({ ...server, confirms: true })) }
}

export const isCareful = (nonce: string): boolean => countIn(nonce) % 3 === 0

export function consentTo(nonce: string): Consent {
  return consents[countIn(nonce) % consents.length] ?? 'accept'
}

/** Whether the proxy itself asks the question. */
export function isConsent(question: unknown): boolean {
  return (
    textAt(question, 'params', 'message')?.startsWith(`Allow this call of the tool '${CAREFUL}'`) === true
  )
}

const countIn = (nonce: string): number => Number(nonce.split('-')[1] ?? 0)
