// What the servers of a lane are told that clients can do.

import type { ClientPort } from '../mcp/call.js'
import { type ClientCapabilities, everyCapability, noCapabilities } from '../mcp/capabilities.js'
import type { Sharing } from './lane-parts.js'

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
