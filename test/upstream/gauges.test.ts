import { strict as assert } from 'node:assert'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'
import type { Connection, MessageHead, Sink } from '../../src/jsonrpc/connection.js'
import { toLine } from '../../src/jsonrpc/line.js'
import type { Message } from '../../src/jsonrpc/splice.js'
import { polite, settled, mute } from './support/fake-runtime.js'
import { served } from './support/served.js'

test('calls that run and that wait are counted, and starts after a crash', async (t) => {
  const { client, proxy, runtime } = await served(t, mute, { entry: { concurrency: 2 } })
  const gauges = (): unknown => proxy.status()[0]?.gauges
  const none = { inFlight: 0, queued: 0, slots: 2, restarts: 0, memoryBytes: undefined }
  assert.deepEqual(gauges(), none)
  const calls = Promise.all([1, 2, 3].map(() => client.call('s__t')))
  await settled()
  assert.deepEqual(gauges(), { ...none, inFlight: 2, queued: 1 })
  runtime.script = polite
  runtime.children[0]?.end(1)
  await runtime.pass(2000)
  await calls
  assert.deepEqual(gauges(), { ...none, restarts: 1 })
})

/** A client that is cut off by the first error that it receives, in the same turn. */
class CutClient implements Connection {
  readonly congested = false
  readonly backlogBytes = 0
  #sink: Sink | undefined

  start(sink: Sink): void {
    this.#sink = sink
  }

  say(message: object): void {
    this.#sink?.message(toLine(Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message }))))
  }

  send(_message: Message, { kind }: MessageHead): void {
    if (kind === 'error') void this.close()
  }

  read(): void {}

  close(): Promise<void> {
    const sink = this.#sink
    this.#sink = undefined
    sink?.closed(undefined)
    return Promise.resolve()
  }
}

test('a client that the error of one call cuts off has its others counted once', async (t) => {
  const { proxy, runtime } = await served(t, mute)
  const client = new CutClient()
  await proxy.attach(client)
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'c', version: '1' } }
  client.say({ id: 'i', method: 'initialize', params })
  client.say({ method: 'notifications/initialized' })
  await settled()
  for (const id of [1, 2, 3]) client.say({ id, method: 'tools/call', params: { name: 's__t' } })
  await settled()
  assert.equal(proxy.status()[0]?.gauges.inFlight, 3)
  runtime.children[0]?.end(1)
  await settled()
  assert.equal(proxy.status()[0]?.gauges.inFlight, 0)
})
