// Builds the few messages that the proxy writes itself.

import { Buffer } from 'node:buffer'
import { toLine, toOneLine } from './line.js'
import type { RequestId } from './request-id.js'
import { Message } from './splice.js'
import { quote } from './text.js'

const CLOSING = Buffer.from('}')
const OPENING_BATCH = Buffer.from('[')
const COMMA = Buffer.from(',')
const CLOSING_BATCH = Buffer.from(']')

/** An error object as the proxy sends it; `data` is raw JSON. */
export interface ErrorBody {
  readonly code: number
  readonly message: string
  readonly data?: string | undefined
}

/** Builds a request. `params` is raw JSON. */
export function buildRequest(id: RequestId, method: string, params?: string): Message {
  return oneLine(`{"jsonrpc":"2.0","id":${id},"method":${quote(method)}${paramsMember(params)}}`)
}

/** Builds a notification. `params` is raw JSON. */
export function buildNotification(method: string, params?: string): Message {
  return oneLine(`{"jsonrpc":"2.0","method":${quote(method)}${paramsMember(params)}}`)
}

/** Builds a response. `result` is raw JSON, in one piece or in parts, which are not joined. */
export function buildResult(id: RequestId, result: string | Uint8Array | readonly Uint8Array[]): Message {
  const head = `{"jsonrpc":"2.0","id":${id},"result":`
  if (typeof result === 'string') return oneLine(`${head}${result}}`)
  const parts = result instanceof Uint8Array ? [result] : result
  return new Message([Buffer.from(head), ...parts, toLine(CLOSING)])
}

export function buildBatch(messages: readonly Message[]): Message {
  const parts = messages.flatMap((message, at) => [at === 0 ? OPENING_BATCH : COMMA, ...message.parts])
  return new Message([...parts, toLine(CLOSING_BATCH)])
}

/**
 * Builds an error response.
 *
 * Without an id, JSON-RPC 2.0 section 5 writes `null`. MCP from 2025-11-25 on has no null id, so `orphan:
 * 'omit'` leaves the member out.
 */
export function buildError(
  id: RequestId | undefined,
  error: ErrorBody,
  orphan: 'null' | 'omit' = 'null',
): Message {
  const member = id === undefined && orphan === 'omit' ? '' : `"id":${id ?? 'null'},`
  const data = error.data === undefined ? '' : `,"data":${error.data}`
  return oneLine(
    `{"jsonrpc":"2.0",${member}"error":{"code":${error.code},"message":${quote(error.message)}${data}}}`,
  )
}

function paramsMember(params: string | undefined): string {
  return params === undefined ? '' : `,"params":${params}`
}

/** Raw JSON from another message may contain line breaks. */
function oneLine(text: string): Message {
  return new Message(toOneLine(text))
}
