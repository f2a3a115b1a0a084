// The link of calls in flight, as they see it.

import type { Traffic } from '../../jsonrpc/connection.js'
import type { ResponseFrame } from '../../jsonrpc/frame.js'
import type { Peer } from '../../jsonrpc/peer.js'
import type { Edit } from '../../jsonrpc/splice.js'
import type { Call, ClientPort } from '../../mcp/call.js'
import type { Outdated, ServerLeg } from '../../mcp/eras/leg.js'
import type { UpstreamError } from '../contracts/errors.js'
import type { InflightCall } from './inflight-call.js'

/** What the calls of one link need of it. */
export interface InflightCallsOwner {
  readonly peer: Peer<InflightCall>
  readonly leg: Pick<ServerLeg, 'speech'>
  /** Of the connection, where it counts. */
  readonly traffic: Traffic | undefined
  /** Its clients; the ids and tokens of one alone may stay as they are. */
  readonly audience: { readonly only: ClientPort | undefined }
  /** Hears of each call that has ended, so that its slot is free. */
  readonly member: {
    ended(call: Call): void
    /** Takes a call for the link that is there then. */
    call(call: Call, edits: readonly Edit[]): void
  }
  /** Finds out anew what the server has, or what it speaks. */
  readonly renew: (what: Outdated['what']) => Promise<void>
  /** Takes over a request that begins or ends to follow something, where the server has none such; whether it has. */
  follows(call: Call): boolean
  /** Why the peer takes no call. */
  refusal(): UpstreamError
  timedOut(): void
  /** Whether the server answers anything within its time. */
  isAlive(): Promise<boolean>
  /** Takes back a call for the next connection. */
  again(call: Call, edits: readonly Edit[]): void
  /** Asks something of the proxy's own; `params` is raw JSON. @throws UpstreamError */
  ask(method: string, params: string): Promise<ResponseFrame>
}
