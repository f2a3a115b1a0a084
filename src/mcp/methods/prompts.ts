// Prompts (MCP, Server features: prompts).

import type { RequestRow, ServerNotificationRow } from './method-row.js'

export const requests: readonly RequestRow[] = [
  { method: 'prompts/list', route: { to: 'merge', list: 'prompts' }, askable: false, reads: true },
  { method: 'prompts/get', route: { to: 'name', list: 'prompts' }, askable: true, reads: true },
]

export const serverNotifications: readonly ServerNotificationRow[] = [
  { method: 'notifications/prompts/list_changed', does: 'list-changed', lists: ['prompts'] },
]
