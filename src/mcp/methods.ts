// All methods, with their senders and their destinations.

import type { NotificationFrame } from '../jsonrpc/frame.js'
import { canonicalAt, type RequestId } from '../jsonrpc/request-id.js'

/** The lists that the proxy merges from its servers. */
export type ListKind = 'tools' | 'prompts' | 'resources' | 'templates'

type RequestRoute =
  | { readonly to: 'proxy' }
  /** Merged from all servers. */
  | { readonly to: 'merge'; readonly list: ListKind }
  /** To the server that listed `params.name`. */
  | { readonly to: 'name'; readonly list: 'tools' | 'prompts' }
  /** To the server whose resource or template matches `params.uri`. */
  | { readonly to: 'uri' }
  /** To the server that listed the prompt or template that `params.ref` names. */
  | { readonly to: 'reference' }
  /** To the server that runs the task `params.taskId`. */
  | { readonly to: 'task' }
  /** Merged from all servers that run tasks of the client. */
  | { readonly to: 'tasks' }
  /** To the only server, if it announces an extension that may define the method. */
  | { readonly to: 'extension' }

/** The member of the params that names the target of a request, by destination. */
export const namingMembers: Readonly<Partial<Record<RequestRoute['to'], 'name' | 'uri' | 'taskId'>>> = {
  name: 'name',
  uri: 'uri',
  task: 'taskId',
}

export interface RequestRow extends NamedRow {
  readonly route: RequestRoute
  /** Whether the server may send requests to the client while it handles this one. */
  readonly isAskable: boolean
  /** Whether the request only reads, so that the proxy may repeat it if a server ends before its answer. */
  readonly isReadOnly?: boolean
  /** Whether the request stays open until the client or the proxy ends it. */
  readonly staysOpen?: boolean
  /** Whether the client subscribes to changes of a resource or a task (true), or unsubscribes (false). */
  readonly subscribes?: boolean
}

export interface ClientNotificationRow extends NamedRow {
  readonly does: 'initialized' | 'cancel' | 'progress' | 'news' | 'exit'
}

export interface ServerRequestRow extends NamedRow {
  /** The capability of the client that answers; undefined if the proxy answers. */
  readonly capability: 'roots' | 'sampling' | 'elicitation' | undefined
}

export interface ServerNotificationRow extends NamedRow {
  readonly does: 'cancel' | 'progress' | 'log' | 'list-changed' | 'updated' | 'owner' | 'task'
  readonly lists: readonly ListKind[]
}

interface NamedRow {
  readonly method: string
}

type MethodTable<R extends NamedRow> = ReadonlyMap<string, R>

function methodTable<R extends NamedRow>(rows: readonly R[]): MethodTable<R> {
  return new Map(rows.map((row) => [row.method, row]))
}

// Server features: tools, prompts, resources with their templates; utilities: completion.
const features: readonly RequestRow[] = [
  { method: 'tools/list', route: { to: 'merge', list: 'tools' }, isAskable: false, isReadOnly: true },
  { method: 'tools/call', route: { to: 'name', list: 'tools' }, isAskable: true },
  { method: 'prompts/list', route: { to: 'merge', list: 'prompts' }, isAskable: false, isReadOnly: true },
  { method: 'prompts/get', route: { to: 'name', list: 'prompts' }, isAskable: true, isReadOnly: true },
  { method: 'resources/list', route: { to: 'merge', list: 'resources' }, isAskable: false, isReadOnly: true },
  {
    method: 'resources/templates/list',
    route: { to: 'merge', list: 'templates' },
    isAskable: false,
    isReadOnly: true,
  },
  { method: 'resources/read', route: { to: 'uri' }, isAskable: true, isReadOnly: true },
  { method: 'completion/complete', route: { to: 'reference' }, isAskable: false, isReadOnly: true },
]

/** The members of the filter of `subscriptions/listen` that name resources, or tasks (an extension). */
export const topicKinds = ['resourceSubscriptions', 'taskIds'] as const

/** A resource or a task that a client follows, with the member of the filter that names it. */
export interface Topic {
  readonly kind: (typeof topicKinds)[number]
  readonly name: string
}

/** The requests that begin and end a subscription to a topic, and the member that names the topic. */
interface Followable {
  readonly member: string
  readonly begins: RequestRow
  readonly ends: RequestRow
}

export const followables: Readonly<Record<Topic['kind'], Followable>> = {
  resourceSubscriptions: {
    member: 'uri',
    begins: { method: 'resources/subscribe', route: { to: 'uri' }, isAskable: false, subscribes: true },
    ends: { method: 'resources/unsubscribe', route: { to: 'uri' }, isAskable: false, subscribes: false },
  },
  // Internal to the proxy: no client sends these requests, and no server gets them.
  taskIds: {
    member: 'taskId',
    begins: { method: 'tasks/subscribe', route: { to: 'task' }, isAskable: false, subscribes: true },
    ends: { method: 'tasks/unsubscribe', route: { to: 'task' }, isAskable: false, subscribes: false },
  },
}

export const requests: MethodTable<RequestRow> = methodTable<RequestRow>([
  ...features,
  // Lifecycle; Utilities: ping.
  { method: 'initialize', route: { to: 'proxy' }, isAskable: false, isReadOnly: true },
  { method: 'ping', route: { to: 'proxy' }, isAskable: false, isReadOnly: true },
  // Not part of MCP; clients with a language-server background send it.
  { method: 'shutdown', route: { to: 'proxy' }, isAskable: false },
  // Resources: subscriptions; Utilities: logging.
  followables.resourceSubscriptions.begins,
  followables.resourceSubscriptions.ends,
  { method: 'logging/setLevel', route: { to: 'proxy' }, isAskable: false },
  // Utilities: tasks.
  { method: 'tasks/get', route: { to: 'task' }, isAskable: false },
  // The server sends its requests about the task while a client waits for the result.
  { method: 'tasks/result', route: { to: 'task' }, isAskable: true },
  { method: 'tasks/cancel', route: { to: 'task' }, isAskable: false },
  { method: 'tasks/list', route: { to: 'tasks' }, isAskable: false },
])

export const statelessRequests: MethodTable<RequestRow> = methodTable<RequestRow>([
  // Versioning: discovery.
  { method: 'server/discover', route: { to: 'proxy' }, isAskable: false, isReadOnly: true },
  // Utilities: subscriptions.
  { method: 'subscriptions/listen', route: { to: 'proxy' }, isAskable: false, staysOpen: true },
  ...features,
  // The extension Tasks.
  { method: 'tasks/get', route: { to: 'task' }, isAskable: false, isReadOnly: true },
  { method: 'tasks/update', route: { to: 'task' }, isAskable: false },
  { method: 'tasks/cancel', route: { to: 'task' }, isAskable: false },
])

/**
 * The row of a method that an extension may define; undefined for a method of the protocol itself.
 * MCP 2026-07-28, Extensions.
 */
export function extensionRow(method: string): RequestRow | undefined {
  if (requests.has(method) || statelessRequests.has(method)) return undefined
  return { method, route: { to: 'extension' }, isAskable: false }
}

export const clientNotifications: MethodTable<ClientNotificationRow> = methodTable<ClientNotificationRow>([
  // Lifecycle; Utilities: cancellation, progress.
  { method: 'notifications/initialized', does: 'initialized' },
  { method: 'notifications/cancelled', does: 'cancel' },
  { method: 'notifications/progress', does: 'progress' },
  { method: 'notifications/exit', does: 'exit' },
  { method: 'exit', does: 'exit' },
  // Client features: roots.
  { method: 'notifications/roots/list_changed', does: 'news' },
])

export const serverRequests: MethodTable<ServerRequestRow> = methodTable<ServerRequestRow>([
  // Utilities: ping.
  { method: 'ping', capability: undefined },
  // Client features: roots, sampling, elicitation.
  { method: 'roots/list', capability: 'roots' },
  { method: 'sampling/createMessage', capability: 'sampling' },
  { method: 'elicitation/create', capability: 'elicitation' },
])

export const serverNotifications: MethodTable<ServerNotificationRow> = methodTable<ServerNotificationRow>([
  // Utilities: cancellation, progress.
  { method: 'notifications/cancelled', does: 'cancel', lists: [] },
  { method: 'notifications/progress', does: 'progress', lists: [] },
  // Server features: tools, prompts, resources.
  { method: 'notifications/tools/list_changed', does: 'list-changed', lists: ['tools'] },
  { method: 'notifications/prompts/list_changed', does: 'list-changed', lists: ['prompts'] },
  {
    method: 'notifications/resources/list_changed',
    does: 'list-changed',
    lists: ['resources', 'templates'],
  },
  { method: 'notifications/resources/updated', does: 'updated', lists: [] },
  // Server utilities: logging. Client features: elicitation.
  { method: 'notifications/message', does: 'log', lists: [] },
  { method: 'notifications/elicitation/complete', does: 'owner', lists: [] },
  // Utilities: tasks. The extension Tasks.
  { method: 'notifications/tasks/status', does: 'task', lists: [] },
  { method: 'notifications/tasks', does: 'task', lists: [] },
])

// The levels of log messages (MCP, Server utilities: logging).

/** From the least to the most severe (RFC 5424, the names of MCP). */
const logLevels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const

/** The severity of a level, from 0; -1 for an unknown level. */
export function severity(level: string | undefined): number {
  return logLevels.findIndex((known) => known === level)
}

/** The canonical id of the request that `notifications/cancelled` names (MCP, Utilities: cancellation). */
export function cancelledId({ line, params }: NotificationFrame): RequestId | undefined {
  const span = params.members.span('requestId')
  return span && canonicalAt(line, span.start, span.end)
}
