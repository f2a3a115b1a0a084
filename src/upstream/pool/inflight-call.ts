// One call on its way to a server and back.

import type { RequestId } from '../../jsonrpc/request-id.js'
import type { Edit } from '../../jsonrpc/splice.js'
import type { Call } from '../../mcp/call.js'

/** The entry of a call in its link. */
export class InflightCall {
  readonly call: Call
  /** What it was to be sent with, should it have to be sent again. */
  readonly edits: readonly Edit[]
  /** By how much its deadline was put off, since the proxy did not run. */
  graceMs = 0
  wasSent = false
  /** Which of the messages to this server it is, where they are counted. */
  nth: number | undefined
  /** The id that the server knows it by. */
  id: RequestId
  /** Nobody waits for it any more, and its slot is free. */
  ended = false
  /** Raw JSON of the progress token that the server was given. */
  token: string | undefined

  constructor(call: Call, edits: readonly Edit[]) {
    this.call = call
    this.edits = edits
    this.id = call.frame.id
  }
}
