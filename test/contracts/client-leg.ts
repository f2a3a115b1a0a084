// What every leg to a client makes of the end of a call, whatever its era.

import assert from 'node:assert'
import { test } from 'node:test'
import { readFrame } from '../../src/jsonrpc/frame.js'
import { splice, withId } from '../../src/jsonrpc/splice.js'
import { toLine } from '../../src/jsonrpc/line.js'
import { joinedWire } from '../../src/jsonrpc/fast/splice-parts.js'
import type { Outcome } from '../../src/mcp/call.js'
import type { ClientLeg, ClientVoice } from '../../src/mcp/eras/leg.js'
import { callOf } from '../upstream/support/calls.js'

/** Forwards as a peer does, to a client that knows the answer by the id of the call. */
const voice: ClientVoice = {
  answerBytes: (frame, edits, id) => splice(frame.line, withId(edits, frame, id)),
}

function answered(text: string): Outcome {
  const frame = readFrame(toLine(text))
  assert(frame.kind === 'result' || frame.kind === 'error')
  return { kind: 'answered', frame, edits: [], era: 'session' }
}

/** Runs the contract; `newLeg` gives a leg whose client has said nothing yet. */
export function clientLegContract(title: string, newLeg: () => ClientLeg): void {
  const told = (outcome: Outcome, id = '"a"'): string | undefined => {
    const answer = newLeg().answer(callOf(id, 0), outcome, voice)
    if (answer === undefined) return undefined
    const text = joinedWire(answer.message).toString().trimEnd()
    assert.equal(answer.kind, readFrame(toLine(text)).kind)
    return text
  }

  test(`${title}: an answer keeps its bytes and has the client's id`, () => {
    const result = '{ "jsonrpc":"2.0","result":{"content":[ ]},"id":7}'
    assert.equal(told(answered(result)), result.replace('7', '"a"'))
    const error = '{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"no", "data":1}}'
    assert.equal(told(answered(error), '12'), error.replace('7', '12'))
  })

  test(`${title}: a result of the proxy's own is said as it is`, () => {
    const own = { kind: 'result', result: '{"tools":[]}' } as const
    assert.equal(told(own), '{"jsonrpc":"2.0","id":"a","result":{"tools":[]}}')
  })

  test(`${title}: a call that failed is refused with its error`, () => {
    const failed = { kind: 'failed', error: { code: -32603, message: 'gone' } } as const
    assert.equal(told(failed), '{"jsonrpc":"2.0","id":"a","error":{"code":-32603,"message":"gone"}}')
  })

  test(`${title}: who has cancelled is told nothing`, () => {
    assert.equal(told({ kind: 'cancelled' }), undefined)
  })
}
