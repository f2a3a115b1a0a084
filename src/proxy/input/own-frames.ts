// Messages of the proxy itself, as frames: the parts that carry questions read frames alone.

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

/** A request as if another program had sent it; `params` is raw JSON. */
export function requestFrame(id: RequestId, method: string, params: string): RequestFrame {
  const frame = readFrame(buildRequest(id, method, params).joined)
  if (frame.kind === 'request') return frame
  throw fault('a request is a request')
}

/** Takes a question back (MCP, Utilities: cancellation). */
export function withdrawalFrame(id: RequestId, reason: string): NotificationFrame {
  const params = `{"requestId":${id},"reason":${quote(reason)}}`
  const frame = readFrame(buildNotification('notifications/cancelled', params).joined)
  if (frame.kind === 'notification') return frame
  throw fault('a withdrawal is a notification')
}

/** A result as if its sender had written it so; `result` is raw JSON. */
export function resultFrame(id: RequestId, result: string): ResultFrame {
  const frame = readFrame(buildResult(id, result).joined)
  if (frame.kind === 'result') return frame
  throw fault('a result is a result')
}
