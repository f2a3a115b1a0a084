// Messages of the proxy itself as frames, because the code that carries questions reads only frames.

import { buildNotification, buildRequest, buildResult } from '../../jsonrpc/build.js'
import { fault } from '../../jsonrpc/jsonrpc-errors.js'
import {
  type NotificationFrame,
  readFrame,
  type RequestFrame,
  type ResultFrame,
} from '../../jsonrpc/frame.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import { quote } from '../../jsonrpc/text.js'

/** Builds a request as if another program had sent it; `params` is raw JSON. */
export function requestFrame(id: RequestId, method: string, params: string): RequestFrame {
  const frame = readFrame(buildRequest(id, method, params).joined)
  if (frame.kind === 'request') return frame
  throw fault('a request is a request')
}

/** Builds the notification that withdraws a question (MCP, Utilities: cancellation). */
export function withdrawalFrame(id: RequestId, reason: string): NotificationFrame {
  const params = `{"requestId":${id},"reason":${quote(reason)}}`
  const frame = readFrame(buildNotification('notifications/cancelled', params).joined)
  if (frame.kind === 'notification') return frame
  throw fault('a withdrawal is a notification')
}

/** Builds a result as if another program had sent it; `result` is raw JSON. */
export function resultFrame(id: RequestId, result: string): ResultFrame {
  const frame = readFrame(buildResult(id, result).joined)
  if (frame.kind === 'result') return frame
  throw fault('a result is a result')
}
