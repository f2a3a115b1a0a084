// Decides whether a call of a tool may go to its server.

import type { Edit } from '../../jsonrpc/splice.js'
import type { Call } from '../../mcp/call.js'
import type { Target } from './catalog.js'

/** The seam for limits and confirmations; every route to a tool passes it, under any name. */
export interface CallPolicy {
  /**
   * Calls `go`, now or later, when the call may go to its server, with edits that the policy adds. Otherwise the policy
   * settles the call.
   */
  admit(call: Call, target: Target, go: (more: readonly Edit[]) => void): void
}

/** The policy in force; there is none unless the configuration has limits or confirmations. */
export interface PolicySource {
  readonly current: CallPolicy | undefined
}
