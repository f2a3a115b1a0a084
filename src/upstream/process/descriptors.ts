// Reserves file descriptors for the proxy itself, and for the sessions that it has.
//
// A server takes three of them. When servers have taken the last one, the proxy cannot load what it needs next, accept a
// client, or write its log. So existing sessions are served while new ones are refused: a new session would soon need a
// server. A limit that the system does not report is noticed only when it is reached.

import { closeSync, openSync, readFileSync } from 'node:fs'

/** Descriptors that a start needs for a moment. */
const START = 8

/** Descriptors that must be left after it: this many, or this share of a small limit. */
const LEFT_MAX = 16
const LEFT_SHARE = 1 / 8

/**
 * Whether another server may be started. As many as must be free are taken for a
 * moment: the lowest free number does not tell what is taken above it.
 */
export function hasDescriptors(): boolean {
  const spare = START + Math.min(LEFT_MAX, descriptorLimit() * LEFT_SHARE)
  const opened: number[] = []
  try {
    while (opened.length < spare) opened.push(openSync('/dev/null', 'r'))
    return true
  } catch {
    return false
  } finally {
    for (const descriptor of opened) closeSync(descriptor)
  }
}

/** How many this process may have; no end where the system does not tell. */
function descriptorLimit(): number {
  try {
    const [, max = ''] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1')) ?? []
    return Number.parseInt(max, 10) || Infinity
  } catch {
    return Infinity
  }
}

/** From here on new sessions are refused. */
const SESSIONS_SHARE = 0.9

/** From here on new connections are refused: the log and modules that are loaded later need some. */
const CONNECTIONS_SHARE = 0.95

/** A new session takes no more than this, with the server that is started for it. */
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
