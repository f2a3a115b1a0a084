// Refusals over HTTP that are nobody's fault.

import type { Said } from './client-wire.js'
import type { SimFront } from './front.js'
import type { Answer } from './client-exchange.js'

/** What was said is no message. */
export function isGarbage({ text }: Said): boolean {
  return !/[}\]]$/.test(text)
}

/** Others have taken the memory for bodies. */
export function isCrowded({ status, text }: Answer, { crowds }: SimFront): boolean {
  return crowds && status === 503 && text.includes('Too many large messages')
}

/** Whether a message that asks for nothing may be refused so. */
export function mayRefuse(said: Said | undefined, { status }: Answer, { listening }: SimFront): boolean {
  if (status === 503) return !listening
  return said !== undefined && isGarbage(said) && (status === 400 || status === 408)
}
