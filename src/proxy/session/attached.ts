// A session as whoever attached it sees it.

import type { Revision } from '../../mcp/revisions/revision.js'
import type { Session } from './session.js'
import type { SessionEnd } from './session-parts.js'

/** One client of the proxy. */
export interface AttachedSession {
  /** The protocol revision that the client speaks: negotiated, or assumed until then. */
  readonly revision: Revision
  /** Resolves when the client begins to leave; what it asked is still being answered. */
  readonly leaving: Promise<void>
  /** Resolves when the client is gone: its end of file, its `exit`, or a broken connection. */
  readonly ended: Promise<SessionEnd>
}

/**
 * The view of one session.
 *
 * A class, since the engine keeps the getters of an object that is written down with the object's hidden class, until the
 * next full collection: with them every session that ever was, and all that it held.
 */
export class Attached implements AttachedSession {
  readonly #session: Session

  constructor(session: Session) {
    this.#session = session
  }

  get leaving(): Promise<void> {
    return this.#session.draining.begun
  }

  get ended(): Promise<SessionEnd> {
    return this.#session.draining.ended
  }

  get revision(): Revision {
    return this.#session.revision
  }
}
