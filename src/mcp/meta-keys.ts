// The reserved members of `_meta` (MCP 2026-07-28, Overview: `_meta`).

import type { NotificationFrame, RequestFrame } from '../jsonrpc/frame.js'

/** In the `_meta` of every request. */
export const requestMeta = {
  version: 'io.modelcontextprotocol/protocolVersion',
  capabilities: 'io.modelcontextprotocol/clientCapabilities',
  info: 'io.modelcontextprotocol/clientInfo',
  logLevel: 'io.modelcontextprotocol/logLevel',
} as const

export const requestMetaKeys: readonly string[] = Object.values(requestMeta)

/** Whether a message names its revision, valid or not, as stateless messages do. */
export function namesRevision({ params }: RequestFrame | NotificationFrame): boolean {
  return params.metaSpan !== undefined && params.meta.span(requestMeta.version) !== undefined
}

/** In the `_meta` of results. */
export const SERVER_INFO = 'io.modelcontextprotocol/serverInfo'

/** In the `_meta` of every message of a subscription. */
export const SUBSCRIPTION_ID = 'io.modelcontextprotocol/subscriptionId'

/** In the `_meta` of requests and notifications of a server that belong to a task (2025-11-25). */
export const RELATED_TASK = 'io.modelcontextprotocol/related-task'

/** The members of params that a client adds when it repeats a request with its answers. */
export const inputMembers: readonly string[] = ['inputResponses', 'requestState']
