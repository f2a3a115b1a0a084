// Reserves file descriptors for the proxy itself.
//
// A server takes three of them. When servers have taken the last one, the proxy
// cannot load what it needs next, accept a client, or write its log.

import { closeSync, openSync, readFileSync } from 'node:fs'

/** What a start takes for a moment. */
const START = 8

/** What must be left after it: this many, of a small limit this share. */
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
export function descriptorLimit(): number {
  try {
    const [, max = ''] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1')) ?? []
    return Number.parseInt(max, 10) || Infinity
  } catch {
    return Infinity
  }
}
