// Tools (MCP, Server features: tools).

import type { RequestRow, ServerNotificationRow } from './method-row.js'

export const requests: readonly RequestRow[] = [
  { method: 'tools/list', route: { to: 'merge', list: 'tools' }, askable: false, reads: true },
  { method: 'tools/call', route: { to: 'name', list: 'tools' }, askable: true },
]

export const serverNotifications: readonly ServerNotificationRow[] = [
  { method: 'notifications/tools/list_changed', does: 'list-changed', lists: ['tools'] },
]
