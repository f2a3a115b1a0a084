// Log messages of servers (MCP, Server utilities: logging).

import type { RequestRow, ServerNotificationRow } from './method-row.js'

export const requests: readonly RequestRow[] = [
  { method: 'logging/setLevel', route: { to: 'proxy' }, askable: false },
]

export const serverNotifications: readonly ServerNotificationRow[] = [
  { method: 'notifications/message', does: 'log', lists: [] },
]

/** From the least to the most severe (RFC 5424, the names of MCP). */
const logLevels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const

/** How severe a level is, from 0; -1 for what is no level. */
export function severity(level: string | undefined): number {
  return logLevels.findIndex((known) => known === level)
}
