// Clients that take too much: time, turns, memory, or a connection for ever.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { Server, type Socket, connect } from 'node:net'
import { Duplex } from 'node:stream'
import { test } from 'node:test'
import { defaultHttpServerLimits } from '../../src/transports/http-server/front-limits.js'
import type { HttpEnvironment } from '../../src/transports/http-server/endpoint.js'
import { FrontListener } from '../../src/transports/http-server/front-listener.js'
import { UnfinishedLine } from '../../src/transports/unfinished-line.js'
import { FakeClock } from '../upstream/support/fake-clock.js'
import { type Scope, front, message, opened, posting, send } from './support/http.js'

/** A connection of a client that is paused. */
function dial(scope: Scope, port: number): Socket {
  const socket = connect(port, '127.0.0.1')
  scope.after(() => void socket.destroy())
  socket.on('error', () => undefined)
  return socket
}

function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once('close', () => resolve()))
}

const page = (port: number): string => `GET /page HTTP/1.1\r\nHost: localhost:${port}\r\n\r\n`

const limits = { headersTimeoutMs: 60, requestTimeoutMs: 60, idleConnectionMs: 60, lateCheckMs: 10 }

test('the connection of a client that sends requests and reads no answer is closed', async (t) => {
  const { port } = await front(t, { limits: { ...limits, stallMs: 60 } })
  const socket = dial(t, port).pause()
  const asks = page(port).repeat(1000)
  const ask = (): void => {
    while (!socket.destroyed && socket.write(asks)) continue
  }
  socket.on('drain', ask)
  ask()
  await closed(socket)
})

/** A front for connections of the test, in simulated time. */
class Bench {
  readonly listening: FrontListener
  readonly failures: unknown[] = []
  readonly warnings: string[] = []
  readonly server: Promise<Server>
  served = 0
  readonly clock = new FakeClock()

  constructor(listen?: HttpEnvironment['listen']) {
    let found: (server: Server) => void
    this.server = new Promise((resolve) => (found = resolve))
    const environment: HttpEnvironment = {
      limits: defaultHttpServerLimits,
      setTimer: this.clock.setTimer.bind(this.clock),
      now: () => this.clock.now(),
      wallNow: () => this.clock.now(),
      listen: (server, host, port) => {
        found(server)
        return listen?.(server, host, port) ?? Promise.resolve(1)
      },
      room: () => 'enough',
      newId: () => '',
      watch: () => () => undefined,
      warn: (message) => this.warnings.push(message),
      failed: (error) => this.failures.push(error),
    }
    this.listening = new FrontListener(
      environment,
      () => false,
      ({ response }) => {
        this.served++
        response.send(200, [], Buffer.from('ok'))
      },
    )
  }

  async come(): Promise<Wire> {
    const wire = new Wire()
    ;(await this.server).emit('connection', wire)
    return wire
  }
}

class Wire extends Duplex {
  said = ''

  override _read(): void {
    // The test pushes the bytes.
  }

  override _write(chunk: Buffer, _: string, done: () => void): void {
    this.said += chunk.toString()
    done()
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

for (const [connections, requests, mostInTurn] of [
  [1, 1000, 100],
  [200, 100, 300],
] as const)
  test(`one turn of the event loop serves a few of ${requests} requests that come at once on ${connections} connections`, async () => {
    const bench = new Bench()
    await bench.listening.listen('', 0)
    const wires = await Promise.all(Array.from({ length: connections }, () => bench.come()))
    for (const wire of wires) wire.push('GET / HTTP/1.1\r\n\r\n'.repeat(requests))
    let most = 0
    for (let turns = 0; turns < 10_000 && bench.served < connections * requests; turns++) {
      const before = bench.served
      await turn()
      most = Math.max(most, bench.served - before)
    }
    assert.ok(most < mostInTurn, String(most))
    for (const { said } of wires) assert.equal(said.match(/HTTP\/1\.1 200 OK/g)?.length, requests)
  })

for (const [sizes, partsMax] of [
  [[1], 100],
  [[1, 3, 1023, 1024, 2, 5000, 700, 1], 400],
] as const)
  test(`pieces of a body of ${sizes.join(', ')} bytes take hardly more memory than their bytes, and stay in order`, () => {
    const body = new UnfinishedLine()
    const text = Buffer.from(Array.from({ length: 200_000 }, (_, i) => i % 251))
    for (let at = 0, i = 0; at < text.length; i++) {
      const end = at + (sizes[i % sizes.length] ?? 1)
      body.add(text.subarray(at, end))
      at = end
    }
    const parts = body.take()
    assert.ok(parts.length < partsMax, String(parts.length))
    assert.deepEqual(Buffer.concat(parts), text)
  })

test('memory for large bodies comes back from clients that leave while their session lets them wait', async (t) => {
  const { port, headers, session } = await opened(t, { limits: { smallBodyBytes: 10, bodiesBytesMax: 500 } })
  session.connection.read?.(false)
  const body = message('echo', 1, { text: 'x'.repeat(200) })
  const asked = posting(port, body, `Mcp-Session-Id: ${headers['mcp-session-id']}\r\n`)
  for (let i = 0; i < 4; i++) {
    const socket = dial(t, port)
    await new Promise<void>((resolve) => socket.write(asked, () => resolve()))
    socket.end()
    await closed(socket.resume())
  }
  session.connection.read?.(true)
  assert.equal((await send(port, { body, headers })).status, 200)
})

test('a front that is stopped before it listens can be closed', async () => {
  const bench = new Bench(
    (server) => new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(1))),
  )
  const listens = bench.listening.listen('127.0.0.1', 0)
  const closed = bench.listening.close(10)
  await listens
  await closed
  assert.equal((await bench.server).listening, false)
})

test('a front goes on when the system has no connection for it, and says so once in a while', async () => {
  const bench = new Bench()
  await bench.listening.listen('', 0)
  const server = await bench.server
  for (let i = 0; i < 3; i++) server.emit('error', new Error(`accept EMFILE ${i}`))
  assert.deepEqual(bench.warnings, ['no connection can be accepted: accept EMFILE 0'])
  bench.clock.advance(60_000)
  server.emit('error', new Error('accept EMFILE 3'))
  assert.equal(bench.warnings.length, 2)
})
