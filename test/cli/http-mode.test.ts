import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bannerRecord, bannerText, httpBanner } from '../../src/cli/console.js'
import { resolveConfig } from '../../src/config/config.js'
import { noPaint } from '../../src/log/lines.js'
import { version } from '../../src/version.js'
import { cli, time } from '../integration/support/programs.js'
import { Spawned, configFile, spawnGateway } from '../integration/support/spawned.js'
import { until } from '../integration/support/waiting.js'
import { message, send } from '../transports/support/http.js'
import { runCommand } from './support/in-process.js'

test('the banner says where everything is', () => {
  const value = {
    server: { name: 'me', token: 'a-token-that-is-long' },
    schemas: { default: { mcpServers: { Time: { command: 'x' } } }, 'a.b': { mcpServers: {} } },
  }
  const config = resolveConfig(value, { source: 'f.json', folder: '/', env: {} })
  const place = { host: '127.0.0.1', origin: 'http://127.0.0.1:1' }
  assert.equal(
    bannerText(httpBanner(config, place), noPaint),
    `me ${version}
  mode     http, with a bearer token
  group    default (1 server: Time) at /mcp
  group    a.b (0 servers) at /api/a.b/mcp
  config   f.json
  status   http://127.0.0.1:1/api/status
JSON-RPC 2.0 ready: POST to http://127.0.0.1:1/mcp, Ctrl-C ends
`,
  )
  assert.deepEqual(bannerRecord(httpBanner(config, place)), {
    level: 'info',
    message: 'JSON-RPC 2.0 ready: POST to http://127.0.0.1:1/mcp',
    details: {
      program: `me ${version}`,
      mode: 'http, with a bearer token',
      config: 'f.json',
      status: 'http://127.0.0.1:1/api/status',
      schemas: ['default (1 server: Time) at /mcp', 'a.b (0 servers) at /api/a.b/mcp'],
    },
  })
  const banner = bannerText(httpBanner(config, { ...place, host: '::' }), noPaint)
  assert.match(banner, /mode {5}http on every address of this machine, with/)
})

test('does not open itself to the network without a token', async (t) => {
  const file = configFile(t, { Time: time })
  const refused = await runCommand(['-c', file, '--host', '0.0.0.0', '--port', '0'])
  assert.deepEqual([refused.code, refused.out], [2, ''])
  assert.match(refused.err, /MCPS_PROXY_TOKEN.*--allow-unauthenticated/)
  const token = 'tok-0123456789'
  const env = { ...process.env, MCPS_PROXY_TOKEN: token }
  const closed = await spawnGateway(t, ['-c', file, '--host', '0.0.0.0', '--port', '0'], { env })
  assert.equal((await send(closed.port, { body: message('ping', 1) })).status, 401)
  const headers = { authorization: `Bearer ${token}` }
  assert.equal((await send(closed.port, { body: message('ping', 1), headers })).status, 200)
  closed.proxy.child.kill('SIGTERM')
  await closed.proxy.exited
  assert.ok(!closed.proxy.stderr.includes(token))
  const open = await spawnGateway(t, ['-c', file, '--host', '0.0.0.0', '-p', '0', '--allow-unauthenticated'])
  assert.equal((await send(open.port, { body: message('ping', 1) })).status, 200)
  assert.match(open.proxy.stderr, /POST to http:\/\/127\.0\.0\.1:\d+\/mcp/, 'an address that can be used')
  assert.match(open.proxy.stderr, /"level":"warn".*no token: everybody who can reach 0\.0\.0\.0/)
})

test('serves on for the drain delay while it is not ready; another signal ends it at once', async (t) => {
  const file = configFile(t, { Time: time }, { server: { port: 0, drainDelay: 3_600_000 } })
  const { port, proxy } = await spawnGateway(t, ['-c', file])
  const ready = async (): Promise<number> => (await send(port, { path: '/ready', method: 'GET' })).status
  assert.equal(await ready(), 200)
  proxy.child.kill('SIGTERM')
  await until(() => proxy.stderr.includes('SIGTERM: closing'))
  assert.equal(await ready(), 503)
  assert.equal((await send(port, { body: message('ping', 1) })).status, 200)
  proxy.child.kill('SIGTERM')
  assert.equal(await proxy.exited, 143)
})

const hello = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}\n'
const cases: [string, readonly string[], boolean][] = [
  ['is told at once that a mode is missing', [], true],
  ['is not told when HTTP was asked for', ['--http'], false],
]
for (const [title, args, isTold] of cases)
  test(`a client that speaks on stdin: ${title}`, async (t) => {
    const config = configFile(t, { time })
    const proxy = new Spawned(process.execPath, [cli, ...args, '--port', '0', '--config', config])
    t.after(() => proxy.kill())
    proxy.write(hello)
    await until(() => (isTold ? /a client writes to stdin/ : /JSON-RPC 2\.0 ready/).test(proxy.stderr))
    const told = /a client writes to stdin.*add --stdio.*mcps-proxy --stdio/
    assert.equal(told.test(proxy.stderr), isTold, proxy.stderr)
  })
