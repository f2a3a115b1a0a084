// The methods that clients offer to servers (MCP, Client features: roots, sampling, elicitation).

import type { ClientNotificationRow, ServerNotificationRow, ServerRequestRow } from './method-row.js'

export const serverRequests: readonly ServerRequestRow[] = [
  { method: 'roots/list', capability: 'roots' },
  { method: 'sampling/createMessage', capability: 'sampling' },
  { method: 'elicitation/create', capability: 'elicitation' },
]

export const clientNotifications: readonly ClientNotificationRow[] = [
  { method: 'notifications/roots/list_changed', does: 'roots-changed' },
]

export const serverNotifications: readonly ServerNotificationRow[] = [
  { method: 'notifications/elicitation/complete', does: 'owner', lists: [] },
]
