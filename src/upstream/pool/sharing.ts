// Who shares a process with whom.

import type { ClientPort } from '../../mcp/call.js'
import { isAskable } from '../../mcp/capabilities.js'
import type { Isolation } from '../contracts/server-config.js'

/** Who shares the processes of a lane. */
export type Sharing =
  /** Clients that can be asked nothing. */
  | 'plain'
  /** One client. */
  | 'own'
  /** Everybody; what a server asks belongs to the one askable call that runs. */
  | 'shared'

/** Clients that can be asked something have a process of their own, unless the configuration says otherwise. */
export function sharingFor(isolation: Isolation, client: ClientPort): Sharing {
  if (client.opening !== undefined) return 'own'
  switch (isolation) {
    case 'session':
      return 'own'
    case 'shared':
      return 'shared'
    case 'auto':
      return isAskable(client.profile.capabilities) ? 'own' : 'plain'
  }
}
