// The answer of a server to `initialize` (MCP 2024-11-05 to 2025-11-25, Lifecycle).

import type { ResultFrame } from '../../jsonrpc/frame.js'
import { type Members, membersAt } from '../../jsonrpc/members.js'
import type { Revision } from '../revisions/revision.js'
import { handshakeRevision } from '../revisions.js'

/** The members of the result; undefined when it is no object. */
export function handshakeMembers({ line, result }: ResultFrame): Members | undefined {
  return membersAt(line, result)
}

/** The revision that the server has chosen; undefined when the proxy does not know it. */
export function chosenRevision(members: Members | undefined): Revision | undefined {
  return handshakeRevision(members?.string('protocolVersion'))
}
