// A connection that ends while its reader is paused.

import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { HttpLink } from '../../src/transports/http-client/link.js'
import { HttpAgent, type HttpAnswer, connectPlain } from '../../src/transports/http1/client.js'
import { rawServer } from './support/raw-server.js'
import { Heard, type Scope, answerOf, bytesOf, target } from './support/scripted.js'
import { send } from './support/sending.js'

const OK = 'HTTP/1.1 200 OK\r\n'
const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`
const event = (params: string): string => `data: {"jsonrpc":"2.0","method":"n","params":${params}}\n\n`

const chunks = `${OK}Transfer-Encoding: chunked\r\n\r\n${chunk('one')}${chunk('two')}${chunk('')}`
const cases = [
  { name: 'in chunks', raw: chunks, whole: 'onetwo' },
  { name: 'with a length', raw: `${OK}Content-Length: 6\r\n\r\nonetwo`, whole: 'onetwo' },
  { name: 'until the end of the connection', raw: `${OK}\r\nonetwo`, whole: 'onetwo' },
]
for (const stopAt of ['head', 'data'] as const)
  for (const { name, raw, whole } of cases)
    test(`an answer is whole whose connection ends during a pause: ${name}, at its ${stopAt}`, async (t) => {
      const url = await serving(t, (socket) => socket.end(raw))
      assert.deepEqual(await readSlowly(t, url, stopAt), { body: whole, end: 'end' })
    })

test('an answer whose reader pauses is told as cut only after what had come', async (t) => {
  const raw = `${OK}Transfer-Encoding: chunked\r\n\r\n${chunk('one')}${chunk('two')}`
  const url = await serving(t, (socket) => socket.end(raw))
  assert.deepEqual(await readSlowly(t, url, 'data'), { body: 'onetwo', end: 'cut' })
})

test('a connection whose sink stops at a message tells no other one', async (t) => {
  const url = await serving(t, (socket, request) => {
    const id = Number(/"id":(\d)/.exec(request)?.[1])
    const events = [1, 2, 3].map((n) => chunk(event(`[${id},${n}]`)))
    const last = chunk(`data: ${answerOf(id)}\n\n`)
    const head = `${OK}Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n`
    socket.write(`${head}${events.join('')}${last}${chunk('')}`)
  })
  const heard = new Heard()
  const agent = new HttpAgent(url, target(url).limits, connectPlain)
  const connection = new HttpLink(target(url), agent)
  t.after(async () => {
    await connection.close()
    agent.destroy()
  })
  let isReading = true
  let unwanted = 0
  const { sink } = heard
  connection.start({
    ...sink,
    message: (line, during) => {
      if (!isReading) unwanted++
      sink.message(line, during)
      if (isReading) connection.read(false)
      isReading = false
    },
  })
  for (const id of [1, 2, 3])
    send(connection, bytesOf(`{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{}}`))
  await heard.until(() => heard.messages.length > 0)
  for (let n = 1; n < 12; n++) {
    await settled()
    isReading = true
    connection.read(true)
    await heard.until(() => heard.messages.length > n)
  }
  assert.equal(heard.messages.length, 12)
  assert.equal(unwanted, 0)
})

/** The bytes for a reader that pauses once, at the head or at the first data, until the connection has ended. */
function readSlowly(t: Scope, url: URL, stopAt: 'head' | 'data'): Promise<{ body: string; end: string }> {
  const limits = { socketsMax: 8, idleSocketMs: 4000 }
  const agent = new HttpAgent(url, limits, connectPlain)
  t.after(() => agent.destroy())
  return new Promise((resolve, reject) => {
    const responded = (answer: HttpAnswer): void => {
      let body = ''
      let isStopped = false
      const stop = (): void => {
        if (isStopped) return
        isStopped = true
        answer.read(false)
        void settled().then(() => answer.read(true))
      }
      answer.reader = {
        data: (bytes) => {
          body += bytes.toString('latin1')
          if (stopAt === 'data') stop()
        },
        end: () => resolve({ body, end: 'end' }),
        cut: () => resolve({ body, end: 'cut' }),
      }
      if (stopAt === 'head') stop()
    }
    agent.request('GET / HTTP/1.1\r\n\r\n', undefined, { responded, failed: reject })
  })
}

async function serving(t: Scope, says: (socket: Socket, request: string) => void): Promise<URL> {
  const { port } = await rawServer(t, (socket) => {
    socket.on('data', (bytes: Buffer) => says(socket, bytes.toString()))
  })
  return new URL(`http://127.0.0.1:${port}/`)
}

/** Lets all bytes on the loopback arrive. */
async function settled(): Promise<void> {
  for (let n = 0; n < 50; n++) await new Promise((resolve) => setImmediate(resolve))
}
