// The events of an HTTP front.

import type { Emitter } from './emitter.js'
import type { SessionTransport, SessionWatch } from '../transports/http-server/endpoint.js'

/** A session over HTTP is opened, revived or ended. No event has its id, because the id lets its holder use the session. */
export type SessionEvent = {
  /** The schema that the endpoint serves, by the name of its path. */
  readonly endpoint: string
  /** The number of the session; unique in the front. */
  readonly session: number
  /** Streamable HTTP, or the older HTTP+SSE. */
  readonly transport: SessionTransport
} & (
  | { readonly state: 'opened' }
  /** Another process opened the session, or it was idle for too long, and this process continues it. */
  | { readonly state: 'revived' }
  | {
      /** The client ended the session, it was idle for too long, or the front was closed. */
      readonly state: 'ended'
      /** Milliseconds since the session was opened. */
      readonly ms: number
    }
)

/** The events of a front, by name. */
export interface ServingEvents {
  readonly session: SessionEvent
}

export function sessionWatch(events: Emitter<ServingEvents>): SessionWatch {
  let opened = 0
  return (endpoint, transport, isRevived) => {
    const session = ++opened
    events.emit('session', { endpoint, session, transport, state: isRevived ? 'revived' : 'opened' })
    return (ms) => events.emit('session', { endpoint, session, transport, state: 'ended', ms })
  }
}
