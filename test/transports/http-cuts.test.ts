import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { defaultHttpClientLimits } from '../../src/transports/http-client/options.js'
import { answerOf, connect, events, scripted } from './support/scripted.js'

const told = (step: number): string =>
  `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":${step}}}`

function whole(id: unknown): string[] {
  return [
    `id: e1\nretry: 1\ndata: ${told(1)}\n\n`,
    `id: e2\nevent: message\ndata: ${told(2)}\n\n`,
    `id: e3\ndata: ${answerOf(id)}\n\n`,
  ]
}

test('each event comes once, or the call has one error', async (t) => {
  let cutAt = 0
  let callId: unknown
  let calls = 0
  const server = await scripted(t, (seen, response) => {
    const last = seen.headers['last-event-id']
    if (seen.method === 'GET') {
      events(
        response,
        whole(callId)
          .slice(Number(String(last).slice(1)))
          .join(''),
      )
      return void response.end()
    }
    calls++
    callId = seen.id
    const part = whole(seen.id).join('').slice(0, cutAt)
    events(response, '')
    if (part === '') setImmediate(() => response.destroy())
    else response.write(part, () => response.destroy())
  })
  const { heard, request } = connect(t, server.url, {
    limits: { ...defaultHttpClientLimits, reconnectMsMin: 1 },
  })
  // All ids have the same length, so that each cut hits the same place of its stream.
  const firstId = 1000
  const bytes = whole(firstId).join('').length
  const first = whole(firstId)[0]?.length ?? 0
  for (cutAt = 0; cutAt <= bytes; cutAt++) {
    const id = firstId + cutAt
    const [messages, failures] = [heard.messages.length, heard.failures.length]
    request(id, 'work')
    await heard.until(
      () => heard.failures.length > failures || heard.messages.slice(messages).includes(answerOf(id)),
    )
    const isResumed = cutAt >= first
    // A call is not sent twice, so a stream without an event id ends in one error.
    assert.equal(heard.failures.length - failures, isResumed ? 0 : 1, `cut at ${cutAt}`)
    const found = heard.messages.slice(messages)
    assert.deepEqual(found, isResumed ? [told(1), told(2), answerOf(id)] : [], `cut at ${cutAt}`)
  }
  assert.equal(calls, bytes + 1)
  assert.equal(heard.closed, undefined)
})
