// One call on its way to a server and back.

import type { RequestId } from '../../jsonrpc/request-id.js'
import type { Edit } from '../../jsonrpc/splice.js'
import type { NotificationFrame, ResponseFrame } from '../../jsonrpc/frame.js'
import type { AnswerWaiter } from '../../jsonrpc/peer.js'
import type { Call, CallHolder } from '../../mcp/call.js'

/** Who hears what becomes of a call in flight. */
export interface InflightOwner {
  answered(flight: InflightCall, frame: ResponseFrame): void
  /** Nobody wants the answer any more. */
  cancelled(flight: InflightCall, frame: NotificationFrame | undefined): void
}

/** The entry of a call in its link. */
export class InflightCall implements CallHolder, AnswerWaiter {
  readonly #owner: InflightOwner
  readonly call: Call
  /** What it was to be sent with, should it have to be sent again. */
  readonly edits: readonly Edit[]
  /** By how much its deadline was put off, since the proxy did not run. */
  graceMs = 0
  wasSent = false
  /** Its client is asked about it, or was. */
  isPaused = false
  /** Which of the messages to this server it is, where they are counted. */
  nth: number | undefined
  /** The id that the server knows it by. */
  id: RequestId
  /** The server is being asked on its account whether it is alive. */
  isChecked = false
  /** Nobody waits for it any more, and its slot is free. */
  ended = false
  /** Raw JSON of the progress token that the server was given. */
  token: string | undefined
  /** Whether a task has the token now. */
  isHanded = false

  constructor(call: Call, edits: readonly Edit[], owner: InflightOwner) {
    this.#owner = owner
    this.call = call
    this.edits = edits
    this.id = call.frame.id
  }

  answered(frame: ResponseFrame): void {
    this.#owner.answered(this, frame)
  }

  cancel(frame: NotificationFrame | undefined): void {
    this.#owner.cancelled(this, frame)
  }
}
