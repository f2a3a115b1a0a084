// The revisions that are negotiated by handshake, oldest first.

import type { Revision } from './revisions/revision.js'
import { first, fourth, second, third } from './revisions/handshake.js'

export const handshakeRevisions: readonly Revision[] = [first, second, third, fourth]

/** What is offered to servers, and to clients that ask for something unknown. */
export const latestHandshake: Revision = fourth

/** What a client speaks that never said (MCP 2025-06-18, Transports: protocol version header). */
export const assumedRevision: Revision = second

export function handshakeRevision(version: string | undefined): Revision | undefined {
  return handshakeRevisions.find((revision) => revision.version === version)
}
