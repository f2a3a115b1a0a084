import assert from 'node:assert/strict'
import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { type RawClient, said } from '../integration/support/client.js'
import { at, textAt } from '../integration/support/json.js'
import { cli, itServer } from '../integration/support/programs.js'
import {
  type Scope,
  type Servers,
  scratch,
  spawnGateway,
  spawnProgram,
} from '../integration/support/spawned.js'
import { gone, until, untilAnswered } from '../integration/support/waiting.js'
import { message, send } from '../transports/support/http.js'

const a = itServer({ IT_NAME: 'a' })
const b = itServer({ IT_NAME: 'b' })

const text = (servers: Servers, more: object = {}): string => JSON.stringify({ ...more, mcpServers: servers })

/** `--stdio` with server `a`, after it has noticed a first change of its file. */
async function running(t: Scope, make: (file: string, first: string) => void = writeFileSync) {
  const folder = scratch(t)
  const file = join(folder, 'config.json')
  make(file, text({ a }))
  const proxy = spawnProgram(t, process.execPath, [cli, '--stdio', '--config', file])
  await proxy.client.open()
  writeFileSync(file, text({ a, watched: b }))
  await has(proxy.client, 'watched__nonce')
  proxy.stderr = ''
  return { proxy, client: proxy.client, folder, file }
}

async function has(client: RawClient, tool: string): Promise<void> {
  await untilAnswered(async () => at((await client.call(tool, { n: '' })).value, 'result') !== undefined)
}

const count = (text: string, wanted: string): number => text.split(wanted).length - 1

/** Writes in place and slowly, as some editors do, so that the proxy sees half of the file. */
async function inTwoHalves(file: string, contents: string, between: () => Promise<void>): Promise<void> {
  const fd = openSync(file, 'r+')
  ftruncateSync(fd)
  writeSync(fd, contents.slice(0, contents.length / 2))
  await between()
  writeSync(fd, contents.slice(contents.length / 2))
  closeSync(fd)
}

describe('mcps-proxy --stdio follows its configuration file', () => {
  test('SIGHUP: what is new is there, what is the same goes on, and the process too', async (t) => {
    const { proxy, client, file } = await running(t)
    const before = await client.pidOf('a__nonce')
    const held = client.call('a__hold', { key: 'k' })
    writeFileSync(file, text({ a, b }))
    proxy.child.kill('SIGHUP')
    await until(() => proxy.stderr.includes('SIGHUP: reading the configuration again'))
    await has(client, 'b__nonce')
    assert.equal(await client.pidOf('a__nonce'), before)
    await client.call('a__release', { key: 'k' })
    assert.equal(textAt(said(await held), 'n'), 'k')
    const other = await client.pidOf('b__nonce')
    assert.equal(await proxy.finish(), 0)
    for (const pid of [before, other]) assert(gone(pid))
  })

  test('written by any editor: used once, without being told', async (t) => {
    const { proxy, client, folder, file } = await running(t)
    const before = await client.pidOf('a__nonce')
    const editors: readonly ((contents: string) => void | Promise<void>)[] = [
      // In place.
      (contents) => writeFileSync(file, contents),
      // Written elsewhere, and renamed.
      (contents) => {
        writeFileSync(join(folder, '.config.json.tmp'), contents)
        renameSync(join(folder, '.config.json.tmp'), file)
      },
      // Deleted, and created again later.
      async (contents) => {
        rmSync(file)
        await until(() => proxy.stderr.includes('is not there'))
        writeFileSync(file, contents)
      },
      // In two halves.
      (contents) =>
        inTwoHalves(file, contents, () => until(() => proxy.stderr.includes('is not JSON at line'))),
    ]
    for (const [nth, write] of editors.entries()) {
      await write(text({ a, [`b${nth}`]: b }))
      await has(client, `b${nth}__nonce`)
      assert.equal(await client.pidOf('a__nonce'), before)
      assert.equal(count(proxy.stderr, 'configuration changed'), nth + 1)
    }
  })

  test('a link that points elsewhere, or whose target is written: used without being told', async (t) => {
    const elsewhere = scratch(t)
    const [first, second] = [join(elsewhere, 'first.json'), join(elsewhere, 'second.json')]
    const { client, file } = await running(t, (link, contents) => {
      writeFileSync(first, contents)
      symlinkSync(first, link)
    })
    writeFileSync(first, text({ a, b }))
    await has(client, 'b__nonce')
    writeFileSync(second, text({ a, c: b }))
    symlinkSync(second, `${file}.new`)
    renameSync(`${file}.new`, file)
    await has(client, 'c__nonce')
  })

  test('an invalid file changes nothing, and every problem is logged for each write', async (t) => {
    const { proxy, client, file } = await running(t)
    const before = await client.pidOf('a__nonce')
    const problem = 'mcpServers.b.timeout is'
    const bad = { a: { ...a, args: 'x' }, b: { ...b, timeout: 'long' } }
    writeFileSync(file, text(bad))
    await until(() => proxy.stderr.includes(problem))
    assert.match(proxy.stderr, /cannot be used and nothing is changed: 2 problems/)
    assert.match(proxy.stderr, /mcpServers\.a\.args is /)
    // The same text in a new file.
    writeFileSync(`${file}.new`, text(bad))
    renameSync(`${file}.new`, file)
    await until(() => count(proxy.stderr, problem) === 2)
    proxy.child.kill('SIGHUP')
    await until(() => count(proxy.stderr, problem) === 3)
    assert.equal(await client.pidOf('a__nonce'), before)
    const changes = client.count((value) => textAt(value, 'method').includes('list_changed'))
    assert.equal(changes, 0)
    writeFileSync(file, text({ a }, { schemas: {} }))
    await until(() => proxy.stderr.includes('schemas'))
    assert.equal(await client.pidOf('a__nonce'), before)
  })

  test('the log level changes immediately, secrets are kept, and keys that need a restart are named', async (t) => {
    const { proxy, client, file } = await running(t)
    const secret = 'a-new-secret-value'
    const logging = { level: 'debug', file: join(file, '..', 'x.log'), maxFiles: 2 }
    const missing = { command: `/nowhere/${secret}`, env: { API_KEY: secret } }
    writeFileSync(
      file,
      text(
        { a, b, missing },
        {
          logging,
          processesMax: 2,
          server: { metrics: { port: 0 }, ui: { redact: false }, drainTimeout: 1 },
        },
      ),
    )
    await has(client, 'b__nonce')
    await until(() => proxy.stderr.includes('/nowhere/[redacted]'))
    await until(() => proxy.stderr.includes('logging.maxFiles has changed, which needs a restart'))
    assert.match(proxy.stderr, /logging\.file has changed/)
    await until(() => proxy.stderr.includes('processesMax has changed, which needs a restart'))
    await until(() => proxy.stderr.includes('server.drainTimeout has changed, which needs a restart'))
    await until(() => proxy.stderr.includes('server.metrics has changed, which needs a restart'))
    await until(() => proxy.stderr.includes('server.ui has changed, which needs a restart'))
    client.send('{"jsonrpc":"2.0","id":77,"result":{}}')
    await until(() => proxy.stderr.includes('"level":"debug"'))
    assert(!proxy.stderr.includes(secret))
  })

  test('a file that is written while the built-in configuration runs is used', async (t) => {
    const home = scratch(t)
    const env = { ...process.env, HOME: home, MCPS_PROXY_CONFIG: '' }
    const { client } = spawnProgram(t, process.execPath, [cli, '--stdio'], { env })
    await client.open()
    mkdirSync(join(home, '.mcps-proxy'), { recursive: true })
    writeFileSync(join(home, '.mcps-proxy', 'config.json'), text({ a }))
    await has(client, 'a__nonce')
  })

  test('without a file, SIGHUP is survived', async (t) => {
    const env = { ...process.env, HOME: scratch(t), MCPS_PROXY_CONFIG: '' }
    const embedded = spawnProgram(t, process.execPath, [cli, '--stdio'], { env })
    await embedded.client.open()
    embedded.child.kill('SIGHUP')
    await until(() => embedded.stderr.includes('1 kept'))
    await embedded.client.request('ping')
    const remote = spawnProgram(t, process.execPath, [cli, '--url', 'http://127.0.0.1:9/mcp'], { env })
    await remote.client.request('ping')
    remote.child.kill('SIGHUP')
    await until(() => remote.stderr.includes('there is no configuration file to read'))
    await remote.client.request('ping')
  })
})

const pid = (answer: string): string | undefined => /\\"pid\\":(\d+)/.exec(answer)?.[1]

test('mcps-proxy --http follows its configuration file: token and servers change; processes and the port do not', async (t) => {
  const file = join(scratch(t), 'config.json')
  const write = (server: object, servers: Servers): void =>
    writeFileSync(file, text(servers, { server: { port: 0, ...server } }))
  write({}, { a })
  const { proxy, port } = await spawnGateway(t, ['--http', '--config', file])
  const body = message('tools/call', 1, { name: 'a__nonce', arguments: { n: '' } })
  const before = pid((await send(port, { body })).body)
  assert(before !== undefined)
  write({ token: 'a-token', port: 1 }, { b, a })
  proxy.child.kill('SIGHUP')
  await until(() => proxy.stderr.includes('server.port has changed, which needs a restart'))
  const headers = { authorization: 'Bearer a-token' }
  await untilAnswered(
    async () => (await send(port, { body })).status === 401,
    () => proxy.stderr,
  )
  assert.equal(pid((await send(port, { body, headers })).body), before)
  proxy.child.kill('SIGTERM')
  assert.equal(await proxy.exited, 0)
})
