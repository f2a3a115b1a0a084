// Which clients share a process, and which capabilities are declared to it.

import type { ClientPort } from '../../mcp/call.js'
import {
  type ClientCapabilities,
  everyCapability,
  isAskable,
  noCapabilities,
} from '../../mcp/capabilities.js'
import type { Sharing } from './lane-parts.js'
import type { Isolation } from '../contracts/server-config.js'

/** `client` is the first of the lane, and the only one where it is its own. */
export function declaredFor(sharing: Sharing, client: ClientPort): ClientCapabilities {
  switch (sharing) {
    case 'plain':
      return noCapabilities
    case 'own':
      return client.profile.capabilities
    case 'shared':
      return everyCapability
  }
}

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
