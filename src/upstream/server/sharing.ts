// Who shares a process with whom.

import type { ClientPort } from '../../mcp/call.js'
import { type ClientCapabilities, isAskable } from '../../mcp/capabilities.js'
import type { ServerUse } from '../../mcp/eras/crossing.js'
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

interface PooledUse {
  readonly isolation: Isolation
  readonly namesCalls: boolean
}

/** What clients get of a server that is pooled so. */
export function useOf({ isolation, namesCalls }: PooledUse): ServerUse {
  return { namesCalls, keepsTasks: isolation !== 'shared' }
}

/** Whose processes a lane has, and whether its server says which call it asks about. */
interface Shared {
  readonly sharing: Sharing
  readonly declared: ClientCapabilities
  readonly namesCalls: boolean
}

/** Whether a call that waits for its client keeps its process from others: the server would not say which one it asks about. */
export function holdsProcess({ sharing, declared, namesCalls }: Shared): boolean {
  return sharing === 'guest' && !namesCalls && isAskable(declared)
}
