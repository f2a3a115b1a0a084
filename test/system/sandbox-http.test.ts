// The sandbox over HTTP, as the whole command: what clients and strangers may do to it, and to each other.

import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { bearer, requestFields } from '../integration/support/gateway.js'
import { listAt, at } from '../integration/support/json.js'
import type { Spawned } from '../integration/support/spawned.js'
import { until } from '../integration/support/waiting.js'
import type { Scope } from '../support/scope.js'
import { type Said, said } from '../sandbox/support/sandbox.js'
import { type Answer, events, handshake, message, open, read, send } from '../transports/support/http.js'
import { SandboxCommands, marked } from './support/sandbox-commands.js'

const commands = new SandboxCommands({ after: (end) => after(end) }, 'user')

type Headers = Readonly<Record<string, string>>
type Args = Readonly<Record<string, unknown>>

/** A client without a session of the front: whoever has the token. */
class HttpClient {
  readonly #port: number
  readonly #headers: Headers

  constructor(port: number, headers: Headers = {}) {
    this.#port = port
    this.#headers = headers
  }

  async request(method: string, params: object): Promise<Said> {
    return said(valueOf(await this.#send(message(method, 1, params))))
  }

  call(name: string, args: Args): Promise<Said> {
    return this.request('tools/call', { name, arguments: args })
  }

  code(code: string, session_id: string): Promise<Said> {
    return this.call('execute_code', { code, session_id })
  }

  command(command: string, session_id: string): Promise<Said> {
    return this.call('execute_command', { command, session_id })
  }

  async status(body: string, more: Headers = {}): Promise<number> {
    return (await this.#send(body, more)).status
  }

  #send(body: string, more: Headers = {}): Promise<Answer> {
    return send(this.#port, { body, headers: { ...this.#headers, ...more } })
  }
}

/** An answer is JSON or the last of some events. */
function valueOf({ headers, body }: Answer): unknown {
  const isStream = headers['content-type']?.startsWith('text/event-stream') === true
  return JSON.parse(isStream ? (events(body).findLast(({ data }) => data !== '')?.data ?? '') : body)
}

interface Served {
  readonly spawned: Spawned
  readonly port: number
  /** Writes the file again. */
  readonly rewrite: (server: object) => void
}

async function serve(scope: Scope, name: string, server: object = {}, box: object = {}): Promise<Served> {
  const path = join(commands.folder, name)
  const rewrite = (changed: object): void =>
    writeFileSync(
      path,
      JSON.stringify({
        server: { port: 0, ...changed },
        mcpServers: { box: { type: 'sandbox', runtime: 'bubblewrap', ...box } },
      }),
    )
  rewrite(server)
  const spawned = commands.start(scope, ['sandbox', '--config', path])
  const portIn = (): string | undefined => /POST to http:\/\/127\.0\.0\.1:(\d+)/.exec(spawned.stderr)?.[1]
  await until(() => portIn() !== undefined)
  return { spawned, port: Number(portIn()), rewrite }
}

const idsOf = async (client: HttpClient): Promise<unknown[]> =>
  listAt((await client.call('get_sessions', {})).of('sessions')).map((each) => at(each, 'session_id'))

describe('the sandbox over HTTP', () => {
  test('keeps the sessions of two principals apart, whatever ids they guess', async (t) => {
    const { spawned, port, rewrite } = await serve(t, 'two.json', { token: 'token-of-ann' })
    const [ann, bob] = [
      new HttpClient(port, bearer('token-of-ann')),
      new HttpClient(port, bearer('token-of-bob')),
    ]
    await ann.code('x = "of ann"', 's')
    await ann.command('echo of ann > file', 's')
    const session = await send(port, {
      body: message('initialize', 0, { protocolVersion: '2025-06-18' }),
      headers: bearer('token-of-ann'),
    })
    // The one sandbox there is goes on, and another principal comes.
    rewrite({ token: 'token-of-bob' })
    spawned.child.kill('SIGHUP')
    while ((await bob.status(message('ping', 1))) !== 200) await new Promise((done) => setTimeout(done, 20))
    assert.equal(await ann.status(message('ping', 1)), 401)
    const theirs = { 'mcp-session-id': String(session.headers['mcp-session-id']) }
    assert.equal(await bob.status(message('ping', 1), theirs), 404)

    assert.deepEqual(await idsOf(bob), [])
    for (const [name, args] of [
      ['read_file', { session_id: 's', path: 'file' }],
      ['list_files', { session_id: 's' }],
    ] as const)
      assert.equal((await bob.call(name, args)).message, 'Session not found: s', name)
    assert.equal((await bob.call('stop_session', { session_id: 's' })).of('success'), false)
    const read = await bob.request('resources/read', { uri: 'sandbox://s/file' })
    assert.notEqual(read.code, undefined)
    const own = await bob.command('cat file; echo of bob > file', 's')
    assert.equal(own.of('session_created'), true, 'an equal id is another session')
    assert.doesNotMatch(JSON.stringify(own.value), /of ann/)
    assert.match((await bob.code('x', 's')).text, /NameError/)

    rewrite({ token: 'token-of-ann' })
    spawned.child.kill('SIGHUP')
    while ((await ann.status(message('ping', 1))) !== 200) await new Promise((done) => setTimeout(done, 20))
    assert.deepEqual(await idsOf(ann), ['s'])
    assert.equal((await ann.code('x', 's')).text, "'of ann'\n")
    assert.equal((await ann.command('cat file', 's')).text, 'of ann\n')
  })

  test('shows the volumes that are configured, and no file besides', async (t) => {
    const hostPath = join(commands.folder, 'volume')
    mkdirSync(hostPath)
    writeFileSync(join(hostPath, 'file'), 'of the volume\n')
    writeFileSync(join(commands.folder, 'beside'), 'of the host\n')
    const { port } = await serve(t, 'volumes.json', {}, { volumes: [`${hostPath}:/data:ro`] })
    const client = new HttpClient(port)
    const listed = await client.call('get_volume_path', {})
    assert.match(JSON.stringify(listed.value), /\/data/)
    const { text } = await client.command(
      'cat /data/file; echo x > /data/new; ln -s /data/../beside a; echo $?',
      's',
    )
    assert.match(text, /^of the volume\n/)
    assert.match(text, /Read-only file system/)
    for (const path of [
      'a',
      '/data/../beside',
      `${hostPath}/../beside`,
      '../../etc/shadow',
      '/proc/1/environ',
    ]) {
      const given = await client.call('read_file', { session_id: 's', path })
      assert.doesNotMatch(JSON.stringify(given.value), /of the host|root:|HOME=\//, path)
    }
    const elsewhere = await client.call('write_file', { session_id: 's', path: '/data/new', content: 'x' })
    assert.match(elsewhere.message, /Read-only file system/)
  })

  const prefix = 'io.modelcontextprotocol'
  const claim = { [`${prefix}/protocolVersion`]: '2026-07-28', [`${prefix}/clientCapabilities`]: {} }

  /** How clients give up a call whose response is this. */
  const endings: readonly (readonly [
    title: string,
    giveUp: (port: number, session: Headers, response: IncomingMessage) => Promise<unknown>,
    isOwn: boolean,
  ])[] = [
    ['closes its connection (2026-07-28)', async (_port, _session, response) => response.destroy(), true],
    [
      'says so in its session',
      (port, headers) =>
        send(port, { headers, body: message('notifications/cancelled', undefined, { requestId: 7 }) }),
      false,
    ],
    ['ends its session', (port, headers) => send(port, { method: 'DELETE', headers }), false],
  ]
  for (const [index, [title, giveUp, isOwn]] of endings.entries()) {
    test(`ends a call, with its processes, when the client ${title}`, async (t) => {
      const { port } = await serve(t, `closed-${index}.json`)
      const client = new HttpClient(port)
      await client.code('x = 1', 's')
      const mark = `${4_000_000 + process.pid}.${index}`
      const session = isOwn ? {} : await handshake(port, '2025-06-18')
      const name = 'execute_command'
      const params = {
        name,
        arguments: { command: `(setsid sleep ${mark} &); sleep ${mark}`, session_id: 's' },
        _meta: { progressToken: 1, ...(isOwn && claim) },
      }
      const response = open(port, {
        headers: isOwn ? requestFields('tools/call', { name }) : session,
        body: message('tools/call', 7, params),
      })
      await until(() => marked(mark).length === 2)
      const opened = await response
      const isOver = read(opened).catch(() => undefined)
      await giveUp(port, session, opened)
      await until(() => marked(mark).length === 0)
      await isOver
      assert.equal((await client.code('x', 's')).text, '1\n', 'the session goes on')
      assert.deepEqual(await idsOf(client), ['s'])
    })
  }
})
