// Refusals over HTTP, and those that are nobody's fault.

import type { ClientInbox } from './client-inbox.js'
import type { Said } from './client-wire.js'
import type { SimFront } from './front.js'
import type { Ledger } from './ledger.js'
import { type Answer, type ClientExchange, entriesOf } from './client-exchange.js'

/** What was said is no message. */
export function isGarbage({ text }: Said): boolean {
  return !/[}\]]$/.test(text)
}

interface Parts {
  readonly front: SimFront
  readonly ledger: Ledger
}

/** The requests of this exchange have no answer but the response. */
export function refuse(
  exchange: ClientExchange,
  answer: Answer,
  { front, ledger }: Parts,
  inbox: ClientInbox | undefined,
): void {
  for (const entry of entriesOf(exchange)) {
    entry.mustSucceed &&= !isCrowded(answer, front) && !(ledger.isDisturbed && answer.status === 503)
    inbox?.refused(entry, `HTTP ${answer.status} ${answer.text}`)
  }
}

/** Others have taken the memory for bodies. */
function isCrowded({ status, text }: Answer, { crowds }: SimFront): boolean {
  return crowds && status === 503 && text.includes('Too many large messages')
}

/** Whether a message that asks for nothing may be refused so. */
export function mayRefuse(said: Said | undefined, { status }: Answer, { front, ledger }: Parts): boolean {
  if (status === 503) return !front.listening || ledger.isDisturbed
  return said !== undefined && isGarbage(said) && (status === 400 || status === 408)
}
