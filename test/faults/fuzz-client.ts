// A client that sends frames which are nearly right, over stdio and over HTTP. The
// proxy answers what can be answered, and whoever else calls notices nothing.

import { connect } from 'node:net'
import type { Heard } from '../integration/support/client.js'
import { at, textAt } from '../integration/support/json.js'
import { program } from '../integration/support/programs.js'
import type { Scope } from '../integration/support/spawned.js'
import { turnBoundMs } from '../support/processor-time.js'
import { clientFrames } from './support/frames.js'
import { fuzzed } from './support/fuzz.js'
import { HttpCaller } from './support/http-caller.js'
import { Random } from '../sim/random.js'
import { type UnderTest, startUnderTest } from './support/under-test.js'
import { type Findings, Promises, type Run, type Scenario, measured } from './support/scenario.js'

/** Frames between two calls that are right. */
const FRAMES_EACH = 100
/** One in so many frames goes over HTTP, where each is a request of its own. */
const HTTP_EVERY = 10
const HTTP_SOCKETS = 8
/** A turn of the event loop, in processor time. */

export const fuzzClient: Scenario = measured(
  'frames of a client that are nearly right: nothing crashes or stalls, and right calls are answered',
  1_000_000,
  run,
)

/** `count` is the number of frames on stdio; a tenth of it follows over HTTP. */
async function run(scope: Scope, settings: Run): Promise<Findings> {
  const promises = new Promises()
  const stdio = await overStdio(scope, settings, promises)
  const http = await overHttp(scope, settings, promises)
  return { figures: { ...stdio, ...http }, broken: promises.broken }
}

const servers = { s: { command: process.execPath, args: [program('nonces.mjs')] } }

async function overStdio(
  scope: Scope,
  { count, seed, cli, say }: Run,
  promises: Promises,
): Promise<Record<string, number>> {
  const proxy = startUnderTest(scope, '--stdio', servers, { cli })
  const { client } = proxy
  const random = new Random(seed)
  await client.open()
  await client.call('s__nonce', { nonce: 'warm' })
  await proxy.facts('reset')
  let frames = 0
  let foreign = 0
  /** Answers to calls that are right. */
  let answers = 0
  while (frames < count) {
    const batch = Array.from({ length: FRAMES_EACH }, () => fuzzed(clientFrames, random))
    frames += batch.length
    proxy.write(Buffer.from(`${batch.join('\n')}\n`, 'latin1'))
    const nonce = `right-${frames}`
    const { value } = await client.call('s__nonce', { nonce }, undefined, nonce)
    if (textAt(value, 'result', 'content', 0, 'text') !== nonce) foreign++
    answers += client.heard.splice(0).filter(isRight).length
    if (!proxy.running) break
    if (frames % 50_000 === 0) say(`${frames} frames on stdio`)
  }
  answers += client.heard.filter(isRight).length
  promises.equal(foreign, 0, 'right calls on stdio that were not answered rightly')
  promises.equal(answers, frames / FRAMES_EACH, 'answers on stdio to as many right calls')
  const { invalid } = client
  promises.equal(invalid.length, 0, `lines on stdio that are no messages, such as ${invalid[0]}`)
  const figures = await health(proxy, 'stdio', promises)
  return { 'stdio frames': frames, ...figures, 'stdio foreign': foreign }
}

function isRight({ value }: Heard): boolean {
  return String(at(value, 'id')).startsWith('right-')
}

async function health(proxy: UnderTest, kind: string, promises: Promises): Promise<Record<string, number>> {
  promises.hold(proxy.running, `${kind}: the proxy runs: ${proxy.stderr.slice(-1000)}`)
  promises.hold(!/exited|uncaught/i.test(proxy.stderr), `${kind}: nothing exits: ${proxy.stderr.slice(-500)}`)
  if (!proxy.running) return {}
  const { turnMaxMs, delayMaxMs } = await proxy.facts()
  promises.below(turnMaxMs, turnBoundMs(), `${kind}: ms of processor time of the longest turn`)
  return { [`${kind} longest turn ms`]: turnMaxMs, [`${kind} longest delay ms`]: delayMaxMs }
}

async function overHttp(
  scope: Scope,
  { count, seed, cli, say }: Run,
  promises: Promises,
): Promise<Record<string, number>> {
  const proxy = startUnderTest(scope, '--http', servers, { cli })
  const port = await proxy.port()
  const [mad, right] = [new HttpCaller(port, HTTP_SOCKETS), new HttpCaller(port)]
  for (const caller of [mad, right]) {
    scope.after(() => caller.close())
    await caller.open()
    await caller.call('s__nonce', { nonce: 'warm' })
  }
  await proxy.facts('reset')
  const frames = Math.ceil(count / HTTP_EVERY)
  let sent = 0
  let isOver = false
  const random = new Random(seed)
  const one = async (): Promise<void> => {
    while (sent++ < frames) {
      if (sent % 5000 === 0) say(`${sent} frames over HTTP`)
      const body = Buffer.from(fuzzed(clientFrames, random), 'latin1')
      // What ends the session of the mad client ends nothing else: it opens another one.
      if (sent % 20 === 0) await raw(port, body, random)
      else if ((await mad.post(body).catch(() => undefined))?.status === 404) await mad.open()
    }
  }
  const beside = rightCalls(right, () => isOver)
  await Promise.all(Array.from({ length: HTTP_SOCKETS }, one))
  isOver = true
  const { calls, wrong } = await beside
  promises.equal(wrong, 0, 'right calls over HTTP that were not answered rightly')
  const figures = await health(proxy, 'http', promises)
  return { 'http frames': frames, 'http calls beside': calls, ...figures, 'http foreign': wrong }
}

/** Somebody else, with the same ids. */
async function rightCalls(
  caller: HttpCaller,
  isOver: () => boolean,
): Promise<{ calls: number; wrong: number }> {
  let calls = 0
  let wrong = 0
  while (!isOver()) {
    const nonce = `right-${calls++}`
    const { messages } = await caller.call('s__nonce', { nonce })
    const [only] = messages
    if (messages.length !== 1 || textAt(only, 'result', 'content', 0, 'text') !== nonce) wrong++
    if (at(only, 'method') !== undefined) wrong++
  }
  return { calls, wrong }
}

const heads: readonly [string, ...string[]] = [
  'POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:$PORT\r\nContent-Type: application/json\r\n',
  'POST /mcp HTTP/1.1\r\nHost: evil.example\r\nContent-Type: application/json\r\n',
  'POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:$PORT\r\nHost: 127.0.0.1:$PORT\r\nContent-Type: text/plain\r\n',
  'GET /mcp HTTP/1.1\r\nHost: 127.0.0.1:$PORT\r\nAccept: text/event-stream\r\nMcp-Session-Id: \xff\r\n',
  'POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:$PORT\r\nTransfer-Encoding: chunked\r\nContent-Type: application/json\r\n',
  'DELETE /mcp HTTP/1.1\r\nHost: 127.0.0.1:$PORT\r\nMcp-Session-Id: x\r\nMcp-Session-Id: y\r\n',
]

/** A socket with a request that is wrong below the message too; gone when the proxy or we close it. */
function raw(port: number, body: Buffer, random: Random): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    const length = random.chance(0.8) ? body.length : random.below(1e6)
    const head = random.pick(heads).replaceAll('$PORT', String(port))
    socket.on('error', () => undefined)
    socket.on('close', () => resolve())
    socket.on('data', () => socket.destroy())
    socket.write(Buffer.from(fuzzed([`${head}Content-Length: ${length}\r\n\r\n`], random), 'latin1'))
    socket.write(body)
    socket.setTimeout(20, () => socket.destroy())
  })
}
