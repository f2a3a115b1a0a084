// Many sockets that are slow on purpose, beside clients that are not: those notice
// little of it, and whoever drips is shown out. What they would notice anyway is seen
// at a second proxy at the same time, so that whatever else keeps the machine busy counts for both.

import { type Socket, connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { type Scope, scratch } from '../integration/support/spawned.js'
import type { Scenario } from './scenario.js'
import { measured } from './support/measured.js'
import { type Findings, Promises, type Run, percentile } from './support/run.js'
import { steady } from './support/steady.js'
import { SwiftServers } from './support/swift.js'
import { startUnderTest } from './support/under-test.js'

const WARM_S = 2
/** As long as anybody who asks slowly may stay, and a little more. */
const ATTACK_S = 13
/** Seconds, as a slow client counts them by its own timer: a busy machine lets both sides wait. */
const CLOSED_TICKS_MAX = 12
/** The proxy takes 1024 connections in all; the clients that are not slow need some. */
const ALLOWED_TIMES = 3
/** What connects at once: a machine that accepts a thousand in one turn is busy with that alone. */
const BATCH = 100

export const slowSockets: Scenario = measured(
  'slow sockets (heads, bodies, nothing at all, readers): others wait at most three times as long, who asks slowly is closed within 12 s',
  1000,
  run,
)

/** `count` is the number of slow sockets. */
async function run(scope: Scope, { count, cli, say }: Run): Promise<Findings> {
  const servers = { s: new SwiftServers(scratch(scope)).entry('s') }
  const [proxy, other] = [servers, servers].map((each) => startUnderTest(scope, '--http', each, { cli }))
  if (proxy === undefined || other === undefined) throw new Error('there are two')
  const port = await proxy.port()
  const ports = [port, await other.port()]
  await steady({ ports, seconds: WARM_S })
  const slow: Slow[] = []
  scope.after(() => {
    for (const each of slow) each.end()
  })
  for (let at = 0; at < count; at++) {
    slow.push(new Slow(port, shapes[at % shapes.length] ?? 'head', at))
    if (slow.length % BATCH === 0) await Promise.all(slow.slice(-BATCH).map((each) => each.connected))
  }
  await Promise.all(slow.map((each) => each.connected))
  say(`${slow.length} slow sockets`)
  const { latencies, failed } = await steady({ ports, seconds: ATTACK_S })
  // A machine that is busy with other things lets the last ones go later, which is told.
  for (let waited = 0; waited < 10 && slow.some((each) => each.asks && each.isOpen); waited++)
    await delay(1000)
  const asking = slow.filter(({ asks }) => asks)
  const open = asking.filter(({ isOpen }) => isOpen)
  const latest = Math.max(...asking.map(({ closedAfterMs = Number.POSITIVE_INFINITY }) => closedAfterMs))
  const ticks = Math.max(...asking.map((each) => each.ticks))
  const promises = new Promises()
  const [after = NaN, before = NaN] = latencies.map((each) => percentile(each, 0.99))
  promises.equal(failed, 0, 'requests of others that failed')
  promises.below(after, Math.max(ALLOWED_TIMES * before, 20), 'p99 of the others in ms')
  promises.equal(open.length, 0, 'sockets that ask slowly and are still open')
  promises.below(
    ticks,
    CLOSED_TICKS_MAX,
    'seconds that the last socket that asks slowly counted until it was closed',
  )
  promises.hold(proxy.running, 'the proxy runs')
  const figures = {
    'slow sockets': count,
    'requests beside them': latencies[0]?.length ?? 0,
    'p99 ms alone': before,
    'p99 ms beside them': after,
    'last one that asks slowly closed after s': latest / 1000,
    ...Object.fromEntries(shapes.map((shape) => [`${shape} closed`, closedOf(slow, shape)])),
  }
  return { figures, broken: promises.broken }
}

function closedOf(slow: readonly Slow[], shape: Shape): string {
  const all = slow.filter((each) => each.shape === shape)
  const closed = all.flatMap(({ closedAfterMs }) => closedAfterMs ?? [])
  const latest = closed.length === 0 ? '' : ` within ${(Math.max(...closed) / 1000).toFixed(1)} s`
  return `${closed.length} of ${all.length}${latest}`
}

const shapes = ['head', 'body', 'silent', 'reader'] as const

type Shape = (typeof shapes)[number]

/** One socket that is slow in its own way. */
class Slow {
  readonly shape: Shape
  readonly connected: Promise<void>
  /** Since it was connected; undefined while it is open. */
  closedAfterMs: number | undefined
  /** Seconds that it has counted while it was open. */
  ticks = 0
  readonly #socket: Socket
  #drip: NodeJS.Timeout | undefined

  constructor(port: number, shape: Shape, number: number) {
    this.shape = shape
    const socket = connect(port, '127.0.0.1')
    this.#socket = socket
    socket.on('error', () => undefined)
    let startedAt = performance.now()
    socket.once('connect', () => {
      startedAt = performance.now()
    })
    socket.once('close', () => {
      this.closedAfterMs = performance.now() - startedAt
      clearInterval(this.#drip)
    })
    this.connected = new Promise((resolve) => {
      socket.once('connect', () => resolve())
      socket.once('close', () => resolve())
    })
    socket.write(beginning(shape, port))
    if (shape === 'reader') socket.pause()
    else socket.resume()
    const drips = shape === 'head' || shape === 'body'
    // Not all in one turn of whoever measures: they have nothing to do with each other.
    this.#drip = setTimeout(() => {
      this.#drip = setInterval(() => {
        this.ticks++
        if (drips) socket.write('x')
      }, 1000)
    }, number % 1000)
  }

  /** It is the request that is slow. Who has asked may read slowly for longer: docs/http.md. */
  get asks(): boolean {
    return this.shape !== 'reader'
  }

  get isOpen(): boolean {
    return this.closedAfterMs === undefined
  }

  end(): void {
    clearInterval(this.#drip)
    this.#socket.destroy()
  }
}

function beginning(shape: Shape, port: number): string {
  const head = `POST /mcp HTTP/1.1\r\nHost: localhost:${port}\r\nContent-Type: application/json\r\n`
  const list = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
  switch (shape) {
    case 'head':
      return `${head}X-Slow: `
    case 'body':
      return `${head}Content-Length: 100000\r\n\r\n{"jsonrpc":"2.0",`
    case 'silent':
      return ''
    case 'reader':
      // Takes no answer.
      return `${head}Content-Length: ${list.length}\r\n\r\n${list}`
  }
}
