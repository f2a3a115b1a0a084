// A client's `initialize` on its way to the one server behind the proxy.

import type { RequestFrame } from '../../jsonrpc/frame.js'
import { Call, type ClientPort, type Outcome } from '../../mcp/call.js'
import { CallDeadline } from '../../mcp/call-deadline.js'
import { shuttingDown } from '../../mcp/error-codes.js'
import type { RequestRow } from '../../mcp/methods/method-row.js'

/** The request that opens a session and a server at once, and what came of it. */
export class PassedOpening {
  readonly call: Call
  #outcome: Outcome = { kind: 'failed', error: shuttingDown() }
  #isRefused = false

  /** `came` is told once, of the server's answer, or of why there is none. */
  constructor(
    frame: RequestFrame,
    row: RequestRow,
    client: ClientPort,
    now: number,
    came: (outcome: Outcome) => void,
  ) {
    this.call = new Call(frame, row, client, new CallDeadline(now), (_call, outcome) => {
      this.#outcome = outcome
      this.#isRefused = outcome.kind !== 'answered' || outcome.frame.kind === 'error'
      came(outcome)
    })
    // Every later session with the server is opened with the same bytes.
    this.call.keep()
  }

  /** What the client is told; that the proxy ends, where nothing has come. */
  get outcome(): Outcome {
    return this.#outcome
  }

  /** Whether the server was not opened, so that the client may try again. */
  get isRefused(): boolean {
    return this.#isRefused
  }
}
