import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { resolveConfig } from '../../src/config/config.js'
import { createProxy, memoryPair } from '../../src/index.js'
import type { RawClient } from '../integration/support/client.js'
import { at, listAt } from '../integration/support/json.js'
import { clientOf } from '../integration/support/library.js'
import { cli } from '../integration/support/programs.js'
import { type Ran, type Scope, spawnProgram } from '../integration/support/spawned.js'
import { until, untilAnswered } from '../integration/support/waiting.js'
import { FakeMicrosandbox } from '../sandbox/support/fake-microsandbox.js'
import { message } from '../transports/support/http.js'
import { runCommand } from './support/in-process.js'

const folder = mkdtempSync(join(tmpdir(), 'mcps-sandbox-command-'))
after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }))

function fakeFor(t: Scope): FakeMicrosandbox {
  const fake = new FakeMicrosandbox()
  t.after(() => fake.close())
  return fake
}

async function serving(t: Scope, fake: FakeMicrosandbox, args: readonly string[], env: object) {
  const own = { env: { PATH: process.env['PATH'], HOME: folder, ...env } }
  const spawned = spawnProgram(t, process.execPath, [cli, 'sandbox', ...args], own)
  const origin = /POST to (http:\/\/\S+?)\/mcp/
  await until(() => origin.test(spawned.stderr))
  const end = async (): Promise<void> => {
    spawned.child.kill('SIGTERM')
    assert.equal(await spawned.exited, 0)
    assert.equal(fake.running.size, 0, 'every session was stopped')
  }
  return { spawned, url: origin.exec(spawned.stderr)?.[1] ?? '', end }
}

const refusal = (args: readonly string[], env: object = {}): Promise<Ran> =>
  runCommand(['sandbox', ...args], { PATH: process.env['PATH'], HOME: folder, ...env })

const json = async (url: string, init?: RequestInit): Promise<unknown> => (await fetch(url, init)).json()

const ask = (url: string, method: string, params: object = {}): Promise<unknown> =>
  json(`${url}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: message(method, 1, params),
  })

const call = (url: string, name: string, args: object): Promise<unknown> =>
  ask(url, 'tools/call', { name, arguments: args })

async function run(raw: RawClient, code: string): Promise<unknown> {
  const { value } = await raw.call('py__execute_code', { code, session_id: 's' })
  return at(value, 'result', 'content', 0, 'text')
}

const env = (serverUrl: string): NodeJS.ProcessEnv => ({
  MSB_RUNTIME: 'microsandbox-server',
  MSB_SERVER_URL: serverUrl,
})

describe('mcps-proxy sandbox', () => {
  test('serves one sandbox under the names of its tools, with its pages', async (t) => {
    const fake = fakeFor(t)
    const { url, end } = await serving(t, fake, ['--port', '0'], env(await fake.listen()))
    const coded = await call(url, 'execute_code', { code: 'x=41', session_id: 's' })
    assert.equal(at(coded, 'result', 'code_success'), true)
    const volumes = await call(url, 'get_volume_mappings', {})
    assert.deepEqual(at(volumes, 'result', 'volume_mappings'), [], 'the older name works')
    const wrong = await call(url, 'execute_code', {})
    assert.equal(at(wrong, 'error', 'message'), 'Missing required parameter: code')
    const members = {
      status: 'healthy',
      wrapper_started: true,
      tools_count: 8,
      available_tools: [
        'execute_code',
        'execute_command',
        'get_sessions',
        'stop_session',
        'get_volume_path',
        'read_file',
        'write_file',
        'list_files',
      ],
      runtime: 'microsandbox-server',
      isolation: 'vm',
    }
    for (const path of ['/', '/mcp']) {
      const page = Object(await json(url + path))
      for (const [name, value] of Object.entries(members)) assert.deepEqual(page[name], value, path + name)
      assert.equal(typeof page.version, 'string')
    }
    const preflight = await fetch(`${url}/mcp`, { headers: { origin: 'http://127.0.0.1' } })
    const allowed = preflight.headers.get('access-control-allow-origin')
    assert.equal(allowed, null, 'no page may call unless asked for')
    await end()
  })

  test('takes the only sandbox of a file, and its front', async (t) => {
    const fake = fakeFor(t)
    const path = join(folder, 'one.json')
    const sandbox = { type: 'sandbox', runtime: 'microsandbox-server', serverUrl: await fake.listen() }
    const servers = { box: { ...sandbox, files: false }, other: { command: 'no-such-program' } }
    writeFileSync(path, JSON.stringify({ server: { port: 0 }, mcpServers: servers }))
    const { url, end } = await serving(t, fake, ['--config', path], {})
    assert.equal(at(await json(url), 'tools_count'), 5)
    await end()
    const two = join(folder, 'two.json')
    writeFileSync(two, JSON.stringify({ mcpServers: { a: sandbox, b: sandbox } }))
    const { code, err } = await refusal(['--config', two])
    assert.equal(code, 2)
    assert.match(err, /has 2 sandboxes; must have one server with "type": "sandbox" that is enabled/)
  })

  test('follows its file: a changed sandbox begins anew, a file it cannot use changes nothing, others stay out', async (t) => {
    const fake = fakeFor(t)
    const path = join(folder, 'changing.json')
    const sandbox = { type: 'sandbox', runtime: 'microsandbox-server', serverUrl: await fake.listen() }
    const other = { command: process.execPath, args: ['-e', 'process.stdin.resume()'] }
    const write = (box: object): void =>
      writeFileSync(
        path,
        JSON.stringify({ server: { port: 0 }, mcpServers: { box: { ...sandbox, ...box }, other } }),
      )
    write({})
    const { spawned, url, end } = await serving(t, fake, ['--config', path], {})
    const page = async (): Promise<unknown> => at(await json(`${url}/mcp`), 'tools_count')
    const code = async (text: string): Promise<unknown> =>
      at(await call(url, 'execute_code', { code: text, session_id: 's' }), 'result', 'content', 0, 'text')
    const reread = async (words: RegExp): Promise<void> => {
      spawned.child.kill('SIGHUP')
      await until(() => words.test(spawned.stderr))
    }
    assert.equal(await page(), 8)
    await code('x=5')
    await reread(/SIGHUP: reading the configuration again/)
    assert.equal(await code('x'), '5\n', 'what is the same goes on')
    write({ maxSessions: 'many' })
    await reread(/cannot be used and nothing is changed/)
    assert.equal(await code('x'), '5\n')
    write({ files: false })
    await untilAnswered(async () => (await page()) === 5)
    assert.match(String(await code('x')), /NameError/)
    assert.equal(fake.running.size, 1, 'the session before has ended')
    const listed = await ask(url, 'tools/list')
    const names = listAt(listed, 'result', 'tools').map((tool) => at(tool, 'name'))
    assert.deepEqual([names.slice(0, 2), names.length], [['execute_code', 'execute_command'], 5])
    await end()
  })

  test('does not start where nothing can run the code, and says what would mend that', async (t) => {
    const { code, err } = await refusal(['--port', '0'], env('http://127.0.0.1:1'))
    assert.equal(code, 1)
    assert.match(err, /no sandbox runtime can be used/)
    const why = 'the server cannot be reached'
    assert.match(err, new RegExp(`microsandbox-server: ${why}: .*; start one with: msb server start`))
    const fake = fakeFor(t)
    for (const [url, code, want] of [
      ['http://127.0.0.1:1', 1, `not usable: ${why}`],
      [await fake.listen(), 0, 'usable: isolation vm, limits by the server; used only when it is named'],
    ] as const) {
      const checked = await refusal(['--check'], env(url))
      assert.equal(checked.code, code)
      assert.match(checked.out, new RegExp(`microsandbox-server +${want}`))
    }
  })

  test('beside other servers has its name before those of its tools, and apart sessions behind a token', async (t) => {
    const fake = fakeFor(t)
    const serverUrl = await fake.listen()
    const py = { type: 'sandbox', runtime: 'microsandbox-server', serverUrl } as const
    const log: string[] = []
    const proxy = await createProxy(
      resolveConfig(
        { server: { token: 'secret-token' }, mcpServers: { py } },
        { source: 'test', folder, env: {}, home: folder },
      ),
      { log: ({ message }) => void log.push(message) },
    )
    const client = async (principal: string | undefined): Promise<RawClient> => {
      const [ours, theirs] = memoryPair()
      await proxy.attach(theirs, { principal })
      return clientOf(ours)
    }
    const [ann, alsoAnn, bob, nobody] = [
      await client('ann'),
      await client('ann'),
      await client('bob'),
      await client(undefined),
    ]
    await run(ann, 'x=ann')
    await run(bob, 'x=bob')
    assert.equal(await run(alsoAnn, 'x'), 'ann\n')
    assert.equal(await run(bob, 'x'), 'bob\n')
    assert.match(String(await run(nobody, 'x')), /NameError/)
    const meta = { 'mcps-proxy/principal': 'ann' }
    const { value } = await bob.call('py__execute_code', { code: 'x', session_id: 's' }, meta)
    assert.equal(at(value, 'result', 'content', 0, 'text'), 'bob\n', 'no client says whose it is')
    assert.equal(fake.running.size, 3)
    const states = proxy.status().map(({ kind, state, tools }) => [kind, state, tools])
    assert.deepEqual(states, [['sandbox', 'connected', 8]])
    await proxy.close()
    assert.equal(fake.running.size, 0)
  })
})
