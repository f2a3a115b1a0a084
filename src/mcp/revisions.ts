// The revisions that the proxy speaks, oldest first: those that are negotiated by handshake, and those that every request names.

import type { Revision } from './revisions/revision.js'
import { first, fourth, second, third } from './revisions/handshake.js'
import { fifth } from './revisions/stateless.js'

export const handshakeRevisions: readonly Revision[] = [first, second, third, fourth]

/** What is offered to servers, and to clients that ask for something unknown. */
export const latestHandshake: Revision = fourth

/** What a client speaks that never said (MCP 2025-06-18, Transports: protocol version header). */
export const assumedRevision: Revision = second

export function handshakeRevision(version: string | undefined): Revision | undefined {
  return handshakeRevisions.find((revision) => revision.version === version)
}

export const statelessRevisions: readonly Revision[] = [fifth]

export const latestStateless: Revision = fifth

export function statelessRevision(version: string): Revision | undefined {
  return statelessRevisions.find((revision) => revision.version === version)
}
