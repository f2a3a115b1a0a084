/**
 * The JSON-RPC core of mcps-proxy: a validating scanner over bytes, frames, splicing with reasoned edits, ids
 * for each connection, and a peer. It performs no I/O and knows nothing of MCP.
 *
 * @packageDocumentation
 */
export { buildError, buildNotification, buildRequest, buildResult, type ErrorBody } from './build.js'
export type { Connection, MessageHead, Reply, Sink } from './connection.js'
export { FrameError, type FrameErrorCode, TransportError, type TransportErrorCode } from './jsonrpc-errors.js'
export {
  type ErrorFrame,
  type Frame,
  type NotificationFrame,
  type Params,
  type RequestFrame,
  type ResponseFrame,
  type ResultFrame,
  isBatch,
  readFrame,
  splitBatch,
} from './frame.js'
export { Inflight } from './inflight.js'
export { type Line, toLine } from './line.js'
export { type Member, Members, itemsAt, membersAt } from './members.js'
export { type PendingAnswer, Peer, type PeerOptions, type PeerOwner } from './peer.js'
export type { RequestId } from './request-id.js'
export { type MemberSink, Scanner, type Span, scanText } from './scan.js'
export { type Edit, type EditReason, Message, editReasons, splice } from './splice.js'
export type { ForwardEvent, Hop, WireEvent, WireTap } from './wire-tap.js'
