// A server that ends its connections without a word, and answers that nobody can read.

import { strict as assert } from 'node:assert'
import { once } from 'node:events'
import { type Socket, createServer, connect as netConnect } from 'node:net'
import { test } from 'node:test'
import { at, parsed } from '../integration/support/json.js'
import { Redactor } from '../../src/text/redactor.js'
import { HttpClientConnection } from '../../src/transports/http-client/http-client.js'
import { HttpAgent } from '../../src/transports/http-client/agent.js'
import { retryAfterMs } from '../../src/transports/http-client/pause.js'
import { Heard, answerOf, bytesOf, connect, json, scripted, target, testLimits } from './support/scripted.js'
import { send } from './support/sending.js'

test('a connection that its server has ended gets no request, so that no call is lost on it', async (t) => {
  const taken: Socket[] = []
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    taken.push(socket)
    socket.on('error', () => undefined)
    socket.on('data', (chunk: Buffer) => {
      const body = answerOf(at(parsed(chunk.toString().split('\r\n\r\n')[1] ?? ''), 'id'))
      const head = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
      // No `Connection: close`, which would be the word.
      if (!socket.writableEnded) socket.end(head + body)
    })
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.close()
    for (const socket of taken) socket.destroy()
  })
  const url = new URL(`http://127.0.0.1:${String(at(server.address(), 'port'))}/mcp`)
  const ends: Promise<unknown>[] = []
  // Half open, so that nothing but the agent closes it.
  const agent = new HttpAgent(url, testLimits, ({ host, port }) => {
    const socket = netConnect({ host, port, allowHalfOpen: true })
    ends.push(once(socket, 'end'))
    return socket
  })
  t.after(() => agent.destroy())
  const heard = new Heard()
  const connection = new HttpClientConnection(target(url), agent)
  connection.start(heard.sink)
  for (let id = 1; id <= 3; id++) {
    send(connection, bytesOf(`{"jsonrpc":"2.0","id":${id},"method":"work"}`))
    await heard.until(() => heard.messages.length + heard.failures.length === id)
    await Promise.all(ends)
  }
  assert.deepEqual(heard.failures, [])
  assert.equal(taken.length, 3)
  await connection.close()
})

test('a refusal that is compressed is told without its body', async (t) => {
  const server = await scripted(t, (_seen, response) => {
    response.writeHead(500, { 'content-type': 'text/html', 'content-encoding': 'gzip' })
    response.end(Buffer.from('1f8b0800000000000003f348cdc9c95728cf2fca49010085114a0d0b000000', 'hex'))
  })
  const { heard, request } = connect(t, server.url)
  request(1, 'work')
  await heard.until(() => heard.failures.length === 1)
  assert.equal(heard.failures[0]?.error.message, 'it answered HTTP 500')
})

test('an answer that is compressed is told without what only the server and we know', async (t) => {
  const server = await scripted(t, (_seen, response) => {
    response
      .writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'hunter-22-x' })
      .end('{}')
  })
  const { heard, request } = connect(t, server.url, { discretion: new Redactor(['hunter-22-x']) })
  request(1, 'work')
  await heard.until(() => heard.failures.length === 1)
  assert.match(String(heard.failures[0]?.error.message), /compressed \(\[redacted\]\)/)
})

for (const [title, fields] of [
  ['the second of two fields', ['identity', 'gzip']],
  ['the second in a field', ['identity, br']],
] as const)
  test(`a coding is found as ${title}`, async (t) => {
    const server = await scripted(t, (seen, response) => {
      response.setHeader('content-encoding', fields)
      json(response, answerOf(seen.id))
    })
    const { heard, request } = connect(t, server.url)
    request(1, 'work')
    await heard.until(() => heard.failures.length + heard.messages.length === 1)
    assert.match(
      String(heard.failures[0]?.error.message),
      /is compressed \((?:gzip|br)\) although none is asked for/,
    )
  })

const NOW = 'Sun, 22 Nov 2026 09:00:00 GMT'

for (const [header, ms] of [
  ['0', 0],
  ['120', 120_000],
  ['Sun, 22 Nov 2026 09:00:10 GMT', 10_000],
  ['Sunday, 22-Nov-26 09:00:10 GMT', 10_000],
  ['Sun, 22 Nov 2026 08:00:00 GMT', 0],
  ['1.5', undefined],
  ['-1', undefined],
  ['10 s', undefined],
  ['2027', 2_027_000],
  ['soon', undefined],
  ['Sunday', undefined],
] as const)
  for (const [whose, date] of [
    ["the server's", NOW],
    ['ours, since it tells none', undefined],
    ['ours, since it tells nonsense', 'now'],
  ] as const)
    test(`Retry-After: ${header}, by a clock that is ${whose}`, () => {
      const fields: ReadonlyMap<string, string | undefined> = new Map([
        ['retry-after', header],
        ['date', date],
      ])
      // The two clocks differ by a day, so that each is seen to be taken.
      const said = date === NOW ? Date.parse(NOW) + 86_400_000 : Date.parse(NOW)
      assert.equal(retryAfterMs({ get: (name) => fields.get(name) }, { wallNow: () => said }), ms)
    })
