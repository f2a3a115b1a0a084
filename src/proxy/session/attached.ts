// A session as whoever attached it sees it.

import type { SessionEnd } from './draining.js'
import type { Revision } from '../../mcp/revisions/revision.js'

/** One client of the proxy. */
export interface AttachedSession {
  /** The protocol revision that the client speaks: negotiated, or assumed until then. */
  readonly revision: Revision
  /** Resolves when the client begins to leave; what it asked is still being answered. */
  readonly leaving: Promise<void>
  /** Resolves when the client is gone: its end of file, its `exit`, or a broken connection. */
  readonly ended: Promise<SessionEnd>
}
