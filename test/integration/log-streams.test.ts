// A log message whose server names no call: on the stream of a session where several are in progress. On the response of the
// one call that is in progress, it is in `http-transcripts/logging.jsonl`.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { listen } from '../transports/support/http.js'
import { gatewayOf } from './support/gateway.js'
import { at, textAt } from './support/json.js'
import { itServer } from './support/programs.js'
import { ask, call, opened, said } from './support/raw-sessions.js'
import { untilAnswered } from './support/waiting.js'

test('a log message comes on the stream of the session where it may be about another call', async (t) => {
  const gateway = await gatewayOf(t, { mcpServers: { s: itServer() } })
  const headers = await opened(gateway)
  const stream = await listen(gateway.port, headers)
  t.after(() => stream.cut())
  const logged = async (n: string): Promise<string> => {
    const work = { name: 's__work', arguments: { n, ticks: 0, steps: 1, logs: true } }
    const { body } = await ask(gateway, headers, 'tools/call', work)
    assert.doesNotMatch(body, /notifications\/message/)
    return textAt(await stream.having('notifications/message'), 'params', 'data')
  }
  const held = call(gateway, headers, 'hold', { key: 'k' })
  // Requests on several connections have no order.
  await untilAnswered(async () =>
    (await said(gateway, headers, 'tools/call')).some((params) => at(params, 'name') === 'hold'),
  )
  assert.equal(await logged('b'), 'b')
  await call(gateway, headers, 'release', { key: 'k' })
  await held
})
