// Descriptors are left for the proxy itself.
//
// A server takes three of them. When servers have taken the last one, the proxy
// cannot load what it needs next, accept a client, or write its log.

import { closeSync, openSync } from 'node:fs'

/** What a start needs at once, and what must be left after it. */
const SPARE = 8 + 16

/** A new descriptor gets the lowest free number: below this one, no limit that a system has is near. */
const NEAR = 64

/** Whether another server may be started. */
export function hasDescriptors(): boolean {
  const opened: number[] = []
  try {
    do opened.push(openSync('/dev/null', 'r'))
    while ((opened[0] ?? 0) >= NEAR && opened.length < SPARE)
    return true
  } catch {
    return false
  } finally {
    for (const descriptor of opened) closeSync(descriptor)
  }
}
