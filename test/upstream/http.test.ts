import { strict as assert } from 'node:assert'
import { type ChildProcess, spawn } from 'node:child_process'
import type { ServerResponse } from 'node:http'
import { resolve } from 'node:path'
import { describe, test } from 'node:test'
import { type Heard, failure } from '../integration/support/client.js'
import { at, listAt, textAt } from '../integration/support/json.js'
import { freePort } from '../integration/support/free-port.js'
import { libraryProxy } from '../integration/support/library.js'
import { root } from '../integration/support/programs.js'
import { until, untilAnswered } from '../integration/support/waiting.js'
import { INIT, TOOLS } from '../transports/support/one-tool.js'
import { type Handler, type Scope, answerOf, events, json, scripted } from '../transports/support/scripted.js'
import { remote, toolServer } from './support/remote.js'

const keyed = { headers: { Authorization: 'Bearer ${SEARCH_TEST_KEY}' }, retries: 0 }
process.env['SEARCH_TEST_KEY'] = 'CANARY-key-value'

function error(heard: Heard): unknown {
  return at(heard.value, 'error')
}

async function gone(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL')
  await new Promise((done) => child.once('close', done))
}

/** Starts server-everything on a loopback port. */
async function everything(scope: Scope, mode: 'sse' | 'streamableHttp'): Promise<string> {
  const port = await freePort()
  const program = resolve(root, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js')
  const child = spawn(process.execPath, [program, mode], {
    env: { ...process.env, PORT: String(port) },
    stdio: 'ignore',
  })
  scope.after(() => gone(child))
  const url = `http://127.0.0.1:${port}/${mode === 'sse' ? 'sse' : 'mcp'}`
  await untilAnswered(() =>
    fetch(url, { method: 'OPTIONS' }).then(
      () => true,
      () => false,
    ),
  )
  return url
}

for (const mode of ['streamableHttp', 'sse'] as const)
  test(`server-everything over ${mode}: sampling, elicitation and roots of two clients`, async (t) => {
    const url = await everything(t, mode)
    const { attach } = await libraryProxy(t, { e: { url } })
    const open = async (name: string) => {
      const { client } = await attach()
      client.onRequest = (method) => {
        if (method === 'roots/list') return `{"roots":[{"uri":"file:///${name}","name":"${name}"}]}`
        if (method === 'elicitation/create') return `{"action":"accept","content":{"name":"${name}"}}`
        return `{"role":"assistant","model":"m","content":{"type":"text","text":"sampled by ${name}"}}`
      }
      await client.open({ sampling: {}, elicitation: {}, roots: { listChanged: true } }, '2025-11-25')
      const has = async (): Promise<boolean> => {
        const tools = listAt((await client.request('tools/list')).value, 'result', 'tools')
        return tools.some((tool) => at(tool, 'name') === 'e__get-roots-list')
      }
      // The client's own session with the server begins with its first call, and offers more tools.
      await client.call('e__echo', { message: name })
      while (!(await has())) await new Promise((done) => setTimeout(done, 50))
      return client
    }
    const clients = await Promise.all(['ann', 'bob'].map(async (name) => [name, await open(name)] as const))
    await Promise.all(
      clients.map(async ([name, client]) => {
        const sampled = await client.call('e__trigger-sampling-request', { prompt: 'p' })
        assert.match(sampled.text, new RegExp(`sampled by ${name}`))
        assert.match((await client.call('e__trigger-elicitation-request')).text, new RegExp(`Name: ${name}`))
        assert.match((await client.call('e__get-roots-list')).text, new RegExp(`file:///${name}`))
        const long = await client.call(
          'e__trigger-long-running-operation',
          { duration: 0.3, steps: 3 },
          { progressToken: 't' },
        )
        assert.match(long.text, /completed/)
        const shown = client.count((value) => at(value, 'method') === 'notifications/progress')
        assert.equal(shown, 3)
      }),
    )
  })

const refuses: Handler = (_seen, response) => response.writeHead(401).end('no')

describe('credentials that are refused', () => {
  const wrongKey = '{"code":401,"msg":"token expired or incorrect","success":false}'
  const noKey =
    '{"code":1001,"msg":"Authentication parameter not received in Header, unable to authenticate","success":false}'
  const shapes: readonly (readonly [string, Handler, string])[] = [
    ['401', refuses, 'no'],
    ['a body, wrong key', (_seen, response) => json(response, wrongKey), 'token expired or incorrect'],
    ['a body, no key', (_seen, response) => json(response, noKey), 'Authentication parameter not received'],
    [
      'a body over several lines',
      (_seen, response) => json(response, JSON.stringify(JSON.parse(wrongKey), null, 2)),
      'token expired or incorrect',
    ],
  ]
  const wanted = {
    code: -32603,
    message: 'Authentication failed: Invalid or missing SEARCH_TEST_KEY',
    data: { service: 's' },
  }

  for (const [title, shape, words] of shapes)
    test(`${title}, at a call`, async (t) => {
      const { client, log } = await remote(t, toolServer(shape), { ...keyed })
      assert.deepEqual(error(await client.call('s__work')), wanted)
      assert.equal(JSON.stringify(log).includes('CANARY'), false)
      const found = log.some(({ message }) => message.includes(words))
      assert(found, 'its words are in the log')
    })

  test('from the start', async (t) => {
    const { client, script } = await remote(t, refuses, { ...keyed })
    assert.deepEqual(error(await client.call('s__work')), wanted)
    await new Promise((done) => setTimeout(done, 50))
    assert.ok(script.seen.length <= 3, 'no loop')
  })

  test('a result that says so passes as it came', async (t) => {
    const result =
      '{"content":[{"type":"text","text":"MCP error -401: Api key not found, please get your apikey"}],"isError":true}'
    const { client } = await remote(
      t,
      toolServer((seen, response) => json(response, answerOf(seen.id, result))),
      { ...keyed },
    )
    assert.deepEqual(at((await client.call('s__work')).value, 'result'), JSON.parse(result))
  })

  test('a variable that is not set', async (t) => {
    const entry = { url: 'http://127.0.0.1:9/mcp', headers: { Authorization: 'Bearer ${NOT_SET_API_KEY}' } }
    const { attach } = await libraryProxy(t, { s: entry })
    const { client } = await attach()
    await client.open()
    const message = textAt(error(await client.call('s__work')), 'message')
    assert.equal(message, 'Authentication failed: Invalid or missing NOT_SET_API_KEY')
  })
})

test('with --verbose the log has every request, and no key', async (t) => {
  const { url } = await scripted(
    t,
    toolServer((seen, response) => {
      if (seen.body.includes('"events"')) {
        events(response, `data: ${answerOf(seen.id, '{"content":[]}')}\n\n`)
        response.end()
      } else response.writeHead(500, { 'content-type': 'text/plain' }).end('oh no')
    }),
  )
  const entry = { url: `${url.href}?apiKey=CANARY-query`, ...keyed }
  const { attach, log } = await libraryProxy(t, { s: entry }, { verbose: true })
  const { client } = await attach()
  await client.open()
  await client.call('s__work', { kind: 'events' })
  await client.call('s__work')
  const told = (): string[] =>
    log
      .filter(({ level, service }) => level === 'debug' && service === 's')
      .map(({ message }) => message.replaceAll(/\d+ (ms|bytes)/g, 'N $1'))
  await until(() => told().some((line) => line.startsWith('POST tools/call: HTTP 500')))
  for (const line of [
    'POST initialize: HTTP 200 application/json, N bytes out, N ms',
    'POST notifications/initialized: HTTP 202, N bytes out, N ms',
    'GET: HTTP 405, N ms',
    'POST tools/call: HTTP 200 text/event-stream, N bytes out, N ms',
    'POST tools/call: HTTP 500 text/plain, N bytes out, N ms',
  ])
    assert.ok(told().includes(line), `${line}\n${told().join('\n')}`)
  assert.equal(JSON.stringify(log).includes('CANARY'), false)
})

test('other refusals carry the status, a piece of the body and a remedy', async (t) => {
  const page = '<html><title>502</title><h1>Bad gateway</h1></html>'
  const { client } = await remote(
    t,
    toolServer((_seen, response) => response.writeHead(502, { 'content-type': 'text/html' }).end(page)),
    { retries: 0 },
  )
  const heard = await client.call('s__work')
  assert.deepEqual(failure(heard), [-32603, 's', 'http-status'])
  const facts = [at(error(heard), 'data', 'status'), at(error(heard), 'data', 'body')]
  assert.deepEqual(facts, [502, '502 Bad gateway'])
  assert.match(textAt(error(heard), 'data', 'remedy'), /logs/)
})

test('a forgotten session is opened anew once for all, and what was not taken is sent again, once', async (t) => {
  let known = 's-1'
  const { client, script } = await remote(
    t,
    toolServer((seen, response) => {
      if (seen.headers['mcp-session-id'] === known) json(response, answerOf(seen.id, '{"content":[]}'))
      else response.writeHead(404).end()
    }),
  )
  assert.notEqual(at((await client.call('s__work')).value, 'result'), undefined)
  known = 's-2'
  const answers = await Promise.all([1, 2, 3, 4].map(() => client.call('s__work')))
  for (const { value, text } of answers) assert.notEqual(at(value, 'result'), undefined, text)
  assert.equal(script.seen.filter(({ rpc }) => rpc === 'initialize').length, 2)
})

test('the older transport: another origin is refused, and the choice is made by itself', async (t) => {
  const script = await scripted(t, (seen, response) => {
    if (seen.method === 'GET') events(response, 'event: endpoint\ndata: http://127.0.0.1:1/steal\n\n')
    else response.writeHead(405).end()
  })
  const entry = { url: script.url.href, headers: { 'x-key': 'CANARY-header' }, retries: 0 }
  const { attach } = await libraryProxy(t, { s: entry })
  const { client } = await attach()
  await client.open()
  assert.equal(failure(await client.call('s__work'))[0], -32603)
  const methods = script.seen.slice(0, 2).map(({ method }) => method)
  assert.deepEqual(methods, ['POST', 'GET'])
})

test('the older transport: a lost event stream is a new session, and calls go on', async (t) => {
  let stream: ServerResponse | undefined
  let sessions = 0
  const script = await scripted(t, (seen, response) => {
    if (seen.method === 'GET') {
      stream = response
      return events(response, `event: endpoint\ndata: /message?s=${++sessions}\n\n`)
    }
    response.writeHead(202).end('Accepted')
    const results: Readonly<Record<string, string>> = {
      initialize: INIT,
      'tools/list': TOOLS,
      'tools/call': '{"content":[]}',
    }
    const result = results[String(seen.rpc)]
    if (result !== undefined) stream?.write(`event: message\ndata: ${answerOf(seen.id, result)}\n\n`)
  })
  const entry = { type: 'sse', url: script.url.href, reconnectInterval: 20 }
  const { attach, proxy } = await libraryProxy(t, { s: entry })
  const { client } = await attach()
  await client.open()
  assert.notEqual(at((await client.call('s__work')).value, 'result'), undefined)
  stream?.destroy()
  const streams = (): number => script.seen.filter(({ method }) => method === 'GET').length
  while (streams() < 2 || proxy.status()[0]?.state !== 'connected')
    await new Promise((done) => setTimeout(done, 10))
  const heard = await client.call('s__work')
  assert.notEqual(at(heard.value, 'result'), undefined, heard.text)
  assert.equal(script.seen.at(-1)?.url, '/message?s=2')
})
