// examples/deploy: cluster.mjs, and which instance gets which request through HAProxy and nginx with the files beside it.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, describe, test } from 'node:test'
import { itServer, program, root } from '../integration/support/programs.js'
import { configFile } from '../integration/support/spawned.js'
import { gone, until } from '../integration/support/waiting.js'
import { type Answer, message, send } from '../transports/support/http.js'

interface Process {
  readonly pid: number
  readonly url: string
}

interface Cluster {
  /** The processes that the script has started, by its names. */
  readonly processes: ReadonlyMap<string, Process>
  stop(): Promise<number | null>
}

async function startCluster(...args: readonly string[]): Promise<Cluster> {
  const script = join(root, 'examples/deploy/cluster.mjs')
  const child = spawn(process.execPath, [script, '--port', '0', ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = new Promise<number | null>((resolve) => child.on('exit', resolve))
  const processes = new Map<string, Process>()
  await new Promise<void>((resolve, reject) => {
    void exited.then((code) => reject(new Error(`the script has ended with ${code}`)))
    createInterface(child.stdout).on('line', (line) => {
      const [name = '', pid = '', url = ''] = line.split(' ')
      if (name === 'ready') resolve()
      else processes.set(name, { pid: Number(pid), url })
    })
  })
  const stop = (): Promise<number | null> => {
    child.kill('SIGTERM')
    return exited
  }
  return { processes, stop }
}

const labels = ['a', 'b', 'c']

for (const balancer of ['haproxy', 'nginx'])
  describe(`behind ${balancer}`, () => {
    let cluster: Cluster | undefined
    before(async () => {
      const front = program('labelled-front.mjs')
      cluster = await startCluster('--balancer', balancer, '--program', front, '--no-restart')
    })
    after(async () => {
      assert.equal(await cluster?.stop(), 0)
      for (const [name, { pid }] of cluster?.processes ?? []) assert(gone(pid), name)
    })

    /** To an instance, or to the balancer. */
    const post = (path: string, session?: string, to = balancer): Promise<Answer> => {
      const headers = session === undefined ? {} : { 'mcp-session-id': session }
      const { port } = new URL(cluster?.processes.get(to)?.url ?? '')
      return send(Number(port), { path, headers, body: '{}' })
    }
    const begun = async (): Promise<number> => {
      const counts = await Promise.all(labels.map((label) => post('/begun', undefined, label)))
      return counts.reduce((sum, { body }) => sum + Number(body), 0)
    }

    test('requests without a session, and sessions of other instances, go to all instances in turn', async () => {
      for (const session of [undefined, 'another.AAAA', 'ab.AAAA', 'AAAA']) {
        const answers = await Promise.all(Array.from({ length: 12 }, () => post('/mcp', session)))
        assert.deepEqual([...new Set(answers.map(({ body }) => body))].sort(), labels)
      }
    })

    test('a request that an instance may have begun is not sent again', async () => {
      const before = await begun()
      assert.equal((await post('/cut', 'c.AAAA')).status, 502)
      assert.equal(await begun(), before + 1)
    })

    test('while an instance refuses requests, others answer them', async () => {
      assert.equal((await post('/drain', undefined, 'a')).status, 503)
      for (const session of ['a.AAAA', undefined, undefined, undefined, undefined, 'a.AAAA'])
        assert.match((await post('/mcp', session)).body, /^[bc]$/)
      await post('/undrain', undefined, 'a')
    })
  })

const initialize = message('initialize', 0, {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'c', version: '1' },
})

for (const balancer of ['haproxy', 'nginx'])
  test(`sessions of gateways behind ${balancer} reach their processes, and outlive their instances`, async (t) => {
    const servers = { shared: itServer(), private: itServer({}, { isolation: 'session' }) }
    const file = configFile(t, servers, { server: { allowedHosts: ['127.0.0.1'] } })
    const cluster = await startCluster('--balancer', balancer, '--config', file, '--no-restart')
    t.after(() => cluster.stop())
    const port = Number(new URL(cluster.processes.get(balancer)?.url ?? '').port)
    const ask = (server: string, body: string, session?: string): Promise<Answer> => {
      const headers = session === undefined ? {} : { 'mcp-session-id': session }
      return send(port, { path: `/servers/${server}/mcp`, headers, body })
    }
    const open = async (server: string): Promise<string> => {
      const { headers } = await ask(server, initialize)
      const session = String(headers['mcp-session-id'])
      await ask(server, message('notifications/initialized'), session)
      return session
    }
    const statusOf = async (server: string, session: string): Promise<number> => {
      const call = message('tools/call', 1, { name: 'nonce', arguments: { n: session } })
      const { status, body } = await ask(server, call, session)
      assert.equal(body.includes(session), status === 200)
      return status
    }
    const alone: string[] = []
    while (alone.length < labels.length) alone.push(await open('private'))
    const common: string[] = []
    while (common.length < labels.length) common.push(await open('shared'))
    assert.deepEqual(
      alone.map((session) => session.split('.')[0] ?? '').toSorted((one, other) => one.localeCompare(other)),
      labels,
    )
    // An instance that does not have the process of a session would answer 404.
    for (const session of [...alone, ...alone]) assert.equal(await statusOf('private', session), 200)
    const { pid } = cluster.processes.get('b') ?? assert.fail()
    process.kill(pid, 'SIGKILL')
    await until(() => gone(pid))
    for (const session of common) assert.equal(await statusOf('shared', session), 200)
    for (const session of alone)
      assert.equal(await statusOf('private', session), session.startsWith('b.') ? 404 : 200)
  })
