// More clients and servers than descriptors. A client with a session is served, others are refused with a reason, and
// the proxy recovers when the idle clients have disconnected.

import { strict as assert } from 'node:assert'
import { readFileSync } from 'node:fs'
import { type Socket, connect } from 'node:net'
import { describe, test } from 'node:test'
import { at, textAt } from '../integration/support/json.js'
import { type Scope, type Servers, scratch } from '../integration/support/spawned.js'
import { untilAnswered } from '../integration/support/waiting.js'
import { HttpCaller, type Posted, answerOf } from './support/http-caller.js'
import { SwiftServers } from './support/swift.js'
import { type UnderTest, isLinux, startUnderTest, times } from './support/under-test.js'

/** The number of idle clients per descriptor. */
const CROWD = 2
/** More servers than the smallest number of descriptors allows. */
const SERVERS = 24
/** With this many descriptors all servers can run. */
const ROOMY = 128
const CALLS = 20

describe('more clients and servers than descriptors', { concurrency: true, skip: !isLinux }, () => {
  for (const descriptors of [64, 128, 256])
    test(String(descriptors), async (t) => {
      for (let round = 0; round < times(1); round++) await crowded(t, descriptors)
    })
})

async function crowded(scope: Scope, descriptors: number): Promise<void> {
  const under = ['prlimit', `--nofile=${descriptors}`]
  const proxy = startUnderTest(scope, '--http', servers(scope), { under })
  const port = await proxy.port()
  const inside = new HttpCaller(port)
  await sooner(async () => (await inside.open()).status === 200)
  await sooner(() => hit(inside, 'first'))
  const before = await proxy.facts()
  const silent = await crowd(port, CROWD * descriptors)
  const visitors = Array.from({ length: descriptors }, () => visit(port))
  for (let turn = 0; turn < CALLS; turn++) assert.equal(await missed(inside, String(turn)), undefined)
  // Servers that crash now must be restarted when descriptors are available.
  const started = serversOf(proxy)
  for (const pid of started) process.kill(pid, 'SIGKILL')
  for (let turn = 0; turn < 5; turn++)
    assert.equal((await inside.call('s0__hit', { nonce: 'n' })).messages.length, 1)
  for (const status of await Promise.all(visitors)) assert([0, 200, 503].includes(status), String(status))
  for (const socket of silent) socket.destroy()
  await sooner(() => served(port))
  await sooner(() => Promise.resolve(serversOf(proxy).length >= started.length))
  // With few descriptors, other servers may have taken those of the crashed ones.
  await sooner(() => hitsOne(inside, descriptors < ROOMY ? SERVERS : 1))
  inside.close()
  await sooner(async () => (await proxy.facts()).descriptors <= before.descriptors + SERVERS)
  proxy.child.kill('SIGTERM')
  assert.equal(await proxy.exited, 0)
}

function servers(scope: Scope): Servers {
  const swift = new SwiftServers(scratch(scope))
  const names = Array.from({ length: SERVERS }, (_, at) => `s${at}`)
  return Object.fromEntries(names.map((name) => [name, swift.entry({ restartDelay: 100 })]))
}

function serversOf(proxy: UnderTest): number[] {
  return proxy.children().filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'latin1').startsWith('sed')
    } catch {
      return false
    }
  })
}

/** Connections that send nothing. Refused ones are already closed. */
async function crowd(port: number, count: number): Promise<Socket[]> {
  const sockets = Array.from({ length: count }, () => connect(port, '127.0.0.1'))
  await Promise.all(
    sockets.map(
      (socket) =>
        new Promise<void>((resolve) => {
          socket.on('connect', () => resolve())
          socket.on('error', () => resolve())
        }),
    ),
  )
  return sockets
}

/** The status for a client that opens a session. 0 when the connection is not accepted. */
async function visit(port: number): Promise<number> {
  const caller = new HttpCaller(port)
  const status = await caller.open().then(
    (posted) => posted.status,
    () => 0,
  )
  caller.close()
  return status
}

async function served(port: number): Promise<boolean> {
  const caller = new HttpCaller(port)
  try {
    const { status } = await caller.open()
    const listed = await caller.request('tools/list')
    return status === 200 && at(answerOf(listed), 'result') !== undefined
  } finally {
    caller.close()
  }
}

async function hitsOne(caller: HttpCaller, count: number): Promise<boolean> {
  for (let at = 0; at < count; at++) if (await hit(caller, 'last', `s${at}`)) return true
  return false
}

async function hit(caller: HttpCaller, nonce: string, server = 's0'): Promise<boolean> {
  return (await missed(caller, nonce, server)) === undefined
}

/** The error of a call. Undefined when its answer is right. */
async function missed(caller: HttpCaller, nonce: string, server = 's0'): Promise<string | undefined> {
  const call = (): Promise<Posted> => caller.call(`${server}__hit`, { nonce })
  try {
    // The proxy may close an idle connection to make room for a new one, so the request is sent again.
    const posted = await call().catch((error: unknown) => (isReset(error) ? call() : Promise.reject(error)))
    const isRight = textAt(answerOf(posted), 'result', 'content', 0, 'text') === nonce
    return isRight ? undefined : `${posted.status} ${posted.body.slice(0, 300)}`
  } catch (error) {
    return String(error)
  }
}

function isReset(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ECONNRESET'
}

/** Repeats a check until it is true. An error counts as false. */
function sooner(holds: () => Promise<boolean>): Promise<void> {
  return untilAnswered(() => holds().catch(() => false))
}
