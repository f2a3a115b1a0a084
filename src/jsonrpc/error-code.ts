// The number of an error that was written already.

import { readFrame } from './frame.js'
import { membersAt } from './members.js'
import { parse, rawAt } from './text.js'
import { type Wire, joinedWire } from './fast/splice-parts.js'

/** Zero for what is no error. */
export function errorCodeOf(message: Wire): number {
  const frame = readFrame(joinedWire(message))
  const span = frame.kind === 'error' ? membersAt(frame.line, frame.error)?.span('code') : undefined
  return span === undefined ? 0 : Number(parse(rawAt(frame.line, span)))
}
