import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toLine } from '../../src/jsonrpc/line.js'
import type { Reply } from '../../src/jsonrpc/connection.js'
import { splice } from '../../src/jsonrpc/splice.js'
import { BodyReservation } from '../../src/transports/http-server/body.js'
import { ClientConnection } from '../../src/transports/http-server/client-connection.js'
import { defaultHttpServerLimits } from '../../src/transports/http-server/front-limits.js'
import { RequestHead } from '../../src/transports/http1/head.js'
import { HttpResponse, type ResponseWire } from '../../src/transports/http1/response.js'
import { Recorder } from '../contracts/connection.js'
import { headIn } from './support/sending.js'
import { requestOf } from '../jsonrpc/support/frames.js'

const wire: ResponseWire = {
  unsentBytes: 0,
  begin: () => '',
  write: () => {},
  ended: () => {},
  cut: () => {},
  cutWhenStalled: () => {},
}

const asked = new RequestHead('POST /mcp HTTP/1.1\r\nHost: a', 100)

function closedResponse(): HttpResponse {
  const response = new HttpResponse(wire, asked)
  response.close()
  return response
}

test('whenClosed calls back immediately for a response that is already closed', () => {
  let calls = 0
  closedResponse().whenClosed(() => calls++)
  assert.equal(calls, 1)
})

test('the memory of a body is free once, when its response is closed and its call answered', () => {
  let freed = 0
  const response = new HttpResponse(wire, asked)
  const reservation = new BodyReservation(response, () => freed++)
  reservation.hold()
  response.close()
  assert.equal(freed, 0)
  reservation.release()
  assert.equal(freed, 1)
})

/** A response with so many bytes that the client has not read. */
class Sending implements ResponseWire {
  readonly unsentBytes: number
  readonly response: HttpResponse = new HttpResponse(this, asked)
  isCut = false

  constructor(unsentBytes: number) {
    this.unsentBytes = unsentBytes
  }

  begin(): string {
    return ''
  }

  write(): void {}
  ended(): void {}
  cutWhenStalled(): void {}

  cut(): void {
    this.isCut = true
    this.response.close()
  }
}

/** The shared connection of clients without sessions, or that of one of them. */
function opened(isShared: boolean) {
  const clock = { now: () => 0, setTimer: () => ({ cancel: () => {} }) }
  const environment = {
    ...clock,
    limits: defaultHttpServerLimits,
    newId: () => '',
    wallNow: () => 0,
    room: () => 'enough' as const,
    watch: () => () => undefined,
    warn: () => {},
    failed: () => {},
  }
  const life = { kind: isShared ? 'shared' : 'single' } as const
  const connection = new ClientConnection(environment, life, () => {})
  const gaveUp: Reply[] = []
  const replies: Reply[] = []
  const sink = Object.assign(new Recorder(), {
    gaveUp: (reply: Reply) => gaveUp.push(reply),
    received: (_frame: unknown, _during: unknown, reply?: Reply) => reply && replies.push(reply),
  })
  connection.start(sink)
  const accepts = { json: true, stream: true, prefersStream: false }
  const post = (id: number, response: HttpResponse): void => {
    const frame = requestOf(`{"jsonrpc":"2.0","id":${id},"method":"tools/call"}`)
    const posted = { head: asked, line: frame.line, frames: [frame], isBatch: false, hold: undefined }
    connection.post(posted, response, accepts)
  }
  return { connection, sink, replies, gaveUp, post }
}

test('a request without a session whose client has left before it is served is not executed', () => {
  const { connection, sink, post } = opened(true)
  post(1, closedResponse())
  assert.deepEqual(sink.events, [])
  assert.equal(connection.busy, false)
})

test('a server is not left waiting for a client without a session that has left', async () => {
  const { replies, sink, post } = opened(false)
  const response = new HttpResponse(wire, asked)
  post(1, response)
  response.close()
  const question = toLine('{"jsonrpc":"2.0","id":7,"method":"roots/list"}')
  replies[0]?.tell(splice(question, []), headIn(question))
  await sink.seen('failed')
  assert.deepEqual(sink.events, ['failed 7 TRANSPORT_IO'])
})

test('of clients that share a connection the one that does not read is cut, and only its request is given up', () => {
  const { connection, replies, gaveUp, post } = opened(true)
  const [slow, fast] = [new Sending(5000), new Sending(20)]
  post(1, slow.response)
  post(2, fast.response)
  const progress = toLine('{"jsonrpc":"2.0","method":"notifications/progress"}')
  for (const reply of replies) reply.tell(splice(progress, []), headIn(progress))
  assert.equal(connection.backlogBytes, 5020)
  assert.equal(connection.cutSlowest(), 5000)
  assert.deepEqual([slow.isCut, fast.isCut, gaveUp], [true, false, replies.slice(0, 1)])
  assert.equal(connection.busy, true)
})

test('the client of a session cannot be cut in part', () => {
  const { connection, replies, post } = opened(false)
  const slow = new Sending(5000)
  post(1, slow.response)
  const progress = toLine('{"jsonrpc":"2.0","method":"notifications/progress"}')
  replies[0]?.tell(splice(progress, []), headIn(progress))
  assert.equal(connection.cutSlowest(), 0)
  assert.equal(slow.isCut, false)
})
