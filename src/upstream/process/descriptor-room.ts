// How many file descriptors are left for the front.
//
// Existing sessions are served while new ones are refused: a new session would soon need a server, which
// takes three. A limit that the system does not report is noticed only when it is reached.

import { closeSync, openSync } from 'node:fs'
import { descriptorLimit } from './descriptors.js'

/** From here on nobody new gets a session. */
const SESSIONS_SHARE = 0.9

/** From here on nobody new is heard at all: the log and what is loaded later need some. */
const CONNECTIONS_SHARE = 0.95

/** Nobody who is let in takes more than this, with the server that is started for a session. */
const TAKEN_MAX = 16

/** So often at most the last answer is given again. */
const AGAIN_MAX = 64

export type DescriptorRoom = 'enough' | 'little' | 'none'

/** Tells how much room there is; the system is asked each time, or now and then while there is plenty. */
export function descriptorRoom(): () => DescriptorRoom {
  const max = descriptorLimit()
  let again = 0
  return () => {
    if (again-- > 0) return 'enough'
    const lowest = lowestFree() ?? Infinity
    again = Math.min(AGAIN_MAX, Math.floor((max * SESSIONS_SHARE - lowest) / TAKEN_MAX))
    if (lowest >= max * CONNECTIONS_SHARE) return 'none'
    return lowest >= max * SESSIONS_SHARE ? 'little' : 'enough'
  }
}

/** A new descriptor gets the lowest free number, so at least as many are taken. */
function lowestFree(): number | undefined {
  try {
    const descriptor = openSync('/dev/null', 'r')
    closeSync(descriptor)
    return descriptor
  } catch {
    return undefined
  }
}
