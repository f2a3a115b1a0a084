// How the era of a server was found out, for people.

import type { EraEvidence } from '../../mcp/eras/leg.js'

/** Behind the revision that the server speaks. */
export const evidenceInWords: Readonly<Record<EraEvidence, string>> = {
  configured: 'as configured',
  described: 'as it answered server/discover',
  unlisted: 'its answer to server/discover lists no later one',
  refused: 'it refused server/discover',
  silent: 'it did not answer server/discover',
  ended: 'it ended on server/discover',
  kept: 'it did not answer server/discover earlier, or ended on it',
}
