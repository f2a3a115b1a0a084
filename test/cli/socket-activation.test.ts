// A listening socket that passes from one process to the next, as with systemd.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readlinkSync } from 'node:fs'
import { Agent, request } from 'node:http'
import net from 'node:net'
import { describe, test } from 'node:test'
import { cli, itServer, root } from '../integration/support/programs.js'
import { type Scope, configFile } from '../integration/support/spawned.js'
import { at, numberAt, parsed, textAt } from '../integration/support/json.js'
import { until } from '../integration/support/waiting.js'
import { EventReader, message, messageIn, open, send } from '../transports/support/http.js'

type HeldSocket = ReturnType<typeof heldSocket>

/** A socket that is bound here. Only the programs that inherit it accept on it. */
function heldSocket(scope: Scope, host = '127.0.0.1') {
  const made: unknown = Reflect.apply(Reflect.get(net, '_createServerHandle'), net, [host, 0, 4])
  assert(typeof made === 'object' && made !== null)
  const address = {}
  Reflect.apply(Reflect.get(made, 'getsockname'), made, [address])
  scope.after(() => void Reflect.apply(Reflect.get(made, 'close'), made, []))
  return { fd: numberAt(made, 'fd'), port: numberAt(address, 'port') }
}

/** Starts the gateway on the socket. `command` runs it. */
function start(scope: Scope, { fd }: HeldSocket, file: string, command = 'LISTEN_PID=$$ exec "$@"') {
  const args = ['-c', command, 'sh', process.execPath, cli, 'http', '--config', file]
  const child = spawn('/bin/sh', args, {
    cwd: root,
    env: { ...process.env, LISTEN_FDS: '1', LISTEN_FDNAMES: 'mcps-proxy.socket' },
    stdio: ['ignore', 'ignore', 'pipe', fd],
  })
  scope.after(() => void child.kill('SIGKILL'))
  let stderr = ''
  child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  const exited = once(child, 'close').then(() => child.exitCode)
  const ready = until(() => stderr.includes('/api/status') || child.exitCode !== null)
  return { ready, exited, stderr: () => stderr, end: () => void child.kill('SIGTERM') }
}

const call = (name: string, args: object = {}): string =>
  message('tools/call', 1, { name, arguments: args, _meta: { progressToken: 1 } })

const saidIn = (text: string): unknown => parsed(textAt(messageIn(text), 'result', 'content', 0, 'text'))

type Ask = (port: number) => Promise<number>

const fields = { 'content-type': 'application/json', accept: 'application/json' }

/** How clients use their connections. Each function resolves with the status of a call. */
const clients = (agent: Agent): Readonly<Record<string, Ask>> => ({
  'fetch, which keeps connections': async (port) => {
    const sent = { method: 'POST', headers: fields, body: call('nonce', { n: 'f' }) }
    const response = await fetch(`http://127.0.0.1:${port}/mcp`, sent)
    await response.text()
    return response.status
  },
  'an agent that keeps connections': (port) =>
    new Promise((resolve, reject) => {
      const sent = request({ port, path: '/mcp', method: 'POST', headers: fields, agent }, (response) => {
        response.resume().on('end', () => resolve(response.statusCode ?? 0))
      })
      sent.on('error', reject).end(call('nonce', { n: 'a' }))
    }),
  'a connection for each call': async (port) =>
    (await send(port, { body: call('nonce', { n: 'c' }) })).status,
})

describe('a gateway on a socket that it was given', { skip: process.platform === 'win32' }, () => {
  test('hands it to its successor, and no request of clients that call all the time fails', async (t) => {
    const socket = heldSocket(t)
    const { port } = socket
    const file = configFile(
      t,
      { it: itServer({}, { prefix: false, describe: false, inheritEnv: true }) },
      // Not the address of the socket. It is never bound.
      { server: { port: 1, drainTimeout: 60_000 } },
    )
    const agent = new Agent({ keepAlive: true, maxSockets: 4 })
    t.after(() => agent.destroy())
    let gateway = start(t, socket, file)
    await gateway.ready

    const found = new Map<string, number>()
    const end = new AbortController()
    const asking = Object.entries(clients(agent)).flatMap(([title, ask]) =>
      Array.from({ length: 4 }, async () => {
        while (!end.signal.aborted) {
          const how = await ask(port).catch((error: unknown) => String(Object(error).cause ?? error))
          found.set(`${title}: ${how}`, (found.get(`${title}: ${how}`) ?? 0) + 1)
        }
      }),
    )
    const answered = (): number => [...found.values()].reduce((sum, each) => sum + each, 0)
    const progress = async (): Promise<void> => {
      const goal = answered() + 200
      await until(() => answered() >= goal)
    }
    await progress()
    for (const command of [undefined, 'exec "$@"']) {
      const long = new EventReader(await open(port, { body: call('slow', { steps: 3, everyMs: 200 }) }))
      assert.match((await long.next())?.data ?? '', /progress/)
      gateway.end()
      while ((await long.next()) !== undefined);
      assert.equal(at(saidIn(long.all.at(-1)?.data ?? ''), 'at'), 4)
      assert.equal(await gateway.exited, 0, gateway.stderr())
      gateway = start(t, socket, file, command)
      await gateway.ready
      await progress()
    }
    end.abort()
    await Promise.all(asking)
    const wanted = Object.keys(clients(agent))
      .map((title) => `${title}: 200`)
      .sort()
    assert.deepEqual([...found.keys()].sort(), wanted)

    // Servers get neither the variables nor the socket.
    const env = saidIn((await send(port, { body: call('env') })).body)
    const inherited = Object.keys(Object(env)).filter((name) => name.startsWith('LISTEN_'))
    assert.deepEqual(inherited, [])
    const pid = numberAt(saidIn((await send(port, { body: call('nonce') })).body), 'pid')
    if (process.platform === 'linux') {
      const files = readdirSync(`/proc/${pid}/fd`).map((name) => readlinkSync(`/proc/${pid}/fd/${name}`))
      assert(!files.includes(readlinkSync(`/proc/self/fd/${socket.fd}`)), 'the socket')
    }
    gateway.end()
    assert.equal(await gateway.exited, 0)
  })

  const refused: [string, string, RegExp, host?: string][] = [
    ['several sockets', 'LISTEN_FDS=2 LISTEN_PID=$$ exec "$@"', /LISTEN_FDS is 2; one socket/],
    [
      'machines without a token',
      'LISTEN_PID=$$ exec "$@"',
      /no token, and 0\.0\.0\.0 can be reached/,
      '0.0.0.0',
    ],
    [
      'a file in its place',
      'LISTEN_PID=$$ exec "$@" 3</dev/null',
      /^mcps-proxy: descriptor 3 is no socket of TCP/m,
    ],
  ]
  for (const [title, command, wanted, host] of refused)
    test(`refuses ${title}`, async (t) => {
      const gateway = start(t, heldSocket(t, host), configFile(t, { it: itServer() }), command)
      assert.equal(await gateway.exited, 2)
      assert.match(gateway.stderr(), wanted)
    })

  test('binds its own address where the socket was meant for another process', async (t) => {
    const socket = heldSocket(t)
    const file = configFile(t, { it: itServer() }, { server: { port: 0 } })
    const gateway = start(t, socket, file, 'LISTEN_PID=1 exec "$@"')
    await gateway.ready
    const own = Number(/http:\/\/[^\s/]+:(\d+)/.exec(gateway.stderr())?.[1])
    assert.notEqual(own, socket.port)
    assert.equal((await send(own, { method: 'GET', path: '/ready' })).status, 200)
    gateway.end()
    assert.equal(await gateway.exited, 0)
  })
})
