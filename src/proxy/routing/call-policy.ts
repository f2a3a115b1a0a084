// Decides whether a call of a tool may go to its server.

import type { Edit } from '../../jsonrpc/splice.js'
import type { Call } from '../../calls/call.js'
import type { Target } from './catalog.js'

/** The seam for limits and confirmations; every route to a tool passes it, under any name. */
export interface CallPolicy {
  /**
   * Calls `go`, now or later, when the call may go to its server. Otherwise the policy settles the call.
   *
   * `edits` are those that the call gets on its way. The call comes here once more when a reload has replaced its server.
   */
  admit(call: Call, target: Target, edits: readonly Edit[], go: () => void): void
  /** A client is shown these tools. */
  shown(targets: readonly Target[]): void
}
