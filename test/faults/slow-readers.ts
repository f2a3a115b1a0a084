// Clients that ask for much and read nothing. What they leave unread is bounded in
// all, and a client that reads is served beside them.

import { type Socket, connect } from 'node:net'
import { at } from '../integration/support/json.js'
import { type ServerEntry, program } from '../integration/support/programs.js'
import type { Scope } from '../integration/support/spawned.js'
import { HttpCaller, answerOf } from './support/http-caller.js'
import { type UnderTest, startUnderTest } from './support/under-test.js'
import {
  type Findings,
  MiB,
  Promises,
  type Run,
  type Scenario,
  measured,
  percentile,
  round,
} from './support/scenario.js'

const TOKEN = 'only-for-many-connections'
/** Of each client: what it asks for is 100 MB in all. */
const CALLS = 4
const ANSWER_BYTES = 25_000_000
/**
 * All that may be unread in all, and what a proxy at work needs besides.
 *
 * Nobody can be held back here: they share one server, and it is not to stop for the others. So what they ask for is
 * kept up to the limit for all, and who has left most unread is cut. Three answers are more than 64 MiB already.
 */
const GROWTH_BYTES_MAX = 256 * MiB + 2 * 64 * MiB
/** Longest time in which the servers say everything. */
const SAID_MS_MAX = 300_000

export const slowReaders: Scenario = measured(
  'clients that ask for 100 MB each and read nothing: memory stays bounded, and others are served',
  100,
  run,
)

/** `count` is the number of clients. */
async function run(scope: Scope, { count, cli, say }: Run): Promise<Findings> {
  const servers = { long: server('long.mjs'), well: server('nonces.mjs') }
  const more = { server: { port: 0, token: TOKEN } }
  const proxy = startUnderTest(scope, '--http', servers, { cli, more })
  const port = await proxy.port()
  const reader = new HttpCaller(port, 2, TOKEN)
  scope.after(() => reader.close())
  await reader.open()
  await reader.call('well__nonce', { nonce: 'warm' })
  await proxy.facts('gc')
  const before = proxy.resident()
  proxy.forgetPeak()
  const sockets: Socket[] = []
  scope.after(() => {
    for (const socket of sockets) socket.destroy()
  })
  for (let client = 0; client < count; client++) sockets.push(...(await neverReads(port)))
  const { latencies, failed } = await readOn(proxy, reader, before, say)
  const growth = proxy.resident('VmHWM') - before
  const promises = new Promises()
  promises.below(growth, GROWTH_BYTES_MAX, 'bytes that grew beside clients that never read')
  promises.equal(failed, 0, 'calls of the client that reads that failed')
  promises.hold(proxy.running, 'the proxy runs')
  const figures = {
    clients: count,
    'MB asked for': (count * CALLS * ANSWER_BYTES) / 1e6,
    'MiB grown at most': growth / MiB,
    'calls beside them': latencies.length,
    'median ms': percentile(latencies, 0.5),
    'p99 ms': percentile(latencies, 0.99),
  }
  return { figures, broken: promises.broken }
}

/** A client with a session that asks on several connections and reads none of the answers. */
async function neverReads(port: number): Promise<Socket[]> {
  const caller = new HttpCaller(port, 1, TOKEN)
  await caller.open()
  caller.close()
  return Array.from({ length: CALLS }, () => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.pause()
    const params = { name: 'long__line', arguments: { bytes: ANSWER_BYTES } }
    const body = JSON.stringify({ jsonrpc: '2.0', id: caller.nextId(), method: 'tools/call', params })
    const fields = `Authorization: Bearer ${TOKEN}\r\nMcp-Session-Id: ${caller.session}\r\nAccept: application/json, text/event-stream`
    const head = `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: application/json\r\n${fields}`
    socket.write(`${head}\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
    return socket
  })
}

/** Calls until the server of long answers is at rest again. */
async function readOn(
  proxy: UnderTest,
  reader: HttpCaller,
  before: number,
  say: (progress: string) => void,
): Promise<{ latencies: number[]; failed: number }> {
  const latencies: number[] = []
  let failed = 0
  const endsAt = performance.now() + SAID_MS_MAX
  // It answers one after the other, so this is answered behind everything.
  const last = reader.call('long__line', { bytes: 1 })
  const state = { isOver: false }
  void last.finally(() => {
    state.isOver = true
  })
  while (!state.isOver && performance.now() < endsAt) {
    const from = performance.now()
    const posted = await reader.call('well__nonce', { nonce: 'n' })
    latencies.push(performance.now() - from)
    if (at(answerOf(posted), 'result') === undefined) failed++
    if (latencies.length % 200 === 0) say(`${round((proxy.resident() - before) / MiB)} MiB grown`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  if (!state.isOver || at(answerOf(await last), 'result') === undefined) failed++
  return { latencies, failed }
}

function server(name: string): ServerEntry {
  return { command: process.execPath, args: [program(name)], timeout: 600_000 }
}
