// A client that leaves before its request is served.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readFrame } from '../../src/jsonrpc/frame.js'
import { toLine } from '../../src/jsonrpc/line.js'
import { canonical } from '../../src/jsonrpc/request-id.js'
import { BodyReservation } from '../../src/transports/http-server/body.js'
import { StreamableConnection } from '../../src/transports/http-server/connection.js'
import { defaultHttpServerLimits } from '../../src/transports/http-server/limits.js'
import { RequestHead } from '../../src/transports/http-server/request-head.js'
import { HttpResponse, type ResponseWire } from '../../src/transports/http-server/response.js'
import { Waits } from '../../src/runtime/waits.js'
import { Recorder } from '../contracts/connection.js'

const wire: ResponseWire = {
  unsentBytes: 0,
  begin: () => '',
  write: () => {},
  ended: () => {},
  cut: () => {},
  cutWhenStalled: () => {},
}

function closedResponse(): HttpResponse {
  const response = new HttpResponse(wire, new RequestHead('POST /mcp HTTP/1.1\r\nHost: a', 100))
  response.close()
  return response
}

test('who waits for the end of a response that is closed already is called at once', () => {
  let calls = 0
  closedResponse().whenClosed(() => calls++)
  assert.equal(calls, 1)
})

test('the memory of a body whose client has left is given back once', () => {
  let given = 0
  const hold = new BodyReservation(closedResponse(), () => given++)
  hold.begin()
  hold.end()
  assert.equal(given, 1)
})

test('a request without a session whose client has left before it is served is not executed', () => {
  const clock = { now: () => 0, setTimer: () => ({ cancel: () => {} }) }
  const around = {
    ...clock,
    newId: () => '',
    wallNow: () => 0,
    room: () => 'enough' as const,
    watch: { opened: () => 0, ended: () => {} },
    warn: () => {},
    failed: () => {},
  }
  const limits = defaultHttpServerLimits
  const connection = new StreamableConnection({
    limits,
    around,
    waits: new Waits(250, clock),
    session: undefined,
    stays: true,
    closed: () => {},
  })
  const sink = new Recorder()
  connection.start(sink)
  const frame = readFrame(toLine('{"jsonrpc":"2.0","id":1,"method":"tools/call"}'))
  assert.ok(frame.kind === 'request')
  const message = { keys: [canonical(frame.id)], isBatch: false, hold: undefined }
  const accepts = { json: true, stream: true, prefersStream: false }
  connection.post({ message, response: closedResponse(), opens: false, accepts }, [frame])
  assert.deepEqual(sink.events, [])
  assert.equal(connection.busy, false)
})
