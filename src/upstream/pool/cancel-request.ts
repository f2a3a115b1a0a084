// The cancel of a request that was sent to a server, in words of the proxy.

import type { Peer } from '../../jsonrpc/peer.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import { quote } from '../../jsonrpc/text.js'
import type { InflightCall } from './inflight-call.js'

/** `id` is the one that the server knows. */
export function cancelRequest(peer: Peer<InflightCall>, id: RequestId, reason: string): void {
  peer.notify('notifications/cancelled', `{"requestId":${id},"reason":${quote(reason)}}`, { cancels: id })
}
