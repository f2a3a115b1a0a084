// mcps-proxy --url: one remote service, which its client opens by itself.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { createProxy, limits, memoryPair } from '../../src/index.js'
import { Deferred } from '../../src/runtime/deferred.js'
import { remoteConfig } from '../../src/cli/remote.js'
import { TOOLS } from '../transports/support/one-tool.js'
import { answerOf, json, scripted, type Handler, type Scripted } from '../transports/support/scripted.js'
import { at, textAt } from './support/json.js'
import { clientOf } from './support/library.js'

import { type Scope } from './support/spawned.js'

const opened = (version = '2025-03-26'): string =>
  `{"protocolVersion":"${version}", "capabilities":{"tools":{}, "tasks":{"list":{}},"x":{"n":1.0}},` +
  '"serverInfo":{"name":"the service","version":"9"},"odd":[1E400,9007199254740993]}'

const PARAMS =
  '{"protocolVersion":"2025-06-18","capabilities":{"tasks":{},"roots":{"listChanged":true},' +
  '"extensions":{"io.modelcontextprotocol/tasks":{},"a.b/c":{"n":1.0}},"x":1.0},' +
  '"clientInfo":{"name":"cl\\u0069ent","version":"1"},"more":9007199254740993}'
const PARAMS_CARRIED = PARAMS.replace('"tasks":{},', '').replace('"io.modelcontextprotocol/tasks":{},', '')
const initialize = (id: string): string =>
  `{"jsonrpc":"2.0","id":${id},"method":"initialize","params":${PARAMS}}`

/** A service with sessions; `on` handles a request, or returns false. */
async function service(
  scope: Scope,
  on: (...args: Parameters<Handler>) => boolean = () => false,
): Promise<Scripted> {
  let sessions = 0
  return scripted(scope, (seen, response, request) => {
    if (on(seen, response, request)) return
    if (seen.rpc === 'initialize') {
      response.setHeader('Mcp-Session-Id', `session-${++sessions}`)
      return json(response, answerOf(seen.id, opened()))
    }
    if (seen.method !== 'POST') return void response.writeHead(405).end()
    if (seen.id === undefined) return void response.writeHead(202).end()
    json(response, answerOf(seen.id, seen.rpc === 'tools/list' ? TOOLS : '{"content":[]}'))
  })
}

const DRAIN_MS = 5

/** The proxy of `--url` with its address and `--timeout`. */
async function transparentProxy(
  t: Scope,
  { url }: Scripted,
  { timeoutMs, drainMs = limits.drainMs }: { readonly timeoutMs?: number; readonly drainMs?: number } = {},
) {
  const config = remoteConfig({ url: url.href, headers: {} }, timeoutMs, 'mcps-proxy')
  const own = { ownStart: 'with-client' as const, limits: { ...limits, drainMs } }
  const proxy = await createProxy(config, own)
  t.after(() => proxy.close(0))
  const [ours, theirs] = memoryPair()
  await proxy.attach(theirs)
  return { client: clientOf(ours), close: () => proxy.close() }
}

/** The `initialize` requests with one id, since the proxy chooses it. */
const initializes = ({ seen }: Scripted): string[] =>
  seen.filter(({ rpc }) => rpc === 'initialize').map(({ body }) => body.replace(/"id":\d+/, '"id":1'))

const sent = (params = PARAMS_CARRIED): string =>
  `{"jsonrpc":"2.0","id":1,"method":"initialize","params":${params}}`

describe("a client's own initialize", () => {
  test('reaches the service, and its answer comes back; both but for ids and what cannot be carried', async (t) => {
    const remote = await service(t)
    const { client } = await transparentProxy(t, remote)
    const answer = client.answer('a')
    client.send(initialize('"a"'))
    const { text } = await answer
    assert.equal(text, answerOf('a', opened().replace(', "tasks":{"list":{}}', '')))
    assert.deepEqual(initializes(remote), [sent()])
    // The revision that the service has chosen holds for both sides from now on.
    client.notify('notifications/initialized')
    await client.call('work')
    const calls = remote.seen.filter(({ rpc }) => rpc === 'tools/call')
    const revisions = calls.map(({ headers }) => headers['mcp-protocol-version'])
    assert.deepEqual(revisions, ['2025-03-26'])
    client.send('[{"jsonrpc":"2.0","id":"in a batch","method":"ping"}]')
    await client.next('a batch', ({ value }) => at(value, 0, 'id') === 'in a batch')
    const again = await client.request('initialize', JSON.parse(PARAMS))
    assert.match(textAt(again.value, 'error', 'message'), /initialized already/)
  })

  const refusals: [string, Handler, RegExp][] = [
    [
      'an error of its own, byte for byte',
      (seen, response) =>
        json(
          response,
          `{"jsonrpc":"2.0","id":${String(seen.id)}, "error":{"code":-32602,"message":"No","data":1.0}}`,
        ),
      /^\{"jsonrpc":"2\.0","id":"a", "error":\{"code":-32602,"message":"No","data":1\.0\}\}$/,
    ],
    [
      'HTTP 401',
      (_seen, response) => void response.writeHead(401, { 'content-type': 'text/plain' }).end('who are you'),
      /"code":-32603,"message":"Authentication failed: [^"]* or run: mcps-proxy login http:/,
    ],
    [
      'HTTP 500',
      (_seen, response) => void response.writeHead(500).end(),
      /"code":-32603,.*"reason":"http-status","status":500/,
    ],
    [
      'a revision that the proxy does not know',
      (seen, response) => json(response, answerOf(seen.id, opened('2099-01-01'))),
      /it speaks protocol version '2099-01-01'; this proxy speaks 2024-11-05, /,
    ],
  ]
  for (const [title, refuse, want] of refusals)
    test(`is answered with its error: ${title}; lists say it too, and a second initialize is one`, async (t) => {
      let isMended = false
      const remote = await service(t, (seen, response, request) => {
        if (seen.rpc !== 'initialize' || isMended) return false
        refuse(seen, response, request)
        return true
      })
      const { client } = await transparentProxy(t, remote)
      const answers = [client.answer('a'), client.answer(2)]
      client.send(initialize('"a"'))
      client.send('{"jsonrpc":"2.0","id":2,"method":"tools/list"}')
      const [first, list] = await Promise.all(answers)
      assert.match(first?.text ?? '', want)
      assert.notEqual(at(list?.value, 'error'), undefined, list?.text)
      isMended = true
      const again = client.answer('b')
      client.send(initialize('"b"'))
      assert.equal(textAt((await again).value, 'result', 'serverInfo', 'name'), 'the service')
      assert.equal(
        initializes(remote)
          .at(-1)
          ?.replace(/"id":\d/, `"id":1`),
        sent(),
      )
      assert.equal(at((await client.call('work')).value, 'error'), undefined)
    })

  test('is waited for by lists, however long the service takes to start', async (t) => {
    const started = new Deferred<void>()
    const remote = await service(t, (seen, response) => {
      if (seen.rpc !== 'initialize') return false
      void started.promise.then(() => json(response, answerOf(seen.id, opened())))
      return true
    })
    const { client } = await transparentProxy(t, remote)
    const answers = [client.answer('a'), client.answer(2), client.answer(3)]
    client.send(initialize('"a"'))
    client.send('{"jsonrpc":"2.0","id":2,"method":"tools/list"}')
    client.send('{"jsonrpc":"2.0","id":3,"method":"ping"}')
    // The ping waits for a second at most, and no other answer has come before it.
    await answers[2]
    assert.deepEqual([client.answersTo('a'), client.answersTo(2)], [0, 0])
    started.resolve()
    const [, list] = await Promise.all(answers)
    assert.equal(textAt(list?.value, 'result', 'tools', 0, 'name'), 'work')
    const ids = client.heard.map(({ value }) => at(value, 'id'))
    assert.deepEqual(ids, [3, 'a', 2])
  })

  // The service has answered `initialize` long before a list is late.
  for (const [method, id, ms] of [
    ['initialize', 'a', 2000],
    ['tools/list', 2, 2000],
  ] as const)
    test(`--timeout is how long ${method} may take`, async (t) => {
      const remote = await service(t, ({ rpc }) => rpc === method)
      const { client } = await transparentProxy(t, remote, { timeoutMs: ms })
      const answer = client.answer(id)
      client.send(initialize('"a"'))
      client.send('{"jsonrpc":"2.0","id":2,"method":"tools/list"}')
      const { value, text } = await answer
      assert(textAt(value, 'error', 'message').includes(`did not answer ${method} within ${ms} ms`), text)
      assert.equal(textAt(value, 'error', 'data', 'reason'), 'timeout')
    })

  test('is sent again, the same bytes, when the service has forgotten the session', async (t) => {
    let isForgotten = false
    const remote = await service(t, (seen, response) => {
      if (!isForgotten || seen.headers['mcp-session-id'] !== 'session-1') return false
      response.writeHead(404).end()
      return true
    })
    const { client } = await transparentProxy(t, remote)
    const answer = client.answer('a')
    client.send(initialize('"a"'))
    await answer
    client.notify('notifications/initialized')
    assert.equal(at((await client.call('work')).value, 'error'), undefined)
    isForgotten = true
    assert.equal(at((await client.call('work')).value, 'error'), undefined)
    assert.deepEqual(initializes(remote), [sent(), sent()])
    assert.equal(client.answersTo('a'), 1)
  })

  const exit = '{"jsonrpc":"2.0","method":"exit"}'
  const ends: [string, readonly string[], readonly unknown[]][] = [
    ['exit', [exit], ['a', 2]],
    ['shutdown and exit', ['{"jsonrpc":"2.0","id":3,"method":"shutdown"}', exit], ['a', 3, 2]],
  ]
  for (const [title, last, want] of ends)
    test(`has its own time, and not the drain time, when the client has said everything: ${title}`, async (t) => {
      // The drain time is shorter than this.
      const remote = await service(t, (seen, response) => {
        if (seen.rpc !== 'initialize') return false
        setTimeout(() => json(response, answerOf(seen.id, opened())), 50 * DRAIN_MS)
        return true
      })
      const { client, close } = await transparentProxy(t, remote, { drainMs: DRAIN_MS })
      const answers = want.map((id) => client.answer(String(id) === 'a' ? 'a' : Number(id)))
      client.send(initialize('"a"'))
      client.send('{"jsonrpc":"2.0","id":2,"method":"tools/list"}')
      for (const line of last) client.send(line)
      const [first] = await Promise.all(answers)
      assert.equal(textAt(first?.value, 'result', 'serverInfo', 'name'), 'the service')
      const ids = client.heard.map(({ value }) => at(value, 'id'))
      assert.deepEqual(ids, want)
      await close()
    })

  test('that never comes is replaced by one of the proxy', async (t) => {
    const remote = await service(t)
    const { client } = await transparentProxy(t, remote)
    assert.equal(textAt((await client.request('tools/list')).value, 'result', 'tools', 0, 'name'), 'work')
    assert.match(initializes(remote).join('\n'), /"clientInfo":\{"name":"mcps-proxy"/)
    // The service has a session already, so the `initialize` of the client comes too late for it.
    const answer = client.answer('late')
    client.send(initialize('"late"'))
    assert.equal(textAt((await answer).value, 'result', 'serverInfo', 'name'), 'mcps-proxy')
    assert.equal(initializes(remote).length, 1)
  })
})

test('tasks pass as they are, also those of an earlier session', async (t) => {
  const task = '{"taskId":"old","status":"working","ttl":1.0}'
  const capabilities = '"capabilities":{"tools":{},"tasks":{"list":{},"requests":{"tools":{"call":{}}}}}'
  const remote = await service(t, (seen, response) => {
    if (seen.rpc === 'initialize') {
      const result = `{"protocolVersion":"2025-11-25",${capabilities},"serverInfo":{"name":"s","version":"1"}}`
      json(response, answerOf(seen.id, result))
    } else if (seen.rpc === 'tasks/get') json(response, answerOf(seen.id, task))
    else if (seen.rpc === 'tasks/list')
      json(response, answerOf(seen.id, `{"tasks":[${task}],"nextCursor":"2"}`))
    else return false
    return true
  })
  const { client } = await transparentProxy(t, remote)
  const opened = await client.open({ tasks: { cancel: {} } }, '2025-11-25')
  assert.match(initializes(remote)[0] ?? '', /"capabilities":\{\}/)
  assert.deepEqual(at(opened, 'capabilities', 'tasks'), { list: {}, requests: { tools: { call: {} } } })
  assert.equal((await client.request('tasks/get', { taskId: 'old' }, 'g')).text, answerOf('g', task))
  const listed = await client.request('tasks/list', { cursor: '1' }, 'l')
  assert.equal(textAt(listed.value, 'result', 'nextCursor'), '2')
})
