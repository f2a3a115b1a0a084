// Who shares a process with whom.

import type { Call, ClientPort } from '../../mcp/call.js'
import { type ClientCapabilities, isAskable } from '../../mcp/capabilities.js'
import type { ServerUse } from '../../mcp/eras/crossing.js'
import type { ServerKind } from './context.js'
import type { Isolation } from '../contracts/server-config.js'

/** Who shares the processes of a lane. */
export type Sharing =
  /** Clients that can be asked nothing. */
  | 'plain'
  /** One client. */
  | 'own'
  /** One client that has no session: its calls may be those of several people. */
  | 'guest'
  /** Everybody; what a server asks belongs to the one askable call that runs. */
  | 'shared'

/** Whose processes a lane has. */
export interface LaneScope {
  readonly sharing: Sharing
  /** What its servers are told that clients can do. */
  readonly declared: ClientCapabilities
  /** The request by which its one client has opened its session, where that opens the server too. */
  readonly opening: Call | undefined
  /** The serial of the one client; undefined where several share. */
  readonly client: number | undefined
  /** Whether its processes start with a call, and end when the client has been idle, whatever it follows. */
  readonly startsOnCall: boolean
  /** Resolves when it is known whether clients need processes of their own; undefined when it is, or nobody finds out. */
  readonly eraKnown?: () => Promise<void> | undefined
}

/** Clients that can be asked something have a process of their own, unless the configuration says otherwise. */
export function sharingFor(isolation: Isolation, client: ClientPort): Sharing {
  if (client.opening !== undefined) return 'own'
  const alone = client.isStateless === true ? 'guest' : 'own'
  switch (isolation) {
    case 'session':
      return alone
    case 'shared':
      return 'shared'
    case 'auto':
      return isAskable(client.profile.capabilities) ? alone : 'plain'
  }
}

/** Whether a lane ends with its client. */
export function isOfOne(sharing: Sharing): boolean {
  return sharing === 'own' || sharing === 'guest'
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

/** What clients get of a server that is pooled so. */
export function useOf({ isolation, namesCalls }: Pick<ServerKind, 'isolation' | 'namesCalls'>): ServerUse {
  return { namesCalls, keepsTasks: isolation !== 'shared' }
}

/** Whether a call that waits for its client keeps its process from others: the server would not say which one it asks about. */
export function holdsProcess({ sharing, declared }: LaneScope, namesCalls: boolean): boolean {
  return sharing === 'guest' && !namesCalls && isAskable(declared)
}
