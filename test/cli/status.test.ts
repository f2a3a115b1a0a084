import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { type TestContext, describe, test } from 'node:test'
import { readArguments } from '../../src/cli/commands.js'
import { gatewayPage } from '../../src/gateway/status.js'
import type { UpstreamStatus } from '../../src/upstream/contracts/upstream.js'
import { at, parsed } from '../integration/support/json.js'
import { type Ran, configFile, scratch } from '../integration/support/spawned.js'
import { listening } from '../support/listening.js'
import { runCommand } from './support/in-process.js'

const upstream = {
  name: 'files',
  kind: 'stdio',
  state: 'connected',
  error: undefined,
  connectedAtMs: undefined,
  pids: [17],
  revision: '2025-06-18',
  evidence: undefined,
  tools: 2,
  gauges: { inFlight: 0, queued: 0, slots: 0, restarts: 0, memoryBytes: undefined },
} as const
const failed = {
  ...upstream,
  name: 'git\u001b[2J',
  state: 'error',
  error: 'no such program',
  pids: [],
  revision: undefined,
  tools: 0,
} as const
const ready = statusOf(upstream)

function statusOf(...servers: UpstreamStatus[]): string {
  const client = { name: 'Ed', version: '2' }
  const session = { client, revision: '2025-06-18', connectedAtMs: 0, processes: [], unreadBytes: 0 }
  const proxy = { status: () => servers, sessions: () => [session] }
  const address = { port: 1, origin: 'http://127.0.0.1:1' }
  return gatewayPage(address, 61_000, new Map([['default', proxy]]))
}

interface Answer {
  readonly status?: number
  readonly body: string
}

/** A gateway with one answer for requests with the token. `seen` has the header fields of requests. */
async function gateway(
  t: TestContext,
  { status = 200, body }: Answer,
): Promise<{ url: string; seen: string[] }> {
  const seen: string[] = []
  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url} ${request.headers.authorization}`)
    const isAllowed = request.headers.authorization === 'Bearer abcdefgh'
    response.writeHead(isAllowed ? status : 401).end(isAllowed ? body : '')
  })
  return { url: `http://127.0.0.1:${await listening(t, server)}`, seen }
}

const status = (t: TestContext, ...args: string[]): Promise<Ran> => statusIn(t, {}, ...args)

const statusIn = (t: TestContext, more: NodeJS.ProcessEnv, ...args: string[]): Promise<Ran> =>
  runCommand(['status', ...args], { PATH: process.env['PATH'], HOME: scratch(t), ...more })

const token = ['-H', 'Authorization: Bearer abcdefgh']

describe('status', () => {
  test('prints servers and clients, and ends with 1 when a server has failed', async (t) => {
    const { url, seen } = await gateway(t, { body: statusOf(upstream, failed) })
    const { code, out } = await status(t, url, ...token)
    assert.equal(
      out,
      `${url}, up for 00:01:01

default: 1 of 2 servers ready, 2 tools, 1 client
  files         connected       2 tools, 2025-06-18, pid 17
  git\\u001b[2J  error           0 tools, no such program
  Ed 2, 2025-06-18, since 1970-01-01T00:00:00.000Z
`,
    )
    assert.deepEqual([code, seen], [1, ['GET /api/status Bearer abcdefgh']])
  })

  test('without an address asks the gateway of the configuration, with its token', async (t) => {
    const { url } = await gateway(t, { body: ready })
    for (const token of ['abcdefgh', '${MISSING:-abcdefgh}', '${cmd:printf abcdefgh}']) {
      const config = configFile(t, {}, { server: { port: Number(new URL(url).port), token } })
      const { code, out } = await status(t, '--config', config, '--json')
      assert.deepEqual([code, at(parsed(out), 'summary', 'totalTools')], [0, 2], token)
    }
  })

  test('asks no other gateway where the file that was named is missing or broken', async (t) => {
    const { url, seen } = await gateway(t, { body: ready })
    const { port } = new URL(url)
    const broken = configFile(t, {}, { logging: 1 })
    const env = { MCP_SERVER_PORT: port, MCPS_PROXY_TOKEN: 'abcdefgh' }
    for (const config of [broken, `${broken}.missing`])
      for (const { code, err } of [
        await statusIn(t, env, '--config', config),
        await statusIn(t, { ...env, MCPS_PROXY_CONFIG: config }),
      ]) {
        assert.equal(code, 2, err)
        assert(err.includes(config), err)
      }
    assert.deepEqual(seen, [])
  })

  for (const [title, placeOf] of [
    ['gateway', (url: string) => [url]],
    ['port', (url: string) => ['--port', new URL(url).port]],
  ] as const)
    test(`sends no token of the configuration to another ${title}`, async (t) => {
      const { url, seen } = await gateway(t, { body: ready })
      const config = configFile(t, {}, { server: { token: 'abcdefgh' } })
      const { code, err } = await status(t, ...placeOf(url), '--config', config)
      assert.equal(code, 1)
      assert.match(err, /wants a token, or another one; -H 'Authorization: Bearer …' passes one/)
      assert.deepEqual(seen, ['GET /api/status undefined'])
    })

  for (const [title, answer] of [
    ['text', { body: 'hello' }],
    ['another object', { body: '{"status":"ok"}' }],
    ['an error', { status: 404, body: ready }],
    ['an error in words', { status: 404, body: 'Not Found' }],
  ] as const)
    test(`says that ${title} comes from no gateway`, async (t) => {
      const { url } = await gateway(t, answer)
      const { code, err } = await status(t, url, ...token)
      assert.equal(code, 1)
      assert.match(err, /is no mcps-proxy gateway \(status \d+ for \/api\/status\)/)
    })

  test('says that no gateway answers, and what starts one', async (t) => {
    const server = createServer()
    const url = `http://127.0.0.1:${await listening(t, server)}`
    await new Promise((resolve) => server.close(resolve))
    const { code, err } = await status(t, url)
    assert.equal(code, 1)
    assert.match(err, /no gateway answers at http:\S+ \(ECONNREFUSED\); mcps-proxy http starts one, and/)
  })

  for (const [line, wanted] of [
    ['status 127.0.0.1:3095', /takes the address of a gateway, like http/],
    ['status http://a http://b', /unexpected argument/],
    ['status -- x', /takes nothing behind --/],
    ['status http://a --port 1', /URL and --port cannot be used together/],
    ['status http://a -H x', /--header number 1 is no header field/],
  ] as const)
    test(`refuses: ${line}`, async () => assert.rejects(readArguments(line.split(' ')), wanted))
})
