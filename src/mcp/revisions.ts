// The revisions that are negotiated by handshake, oldest first.

import type { Revision } from './revisions/revision.js'
import { revision as first } from './revisions/2024-11-05.js'
import { revision as second } from './revisions/2025-03-26.js'
import { revision as third } from './revisions/2025-06-18.js'
import { revision as fourth } from './revisions/2025-11-25.js'

export const handshakeRevisions: readonly Revision[] = [first, second, third, fourth]

/** What is offered to servers, and to clients that ask for something unknown. */
export const latestHandshake: Revision = fourth

/** What a client speaks that never said (MCP 2025-06-18, Transports: protocol version header). */
export const assumedRevision: Revision = second

export function handshakeRevision(version: string | undefined): Revision | undefined {
  return handshakeRevisions.find((revision) => revision.version === version)
}
