// Which clients share a process.

import type { Call, ClientPort } from '../../calls/call.js'
import { type ClientCapabilities, isAskable } from '../../mcp/capabilities.js'
import type { Isolation } from '../contracts/server-config.js'

/** Which clients share the processes of a lane. */
export type Sharing =
  /** Clients that can be asked nothing. */
  | 'plain'
  /** One client. */
  | 'own'
  /** One client that has no session: its calls may be those of several people. */
  | 'stateless'
  /** Everybody; what a server asks belongs to the one askable call that runs. */
  | 'shared'

/** The clients of a lane, and what its servers know about them. */
export interface LaneScope {
  readonly sharing: Sharing
  readonly declared: ClientCapabilities
  /** The request by which its one client has opened its session, where that opens the server too. */
  readonly opening: Call | undefined
  /** The serial of the one client; undefined where several share. */
  readonly client: number | undefined
  /** The principal of the one client, or of all its clients, where the lane is of one. */
  readonly principal?: string | undefined
  /**
   * Whether its processes start with the first call, and end when the client has been idle, even if it follows
   * resources.
   */
  readonly startsOnCall: boolean
}

/**
 * Clients that can be asked something do not share a process, unless the configuration says otherwise. `isAskable` in
 * `mcp/capabilities.ts` says which capabilities count.
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
 * Whether a task can be its client's own, from the answer of the call that begins it on.
 *
 * It cannot where a server asks while it is at work on the tasks of several clients: nothing but its own word would
 * say which of them a question is about.
 */
export function keepsTasks(sharing: Sharing): boolean {
  return sharing === 'own' || sharing === 'plain'
}

/**
 * Whether a call that waits for its client keeps its process from others: the server would not say which one it asks
 * about.
 */
export function holdsProcess({ sharing, declared }: LaneScope, questionsNameTheirCall: boolean): boolean {
  return sharing === 'stateless' && !questionsNameTheirCall && isAskable(declared)
}
