// Every method of the handshake revisions, by who sends it.

import { MethodTable } from '../jsonrpc/method-table.js'
import type {
  ClientNotificationRow,
  RequestRow,
  ServerNotificationRow,
  ServerRequestRow,
} from './methods/method-row.js'
import * as completion from './methods/completion.js'
import * as lifecycle from './methods/lifecycle.js'
import * as logging from './methods/logging.js'
import * as prompts from './methods/prompts.js'
import * as resources from './methods/resources.js'
import * as client from './methods/client-features.js'
import * as tools from './methods/tools.js'

/** What clients ask. */
export const requests: MethodTable<RequestRow> = new MethodTable([
  lifecycle.requests,
  tools.requests,
  prompts.requests,
  resources.requests,
  completion.requests,
  logging.requests,
])

/** What clients tell. */
export const clientNotifications: MethodTable<ClientNotificationRow> = new MethodTable([
  lifecycle.clientNotifications,
  client.clientNotifications,
])

/** What servers ask. */
export const serverRequests: MethodTable<ServerRequestRow> = new MethodTable([
  lifecycle.serverRequests,
  client.serverRequests,
])

/** What servers tell. */
export const serverNotifications: MethodTable<ServerNotificationRow> = new MethodTable([
  lifecycle.serverNotifications,
  tools.serverNotifications,
  prompts.serverNotifications,
  resources.serverNotifications,
  logging.serverNotifications,
  client.serverNotifications,
])
