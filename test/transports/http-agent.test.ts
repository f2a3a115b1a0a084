import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type Socket, connect as netConnect } from 'node:net'
import { describe, test } from 'node:test'
import type { Connect } from '../../src/runtime/runtime.js'
import {
  HttpAgent,
  type HttpAnswer,
  type ClientSocket,
  type ClientSocketUser,
  connectPlain,
} from '../../src/transports/http1/client.js'
import { until } from '../integration/support/waiting.js'
import type { Scope } from './support/http.js'
import { rawServer } from './support/raw-server.js'
import { connect as connectTo, scripted } from './support/scripted.js'

const limits = { socketsMax: 8, idleSocketMs: 4000 }
const answer = (body: string, more = ''): string =>
  `HTTP/1.1 200 OK\r\n${more}Content-Length: ${body.length}\r\n\r\n${body}`

describe('a connection', () => {
  test('is used again, and the one that rested last is used first', async (t) => {
    const { sockets, ask } = await agentAt(t, (socket) => socket.write(answer('x')))
    const [first, second] = [ask(), ask()]
    await Promise.all([first.done, second.done])
    const third = ask()
    await third.done
    assert.equal(sockets.length, 2)
    assert.equal(third.channel, second.channel)
  })

  test('that closes when it was used is not used again', async (t) => {
    const { sockets, ask } = await agentAt(t, (socket) => socket.write(answer('x', 'Connection: close\r\n')))
    await ask().done
    await ask().done
    assert.equal(sockets.length, 2)
  })

  test('that its server has ended without a word gets no request, so that no call is lost on it', async (t) => {
    const ends: Promise<unknown>[] = []
    // Half open on both sides, so that only the agent closes it.
    const halfOpen: Connect = ({ host, port }) => {
      const socket = netConnect({ host, port, allowHalfOpen: true })
      ends.push(once(socket, 'end'))
      return socket
    }
    const { sockets, ask } = await agentAt(t, (socket) => socket.end(answer('x')), {}, { connect: halfOpen })
    for (let count = 1; count <= 3; count++) {
      assert.equal((await ask().done).body, 'x')
      await Promise.all(ends)
      assert.equal(sockets.length, count)
    }
  })

  test('that says something unasked is closed', async (t) => {
    const { sockets, ask } = await agentAt(t, (socket) => socket.write(answer('x')))
    await ask().done
    const closed = closing(sockets[0])
    sockets[0]?.write(answer('poison'))
    await closed
    assert.equal((await ask().done).body, 'x')
    assert.equal(sockets.length, 2)
  })

  test('that rests is closed after its time', async (t) => {
    const { sockets, ask } = await agentAt(t, (socket) => socket.write(answer('x')), { idleSocketMs: 50 })
    await ask().done
    await closing(sockets[0])
  })

  test('is used again though its answer came before the request had left', async (t) => {
    const { sockets, ask } = await agentAt(t, (socket) => socket.write(answer('x')), {}, { reads: false })
    const large = ask({ body: Buffer.alloc(8 * 1024 * 1024) })
    assert.equal((await large.done).body, 'x')
    // A connection takes no other request while a request is still being written.
    const next = ask()
    await next.done
    assert.notEqual(next.channel, large.channel)
    assert.equal(sockets.length, 2)
  })
})

describe('a request', () => {
  test('fails where there are as many connections as there may be', async (t) => {
    const asked: Socket[] = []
    const { sockets, ask } = await agentAt(t, (socket) => void asked.push(socket), { socketsMax: 1 })
    const first = ask()
    await assert.rejects(ask().done, /all 1 connections to it are in use/)
    await until(() => asked.length === 1)
    asked[0]?.write(answer('x'))
    assert.equal((await first.done).body, 'x')
    assert.equal(sockets.length, 1)
  })

  test('given up later than its answer leaves the connection to the next', async (t) => {
    const { ask } = await agentAt(t, (socket) => setTimeout(() => socket.write(answer('x')), 20))
    const first = ask()
    await first.done
    const second = ask()
    assert.equal(second.channel, first.channel)
    first.channel?.leave(first.user)
    assert.equal((await second.done).body, 'x')
  })

  test('with a header that would be two is refused', async (t) => {
    const { seen, url } = await scripted(t, (_seen, response) => void response.writeHead(204).end())
    for (const [name, value] of [
      ['X', 'a\r\nY: b'],
      ['X\r\nY', 'a'],
    ] as const) {
      const { heard, request } = connectTo(t, url, { headers: { [name]: value }, retries: 0 })
      request(1, 'work')
      await heard.until(() => heard.failures.length === 1)
      const { code, message } = heard.failures[0]?.error ?? {}
      assert.equal(code, 'TRANSPORT_UNREACHABLE')
      assert.match(message ?? '', /is no name of a header|has characters that cannot be sent/)
    }
    assert.equal(seen.length, 0)
  })

  test('arrives as it was given, short or long', async (t) => {
    let came = ''
    const { ask } = await agentAt(t, (socket, bytes) => {
      came += bytes.toString('latin1')
      if (came.endsWith('!')) socket.write(answer('x'))
    })
    for (const length of [0, 1, 16 * 1024, 16 * 1024 + 1, 300_000]) {
      came = ''
      await ask({ body: Buffer.from(`${'b'.repeat(length)}!`) }).done
      assert.equal(came, `${HEAD}${'b'.repeat(length)}!`)
    }
  })
})

const HEAD = 'POST /p?q HTTP/1.1\r\nX: y\r\n\r\n'

interface Ask {
  readonly body?: Buffer
}

async function agentAt(
  t: Scope,
  asked: (socket: Socket, bytes: Buffer) => unknown,
  more: Partial<typeof limits> = {},
  { reads = true, connect = connectPlain }: { readonly reads?: boolean; readonly connect?: Connect } = {},
) {
  const { server, port, sockets } = await rawServer(
    t,
    (socket) =>
      socket.on('data', (bytes: Buffer) => {
        if (!reads && bytes.length > 1000) socket.pause()
        asked(socket, bytes)
      }),
    connect !== connectPlain,
  )
  const url = new URL(`http://127.0.0.1:${port}/p?q`)
  const agent = new HttpAgent(url, { ...limits, ...more }, connect)
  t.after(() => agent.destroy())
  return { agent, server, sockets, ask: (what: Ask = {}) => asking(agent, what) }
}

function asking(agent: HttpAgent, { body }: Ask) {
  let channel: ClientSocket | undefined
  let reading: Pick<ClientSocketUser, 'responded' | 'failed'> | undefined
  const user: ClientSocketUser = {
    responded: (from) => reading?.responded(from),
    failed: (error) => reading?.failed(error),
  }
  const done = new Promise<Read>((resolve, reject) => {
    reading = { responded: (from) => read(from, resolve), failed: reject }
    channel = agent.request(HEAD, body, user)
  })
  return { user, channel, done }
}

interface Read {
  readonly status: number
  readonly body: string
}

function read(from: HttpAnswer, done: (read: Read) => void): void {
  const parts: Buffer[] = []
  from.reader = {
    data: (chunk) => parts.push(chunk),
    // The connection becomes free in the next turn.
    end: () => setImmediate(() => done({ status: from.status, body: Buffer.concat(parts).toString() })),
    cut: () => done({ status: from.status, body: '(cut)' }),
  }
}

function closing(socket: Socket | undefined): Promise<void> {
  return new Promise((resolve) => socket?.once('close', () => resolve()))
}
