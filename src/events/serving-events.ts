// The events of an HTTP front.

import type { Emitter } from './emitter.js'
import type { SessionTransport, SessionWatch } from '../transports/http-server/endpoint.js'

/** A session over HTTP is opened, goes on here, or has ended. Its id is in no event, because anyone who has it may use the session. */
export type SessionEvent = {
  /** The schema that is served there, by the name of its path. */
  readonly endpoint: string
  /** Tells the session from all others of the front. */
  readonly session: number
  /** Streamable HTTP, or the older HTTP+SSE. */
  readonly transport: SessionTransport
} & (
  | { readonly state: 'opened' }
  /** A session that another process has opened, or that was idle for too long, goes on. */
  | { readonly state: 'revived' }
  | {
      /** By its client, for want of use, or with the front. */
      readonly state: 'ended'
      /** Milliseconds since it was opened. */
      readonly ms: number
    }
)

/** The events of a front, by their names. */
export interface ServingEvents {
  readonly session: SessionEvent
}

/** Numbers the sessions of a front, and emits their events. */
export function sessionWatch(events: Emitter<ServingEvents>): SessionWatch {
  let opened = 0
  return (endpoint, transport, isRevived) => {
    const session = ++opened
    events.emit('session', { endpoint, session, transport, state: isRevived ? 'revived' : 'opened' })
    return (ms) => events.emit('session', { endpoint, session, transport, state: 'ended', ms })
  }
}
