// Argument completion (MCP, Server utilities: completion).

import type { RequestRow } from './method-row.js'

export const requests: readonly RequestRow[] = [
  { method: 'completion/complete', route: { to: 'reference' }, askable: false, reads: true },
]
