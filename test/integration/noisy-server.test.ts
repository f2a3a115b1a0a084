// A server that says nothing but noise, beside one that is well.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { failure, said } from './support/client.js'
import { textAt } from './support/json.js'
import { libraryProxy } from './support/library.js'
import { itServer } from './support/programs.js'

test('a server that writes a thousand lines of noise is ended, and what waits for it is told why', async (t) => {
  const { attach, log } = await libraryProxy(t, { s: itServer({}, { restartDelay: 1 }), well: itServer() })
  const { client } = await attach()
  await client.open()
  const waiting = client.call('s__never')
  const noisy = client.call('s__junk', { n: 'x', lines: Array.from({ length: 999 }, () => 'Loading...') })
  assert.equal(textAt(said(await noisy), 'n'), 'x', 'less than that is put up with')
  const noise = client.call('s__raw', { lines: Array.from({ length: 1000 }, () => 'Loading...') })
  for (const answer of [await waiting, await noise]) {
    assert.deepEqual(failure(answer), [-32603, 's', 'invalid-answer'])
    assert.match(textAt(answer.value, 'error', 'message'), /1000 lines in a row/)
  }
  assert.equal(textAt(said(await client.call('well__nonce', { n: 'y' })), 'n'), 'y')
  assert.equal(textAt(said(await client.call('s__nonce', { n: 'z' })), 'n'), 'z', 'it comes back')
  assert(log.filter(({ message }) => message.includes('is no JSON-RPC message')).length < 20)
})
