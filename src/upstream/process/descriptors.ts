// Reserves file descriptors for the proxy itself, and for the sessions that it has.
//
// A server takes three of them. When servers have taken the last one, the proxy cannot load what it needs next, accept a
// client, or write its log. So existing sessions are served while new ones are refused: a new session would soon need a
// server. A limit that the system does not report is noticed only when it is reached.

import { readFileSync, readdirSync } from 'node:fs'
import { errorCode } from '../../text/error-text.js'

/** Descriptors that a start needs for a moment, and those that must be left after it, or this share of a small limit. */
const START = 8
const LEFT_MAX = 16
const LEFT_SHARE = 1 / 8

/** From the first on new sessions are refused, from the second on new connections: modules that are loaded later need some. */
const SESSIONS_SHARE = 0.9
const CONNECTIONS_SHARE = 0.95

/** A new session takes no more than this, with the server that is started for it. */
const TAKEN_MAX = 16

const AGAIN_MAX = 64

/** Whether another server may be started. */
export function hasDescriptors(): boolean {
  const max = descriptorLimit()
  return max - takenDescriptors() > START + Math.min(LEFT_MAX, max * LEFT_SHARE)
}

export type DescriptorRoom = 'enough' | 'little' | 'none'

/** Tells how much room there is; the system is asked each time, or now and then while there is plenty. */
export function descriptorRoom(): () => DescriptorRoom {
  const max = descriptorLimit()
  let again = 0
  return () => {
    if (again-- > 0) return 'enough'
    const taken = takenDescriptors()
    again = Math.min(AGAIN_MAX, Math.floor((max * SESSIONS_SHARE - taken) / TAKEN_MAX))
    if (taken >= max * CONNECTIONS_SHARE) return 'none'
    return taken >= max * SESSIONS_SHARE ? 'little' : 'enough'
  }
}

/** The limit of this process; Infinity where the system does not show it. */
function descriptorLimit(): number {
  try {
    const [, max = ''] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1')) ?? []
    return Number.parseInt(max, 10) || Infinity
  } catch {
    return Infinity
  }
}

/** The count of this process: 0 where the system does not show it, Infinity when no descriptor is left to count the others. */
function takenDescriptors(): number {
  try {
    return readdirSync('/dev/fd').length
  } catch (error) {
    return errorCode(error) === 'ENOENT' ? 0 : Infinity
  }
}
