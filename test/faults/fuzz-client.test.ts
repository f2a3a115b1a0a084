// A client that sends almost valid frames over stdio and HTTP. The proxy must not crash or stall, and valid calls
// must be answered.

import { strict as assert } from 'node:assert'
import { connect } from 'node:net'
import { test } from 'node:test'
import { at } from '../integration/support/json.js'
import { itServer } from '../integration/support/programs.js'
import { Random } from '../sim/random.js'
import { clientFrames } from './support/frames.js'
import { fuzzed } from './support/fuzz.js'
import { HttpCaller } from './support/http-caller.js'
import { assertHealthy, isLinux, nonceIn, startUnderTest, times } from './support/under-test.js'

/** The number of frames between two valid calls. */
const FRAMES_EACH = 100
const HTTP_SOCKETS = 8
const servers = { s: itServer() }

test('frames on stdio that are nearly right', { skip: !isLinux }, async (t) => {
  const proxy = startUnderTest(t, '--stdio', servers)
  const { client } = proxy
  const random = new Random(1)
  await client.open()
  await client.call('s__nonce', { n: 'warm' })
  await proxy.facts('reset')
  for (let frames = 0; frames < times(2000); frames += FRAMES_EACH) {
    const batch = Array.from({ length: FRAMES_EACH }, () => fuzzed(clientFrames, random))
    proxy.write(Buffer.from(`${batch.join('\n')}\n`, 'latin1'))
    const nonce = `right-${frames}`
    const { value } = await client.call('s__nonce', { n: nonce }, undefined, nonce)
    assert.equal(nonceIn(value), nonce)
    assert.equal(client.heard.splice(0).filter(({ value: said }) => at(said, 'id') === nonce).length, 1)
  }
  client.assertValid()
  await assertHealthy(proxy)
})

test('frames over HTTP that are nearly right', { skip: !isLinux }, async (t) => {
  const proxy = startUnderTest(t, '--http', servers)
  const port = await proxy.port()
  const [mad, right] = [new HttpCaller(port, HTTP_SOCKETS), new HttpCaller(port)]
  for (const caller of [mad, right]) {
    t.after(() => caller.close())
    await caller.open()
    await caller.call('s__nonce', { n: 'warm' })
  }
  await proxy.facts('reset')
  const random = new Random(1)
  let sent = 0
  const state = { isOver: false }
  const sendAll = async (): Promise<void> => {
    while (sent++ < times(200)) {
      const body = Buffer.from(fuzzed(clientFrames, random), 'latin1')
      // If a frame ends the session of this client, it opens another one.
      if (sent % 20 === 0) await raw(port, body, random)
      else if ((await mad.post(body).catch(() => undefined))?.status === 404) await mad.open()
    }
  }
  const callBeside = async (): Promise<void> => {
    for (let turn = 0; !state.isOver; turn++) {
      const { messages } = await right.call('s__nonce', { n: `right-${turn}` })
      assert.deepEqual(messages.map(nonceIn), [`right-${turn}`])
    }
  }
  const beside = callBeside()
  await Promise.all(Array.from({ length: HTTP_SOCKETS }, sendAll))
  state.isOver = true
  await beside
  await assertHealthy(proxy)
})

const heads: readonly [string, ...string[]] = [
  'POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:$PORT\r\nContent-Type: application/json\r\n',
  'POST /mcp HTTP/1.1\r\nHost: evil.example\r\nContent-Type: application/json\r\n',
  'POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:$PORT\r\nHost: 127.0.0.1:$PORT\r\nContent-Type: text/plain\r\n',
  'GET /mcp HTTP/1.1\r\nHost: 127.0.0.1:$PORT\r\nAccept: text/event-stream\r\nMcp-Session-Id: \xff\r\n',
  'POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:$PORT\r\nTransfer-Encoding: chunked\r\nContent-Type: application/json\r\n',
  'DELETE /mcp HTTP/1.1\r\nHost: 127.0.0.1:$PORT\r\nMcp-Session-Id: x\r\nMcp-Session-Id: y\r\n',
]

/** A socket with a request whose HTTP is wrong too. Resolves when either side has closed it. */
function raw(port: number, body: Buffer, random: Random): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    const length = random.chance(0.8) ? body.length : random.below(1e6)
    const head = random.pick(heads).replaceAll('$PORT', String(port))
    socket.on('error', () => undefined)
    socket.on('close', () => resolve())
    socket.on('data', () => socket.destroy())
    socket.write(Buffer.from(fuzzed([`${head}Content-Length: ${length}\r\n\r\n`], random), 'latin1'))
    socket.write(body)
    socket.setTimeout(20, () => socket.destroy())
  })
}
