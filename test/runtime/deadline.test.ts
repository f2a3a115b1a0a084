import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { test } from 'node:test'
import { realClock, within } from '../../src/runtime/deadline.js'

test('what has come in time counts, though the loop was too busy to read it', async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  assert(typeof address === 'object' && address !== null)
  const near = connect(address.port, '127.0.0.1')
  const [far] = await once(server, 'connection')
  t.after(() => {
    near.destroy()
    far.destroy()
    server.close()
  })
  near.write('an answer')
  const answer = within(once(far, 'data'), 20, realClock)
  const endsAt = performance.now() + 50
  while (performance.now() < endsAt);
  assert.notEqual(await answer, undefined)
})
