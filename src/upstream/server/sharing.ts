// Decides which clients share a process.

import type { Call, ClientPort } from '../../calls/call.js'
import { type ClientCapabilities, isAskable } from '../../mcp/capabilities.js'
import type { Isolation } from '../contracts/server-config.js'

export type Sharing =
  /** Several clients that servers cannot ask for anything. */
  | 'plain'
  /** One client. */
  | 'own'
  /** One client without a session. Its calls may be those of several people. */
  | 'stateless'
  /** All clients. A request of a server belongs to the one askable call that runs. */
  | 'shared'

/** The clients of a lane, and the facts about them that its servers know. */
export interface LaneScope {
  readonly sharing: Sharing
  readonly declared: ClientCapabilities
  /** The `initialize` of the one client, if it opens the server too. */
  readonly opening: Call | undefined
  /** The serial of the one client; undefined if several clients share the lane. */
  readonly client: number | undefined
  /** The principal of the one client, or of all clients if they must have the same principal. */
  readonly principal?: string | undefined
  /**
   * Whether processes start with the first call, and end when the client is idle even if it follows
   * resources.
   */
  readonly startsOnCall: boolean
}

/**
 * Clients that servers can ask for something do not share a process, unless the configuration says otherwise.
 * `isAskable` in `mcp/capabilities.ts` says which capabilities count.
 */
export function sharingFor(isolation: Isolation, client: ClientPort): Sharing {
  if (client.opening !== undefined) return 'own'
  const alone = client.profile.revision.era === 'stateless' ? 'stateless' : 'own'
  switch (isolation) {
    case 'session':
      return alone
    case 'shared':
      return 'shared'
    case 'auto':
      return isAskable(client.profile.capabilities) ? alone : 'plain'
  }
}

export function isOfOne(sharing: Sharing): boolean {
  return sharing === 'own' || sharing === 'stateless'
}

/**
 * Whether a task can belong to one client, from the answer to its call on.
 *
 * That is impossible if a server may send requests while it works on tasks of several clients: only the
 * server could say which task a request is about.
 */
export function keepsTasks(sharing: Sharing): boolean {
  return sharing === 'own' || sharing === 'plain'
}

/**
 * Whether a call that waits for its client keeps its process from other calls, because a request of the
 * server does not name its call.
 */
export function holdsProcess({ sharing, declared }: LaneScope, questionsNameTheirCall: boolean): boolean {
  return sharing === 'stateless' && !questionsNameTheirCall && isAskable(declared)
}
