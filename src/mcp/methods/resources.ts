// Resources, their templates and their subscriptions (MCP, Server features: resources).

import type { RequestRow, ServerNotificationRow } from './method-row.js'

export const requests: readonly RequestRow[] = [
  { method: 'resources/list', route: { to: 'merge', list: 'resources' }, askable: false, reads: true },
  {
    method: 'resources/templates/list',
    route: { to: 'merge', list: 'templates' },
    askable: false,
    reads: true,
  },
  { method: 'resources/read', route: { to: 'uri' }, askable: true, reads: true },
  { method: 'resources/subscribe', route: { to: 'uri' }, askable: false, subscribes: true },
  { method: 'resources/unsubscribe', route: { to: 'uri' }, askable: false, subscribes: false },
]

export const serverNotifications: readonly ServerNotificationRow[] = [
  {
    method: 'notifications/resources/list_changed',
    does: 'list-changed',
    lists: ['resources', 'templates'],
  },
  { method: 'notifications/resources/updated', does: 'updated', lists: [] },
]
