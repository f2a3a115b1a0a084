// No descriptors and no disk: the program as a user runs it goes on, and recovers.

import { strict as assert } from 'node:assert'
import { existsSync } from 'node:fs'
import { type Socket, connect } from 'node:net'
import { resolve } from 'node:path'
import { describe, test } from 'node:test'
import { at, textAt } from '../integration/support/json.js'
import { program, root } from '../integration/support/programs.js'
import { type Scope, type Servers, scratch } from '../integration/support/spawned.js'
import { HttpCaller, answerOf } from './support/http-caller.js'
import { SwiftServers } from './support/swift.js'
import { type UnderTest, type UnderTestOptions, startUnderTest } from './support/under-test.js'

// As it is shipped, in a few files: to load its modules one by one takes more descriptors at once than these tests leave.
const cli = process.env['IT_CLI'] ?? resolve(root, 'dist/cli.js')

const isLinux = process.platform === 'linux' && existsSync('/dev/full') && existsSync('/usr/bin/prlimit')

describe('without room', { skip: !isLinux, concurrency: 2 }, () => {
  test('a log on a full disk stops nobody', async (t) => {
    const more = { logging: { level: 'debug', file: '/dev/full' } }
    const { caller, proxy } = await stdio(t, { more })
    for (let turn = 0; turn < 50; turn++) await hit(caller, `n-${turn}`)
    assert.equal(await proxy.finish(), 0, proxy.stderr)
    assert.deepEqual(caller.misses, { lost: 0, twice: 0, stray: 0, invalid: 0 })
  })

  for (const descriptors of [64, 128]) {
    test(`more servers and clients than ${descriptors} descriptors have room for: whoever is in is served`, async (t) => {
      const swift = new SwiftServers(scratch(t))
      const names = Array.from({ length: 40 }, (_, at) => `s${at}`)
      const servers = Object.fromEntries(
        names.map((name) => [name, swift.entry(name, { restartDelay: 100 })]),
      )
      const under = ['prlimit', `--nofile=${descriptors}`]
      const proxy = startUnderTest(t, '--http', servers, { cli, under })
      const port = await proxy.port()
      const sockets = await crowd(t, port, 2 * descriptors)
      assert(proxy.running, proxy.stderr)
      for (const socket of sockets) socket.destroy()
      await served(port)
      assert(proxy.running, proxy.stderr)
    })
  }

  test('a server that cannot be started for lack of descriptors is started once there are some', async (t) => {
    const servers = { s: { command: process.execPath, args: [program('nonces.mjs')], restartDelay: 100 } }
    const proxy = startUnderTest(t, '--http', servers, { cli, under: ['prlimit', '--nofile=64'] })
    const port = await proxy.port()
    const caller = new HttpCaller(port)
    t.after(() => caller.close())
    await caller.open()
    await nonce(caller)
    const sockets = await crowd(t, port, 100)
    for (const pid of serversOf(proxy)) process.kill(pid, 'SIGKILL')
    for (let turn = 0; turn < 5; turn++) {
      const { messages } = await caller.call('s__nonce', { nonce: 'n' })
      assert.equal(messages.length, 1, 'each call is answered, one way or the other')
    }
    for (const socket of sockets) socket.destroy()
    await nonce(caller)
  })
})

async function stdio(
  scope: Scope,
  options: Omit<UnderTestOptions, 'cli'>,
  servers: Servers = { s: new SwiftServers(scratch(scope)).entry('s') },
): Promise<{ proxy: UnderTest; caller: UnderTest['caller'] }> {
  const proxy = startUnderTest(scope, '--stdio', servers, { cli, ...options })
  await proxy.caller.open()
  return { proxy, caller: proxy.caller }
}

async function hit(caller: UnderTest['caller'], n: string): Promise<void> {
  const { value } = await caller.call('s__hit', { nonce: n })
  assert.equal(textAt(value, 'result', 'content', 0, 'text'), n)
}

/** Connections that say nothing; those that are refused are gone already. */
async function crowd(scope: Scope, port: number, count: number): Promise<Socket[]> {
  const sockets = Array.from({ length: count }, () => connect(port, '127.0.0.1'))
  scope.after(() => {
    for (const socket of sockets) socket.destroy()
  })
  const settled = sockets.map(
    (socket) =>
      new Promise<void>((resolve) => {
        socket.on('connect', () => resolve())
        socket.on('error', () => resolve())
      }),
  )
  await Promise.all(settled)
  return sockets
}

/** Children of the proxy that run the program of the server. */
function serversOf(proxy: UnderTest): number[] {
  return proxy.children().filter((pid) => proxy.commandOf(pid).includes('nonces.mjs'))
}

/** Somebody new is served, sooner or later. */
async function served(port: number): Promise<void> {
  await sooner(async () => {
    const caller = new HttpCaller(port)
    try {
      const { status } = await caller.open()
      const listed = await caller.request('tools/list')
      return status === 200 && at(answerOf(listed), 'result') !== undefined
    } finally {
      caller.close()
    }
  })
}

async function nonce(caller: HttpCaller): Promise<void> {
  await sooner(async () => {
    const posted = await caller.call('s__nonce', { nonce: 'n' })
    return textAt(answerOf(posted), 'result', 'content', 0, 'text') === 'n'
  })
}

async function sooner(holds: () => Promise<boolean>): Promise<void> {
  const endsAt = performance.now() + 45_000
  while (!(await holds().catch(() => false))) {
    assert(performance.now() < endsAt, 'it does not recover')
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}
