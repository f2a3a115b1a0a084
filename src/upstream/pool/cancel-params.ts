import type { RequestId } from '../../jsonrpc/request-id.js'
import { quote } from '../../jsonrpc/text.js'

/** The params of `notifications/cancelled`, as raw JSON; `id` is the one that the receiver knows. */
export function cancelParams(id: RequestId, reason: string): string {
  return `{"requestId":${id},"reason":${quote(reason)}}`
}
