// The levels of log messages (MCP, Server utilities: logging).

/** From the least to the most severe (RFC 5424, the names of MCP). */
const logLevels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const

/** How severe a level is, from 0; -1 for what is no level. */
export function severity(level: string | undefined): number {
  return logLevels.findIndex((known) => known === level)
}
