// Opening, keeping and ending a session (MCP, Lifecycle; Utilities: ping, cancellation, progress).

import type {
  ClientNotificationRow,
  RequestRow,
  ServerNotificationRow,
  ServerRequestRow,
} from './method-row.js'

export const requests: readonly RequestRow[] = [
  { method: 'initialize', route: { to: 'proxy' }, askable: false, reads: true },
  { method: 'ping', route: { to: 'proxy' }, askable: false, reads: true },
  // Not MCP, but what clients with a language-server background send.
  { method: 'shutdown', route: { to: 'proxy' }, askable: false },
]

export const clientNotifications: readonly ClientNotificationRow[] = [
  { method: 'notifications/initialized', does: 'initialized' },
  { method: 'notifications/cancelled', does: 'cancel' },
  { method: 'notifications/progress', does: 'progress' },
  { method: 'notifications/exit', does: 'exit' },
  { method: 'exit', does: 'exit' },
]

export const serverRequests: readonly ServerRequestRow[] = [{ method: 'ping', capability: undefined }]

export const serverNotifications: readonly ServerNotificationRow[] = [
  { method: 'notifications/cancelled', does: 'cancel', lists: [] },
  { method: 'notifications/progress', does: 'progress', lists: [] },
]
