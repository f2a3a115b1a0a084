// The leg for one connection to a server, by what its configuration says that it speaks.

import { DetectingServerLeg } from './detecting-server.js'
import type { ServerIdentity } from './legacy-client.js'
import { LegacyServerLeg } from './legacy-server.js'
import type { EraMemory, ServerLeg } from './leg.js'
import { ModernServerLeg } from './modern-server.js'

/** `memory` is the server's; asked and told only where the era is to be found out. */
export function serverLeg(
  identity: ServerIdentity,
  protocol: 'auto' | 'handshake' | 'stateless',
  memory: EraMemory,
): ServerLeg {
  switch (protocol) {
    case 'handshake':
      return new LegacyServerLeg(identity)
    case 'stateless':
      return new ModernServerLeg(identity)
    case 'auto':
      return new DetectingServerLeg(
        {
          legacy: new LegacyServerLeg(identity),
          modern: new ModernServerLeg(identity, () => memory.forgot()),
        },
        memory,
      )
  }
}
