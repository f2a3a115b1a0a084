// What a call has of the memory that was read, once it is answered.

import type { Call, Outcome } from '../../mcp/call.js'

/** Nobody looks at the bytes of the call any more, nor at those of its answer, which is on its way to the client. */
export function spendMemory(call: Call, outcome: Outcome): void {
  // The call of a task is kept with the task. Who has given up, or got an error, says nothing of who reads the call yet.
  if (outcome.kind !== 'answered' || outcome.frame.kind === 'error' || outcome.isTask === true) return
  call.frame.long?.memory?.done()
  outcome.frame.long?.memory?.done()
}
