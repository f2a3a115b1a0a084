// The search service whose quirks the proxy has to know, with a good key and with every refusal of a bad one.

import { strict as assert } from 'node:assert'
import type { ServerResponse } from 'node:http'
import { describe, test } from 'node:test'
import { at, textAt } from '../integration/support/json.js'
import { cli } from '../integration/support/programs.js'
import { type Spawned, configFile, spawnProgram } from '../integration/support/spawned.js'
import {
  type Scope,
  type Scripted,
  type Seen,
  answerOf,
  json,
  scripted,
} from '../transports/support/scripted.js'

const KEY = 'CANARY.good-key-1234567890'
const INIT =
  '{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"web_search_prime","version":"1"}}'
const TOOLS =
  '{"tools":[{"name":"web_search_prime","inputSchema":{"type":"object","properties":{"search_query":{"type":"string"}},"required":["search_query"]}}]}'
/** JSON in a string in JSON, as the service has it. */
const FOUND = JSON.stringify(JSON.stringify([{ title: 'é "t"', link: 'https://a.example', content: 'c' }]))

type Refuse = (seen: Seen, response: ServerResponse) => void

const wrongKey = '{"code":401,"msg":"token expired or incorrect","success":false}'
const noKey =
  '{"code":1001,"msg":"Authentication parameter not received in Header, unable to authenticate","success":false}'
const inResult = (text: string): string =>
  JSON.stringify({ content: [{ type: 'text', text }], isError: true })

/** Every way in which the service and the gateway in front of it say that the key is no good. */
const refusals: readonly (readonly [string, Refuse])[] = [
  ['HTTP 401', (_seen, response) => response.writeHead(401).end()],
  ['HTTP 401 with a JSON body', (_seen, response) => json(response, wrongKey, 401)],
  [
    'HTTP 403',
    (_seen, response) =>
      response.writeHead(403).end('You do not have permission to access search-prime-claude'),
  ],
  ['HTTP 200, the key is wrong', (_seen, response) => json(response, wrongKey)],
  ['HTTP 200, there is no key', (_seen, response) => json(response, noKey)],
  [
    'HTTP 200, pretty printed',
    (_seen, response) => json(response, JSON.stringify(JSON.parse(wrongKey), null, 2)),
  ],
]

/** One event as the service writes it. */
function say(response: ServerResponse, message: string): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.end(`id:1\nevent:message\ndata:${message}\n\n`)
}

/** The service: it keeps sessions, and says everything as events. */
function service(scope: Scope, call: Refuse): Promise<Scripted> {
  let sessions = 0
  return scripted(scope, (seen, response) => {
    if (seen.method !== 'POST') return void response.writeHead(405).end()
    if (seen.rpc === 'initialize') {
      response.setHeader('mcp-session-id', `s-${++sessions}`)
      return say(response, answerOf(seen.id, INIT))
    }
    if (seen.headers['mcp-session-id'] === undefined) return json(response, '{"stackTrace":[]}', 400)
    if (seen.id === undefined) return void response.writeHead(202).end()
    if (seen.rpc === 'tools/list') return say(response, answerOf(seen.id, TOOLS))
    call(seen, response)
  })
}

function proxyTo(scope: Scope, url: string, env: Readonly<Record<string, string>>): Spawned {
  const entry = { type: 'http', url, headers: { Authorization: 'Bearer ${Z_AI_API_KEY}' }, retries: 0 }
  const config = configFile(scope, { 'zhipu-web-search': entry })
  return spawnProgram(scope, process.execPath, [cli, '--stdio', '--verbose', '--config', config], {
    env: { PATH: process.env['PATH'], HOME: '/nonexistent', ...env },
  })
}

const tool = 'zhipu-web-search__web_search_prime'
const wanted = {
  code: -32603,
  message: 'Authentication failed: Invalid or missing Z_AI_API_KEY',
  data: { service: 'zhipu-web-search' },
}

describe('a key that is refused', () => {
  test('at a call is always said the same', async (t) => {
    let refuse = refusals[0]?.[1]
    const { url } = await service(t, (seen, response) => refuse?.(seen, response))
    const spawned = proxyTo(t, url.href, { Z_AI_API_KEY: KEY })
    await spawned.client.open()
    for (const [title, shape] of refusals) {
      refuse = shape
      const { value } = await spawned.client.call(tool, { search_query: 'x' })
      assert.deepEqual(at(value, 'error'), wanted, title)
    }
    assert.equal(spawned.stderr.includes('CANARY'), false)
  })
})

test('a key that is good finds, and other troubles are not mistaken for it', async (t) => {
  let answer: Refuse = (seen, response) =>
    say(response, answerOf(seen.id, `{"content":[{"type":"text","text":${JSON.stringify(FOUND)}}]}`))
  const { url, seen } = await service(t, (one, response) => answer(one, response))
  const spawned = proxyTo(t, url.href, { Z_AI_API_KEY: KEY })
  const { client } = spawned
  await client.open()
  const call = () => client.call(tool, { search_query: 'x' })
  assert.equal(textAt((await call()).value, 'result', 'content', 0, 'text'), FOUND)
  assert.ok(seen.every(({ headers }) => headers.authorization === `Bearer ${KEY}`))
  const others: [Refuse, RegExp][] = [
    [(one, response) => say(response, answerOf(one.id, inResult('搜索内容不能为空'))), /"isError":true/],
    [
      (_one, response) => json(response, '{"code":1113,"msg":"余额不足","success":false}'),
      /"reason":"invalid-answer"/,
    ],
    [(_one, response) => response.writeHead(429).end('{"code":1310}'), /HTTP 429/],
  ]
  for (const [shape, told] of others) {
    answer = shape
    const { text } = await call()
    assert.match(text, told)
    assert.doesNotMatch(text, /Authentication failed/)
  }
  assert.equal(spawned.stderr.includes('CANARY'), false)
})
