// Reserves file descriptors for the proxy itself, and for its existing sessions.
//
// A server takes three descriptors. Without a free one, the proxy cannot load code, accept a client or write
// its log. So the proxy serves existing sessions and refuses new ones, which would soon need a server. If the
// system does not report the limit, the proxy notices only that it is reached.

import { readFileSync, readdirSync } from 'node:fs'
import { errorCode } from '../../text/error-text.js'

/** A start needs `START` for a moment, and leaves `LEFT_MAX` free, or `LEFT_SHARE` of a small limit. */
const START = 8
const LEFT_MAX = 16
const LEFT_SHARE = 1 / 8

/** The shares from which the proxy refuses sessions and connections. Modules that load later need some. */
const SESSIONS_SHARE = 0.9
const CONNECTIONS_SHARE = 0.95

/** The most descriptors that a new session takes, with the server that starts for it. */
const TAKEN_MAX = 16

const AGAIN_MAX = 64

export function hasDescriptors(): boolean {
  const max = descriptorLimit()
  return max - takenDescriptors() > START + Math.min(LEFT_MAX, max * LEFT_SHARE)
}

export type DescriptorRoom = 'enough' | 'little' | 'none'

/** Returns a function that reports the room. With plenty of room, it asks the system only now and then. */
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

/** The limit of this process; Infinity if the system does not show it. */
function descriptorLimit(): number {
  try {
    const [, max = ''] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1')) ?? []
    return Number.parseInt(max, 10) || Infinity
  } catch {
    return Infinity
  }
}

/** The descriptors of this process: 0 if the system does not show them, Infinity if none is left to count. */
function takenDescriptors(): number {
  try {
    return readdirSync('/dev/fd').length
  } catch (error) {
    return errorCode(error) === 'ENOENT' ? 0 : Infinity
  }
}
