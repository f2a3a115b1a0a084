import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { until } from '../integration/support/waiting.js'
import { both, front, handshake, message, posting } from './support/http.js'

test('an idle session ends, although its client disconnected before the answer', async (t) => {
  let now = 0
  const { port, sessions } = await front(t, {
    now: () => now,
    limits: { answerWaitMs: 100, sessionIdleMs: 1000, sweepMs: 5 },
  })
  const session = await handshake(port)
  const socket = connect(port, '127.0.0.1')
  const fields = `Accept: ${both}\r\nMcp-Session-Id: ${session['mcp-session-id']}\r\n`
  socket.write(posting(port, message('wait', 7), fields))
  const asked = (): boolean =>
    sessions[0]?.received.some((frame) => frame.kind === 'request' && frame.method === 'wait') === true
  await until(asked)
  socket.destroy()
  now = 100
  // Longer than a response stays without header fields.
  await new Promise((resolve) => setTimeout(resolve, 300))
  const call = sessions[0]?.received.findLast((frame) => frame.kind === 'request')
  assert.ok(call?.kind === 'request')
  sessions[0]?.answer(call.id, '"late"')
  now = 5000
  await until(() => sessions[0]?.closed === true)
})
