// The choice between the two HTTP transports is made once, by the first answer.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Connection, Sink } from '../../src/jsonrpc/connection.js'
import { TransportError } from '../../src/jsonrpc/errors.js'
import { toLine } from '../../src/jsonrpc/line.js'
import { readFrame } from '../../src/jsonrpc/frame.js'
import { wireBytes } from '../../src/jsonrpc/splice.js'
import { RemoteConnection } from '../../src/transports/http-client/remote-connection.js'
import { send } from './support/sending.js'

/** A connection whose other end is the test. */
class Scripted implements Connection {
  readonly congested = false
  readonly backlogBytes = 0
  sink: Sink | undefined

  start(sink: Sink): void {
    this.sink = sink
  }

  send(): Promise<void> {
    return Promise.resolve()
  }

  read(): void {}

  close(): Promise<void> {
    return Promise.resolve()
  }
}

const answer = toLine('{"jsonrpc":"2.0","id":1,"result":{}}')
const ways: readonly (readonly [title: string, say: (sink: Sink | undefined) => void])[] = [
  ['short', (sink) => sink?.message(answer)],
  ['read by the transport', (sink) => sink?.received?.(readFrame(answer))],
]

for (const [title, say] of ways) {
  test(`a refusal after a first answer that is ${title} is a refusal and nothing more`, async () => {
    const [newer, older] = [new Scripted(), new Scripted()]
    const auto = new RemoteConnection(Promise.resolve({ connection: newer, older: () => older }))
    const heard: string[] = []
    auto.start({
      message: (line) => heard.push(line.toString()),
      received: ({ line }) => heard.push(line.toString()),
      failed: (_id, error) => heard.push(error.code),
      oversize: () => undefined,
      drained: () => undefined,
      ended: () => undefined,
      closed: () => undefined,
    })
    send(auto, wireBytes(toLine('{"jsonrpc":"2.0","id":1,"method":"initialize"}')))
    await Promise.resolve()
    say(newer.sink)
    newer.sink?.failed?.(
      undefined,
      new TransportError('TRANSPORT_STATUS', 'HTTP 404', { details: { status: 404, body: 'no' } }),
    )
    assert.deepEqual([heard, older.sink], [[answer.toString(), 'TRANSPORT_STATUS'], undefined])
  })
}
