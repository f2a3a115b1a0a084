// Remote servers of revision 2026-07-28: the header fields of requests, and subscriptions.
// `spec-fixtures/n-detection-http.jsonl` covers their detection.

import { strict as assert } from 'node:assert'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { failure } from '../integration/support/client.js'
import { at, listAt, parsed, textAt } from '../integration/support/json.js'
import { libraryProxy } from '../integration/support/library.js'
import { until } from '../integration/support/waiting.js'
import {
  type Handler,
  type Scope,
  type Scripted,
  type Seen,
  answerOf,
  events,
  json,
  scripted,
} from '../transports/support/scripted.js'

const N = '2026-07-28'
const key = (name: string): string => `io.modelcontextprotocol/${name}`
const hints = '"ttlMs":0,"cacheScope":"private"'

const description = (capabilities = '{"tools":{}}', versions = [N]): string =>
  `{"resultType":"complete","supportedVersions":${JSON.stringify(versions)},"capabilities":${capabilities},${hints}}`

const property = (mark: string, type = 'string'): object => ({ type, 'x-mcp-header': mark })
const schemaOf = (properties: object): object => ({ type: 'object', properties })
const marked = schemaOf({
  region: property('Region'),
  deep: schemaOf({ n: property('Count', 'integer'), on: property('On', 'boolean') }),
  free: { type: 'string' },
})

const toolsOf = (schema: object): string =>
  `{"resultType":"complete","tools":${JSON.stringify([
    { name: 'wörk', inputSchema: schema },
    { name: 'bad', inputSchema: schemaOf({ n: property('N', 'number') }) },
    { name: 'twice', inputSchema: schemaOf({ a: property('A'), b: property('a') }) },
    { name: 'astray', inputSchema: { type: 'object', anyOf: [schemaOf({ a: property('A') })] } },
  ])},${hints}}`

const errorOf = (id: unknown, error: string): string =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"error":${error}}`

const DONE = '{"resultType":"complete","content":[{"type":"text","text":"done"}]}'

/** A server without sessions. `call` answers calls. */
function stateless(call: Handler, schema: object = marked, capabilities?: string): Handler {
  return (seen, response, request) => {
    if (seen.method !== 'POST') return void response.writeHead(405).end()
    switch (seen.rpc) {
      case 'server/discover':
        return json(response, answerOf(seen.id, description(capabilities)))
      case 'tools/list':
        return json(response, answerOf(seen.id, toolsOf(schema)))
      default:
        return call(seen, response, request)
    }
  }
}

const proxyTo = async (t: Scope, script: Scripted, more: object = {}) => {
  const { attach, proxy, log } = await libraryProxy(t, {
    s: { url: script.url.href, retries: 0, retryDelay: 10, tools: { rename: { wörk: 'work' } }, ...more },
  })
  const { client } = await attach()
  await client.open({}, '2025-11-25')
  return { client, proxy, log, revision: () => proxy.status()[0]?.revision }
}

const rpcs = ({ seen }: Scripted): unknown[] => seen.flatMap(({ rpc }) => rpc ?? [])
const posted = ({ seen }: Scripted, method: string): Seen[] => seen.filter(({ rpc }) => rpc === method)

const base64 = (text: string): string => `=?base64?${Buffer.from(text).toString('base64')}?=`

test('each request says in its fields what it says in its body, and is of no session', async (t) => {
  const script = await scripted(
    t,
    stateless((seen, response) =>
      json(response, answerOf(seen.id, DONE), 200, { 'mcp-session-id': 'never' }),
    ),
    { isAsked: true },
  )
  const { client, revision, log } = await proxyTo(t, script)
  const args = { region: ' eu', deep: { n: 7, on: false }, free: 'x' }
  assert.match((await client.call('s__work', args)).text, /"text":"done"/)
  await client.call('s__work', { region: null, deep: { n: 8 } })
  assert.equal(revision(), N)
  for (const { headers, body, method } of script.seen) {
    assert.equal(method, 'POST', 'no stream of a session, and no end of one')
    const message = parsed(body)
    assert.equal(headers['mcp-protocol-version'], textAt(message, 'params', '_meta', key('protocolVersion')))
    assert.equal(headers['mcp-method'], textAt(message, 'method'))
    assert.equal(headers['mcp-session-id'], undefined)
  }
  const [first, second] = posted(script, 'tools/call').map(({ headers }) => headers)
  assert.deepEqual(
    ['mcp-name', 'mcp-param-region', 'mcp-param-count', 'mcp-param-on'].map((name) => first?.[name]),
    [base64('wörk'), base64(' eu'), '7', 'false'],
  )
  const found = ['mcp-param-region', 'mcp-param-count', 'mcp-param-on'].map((name) => second?.[name])
  assert.deepEqual(found, [undefined, '8', undefined])
  const tools = listAt((await client.request('tools/list')).value, 'result', 'tools')
  const names = tools.map((tool) => at(tool, 'name'))
  assert.deepEqual(names, ['s__work'], 'marks that are not as they must be hide their tool')
  assert.equal(log.filter(({ message }) => message.includes('is not listed')).length, 3)
})

test('a call that is given up closes its stream, and nothing is said', async (t) => {
  const closed: unknown[] = []
  const script = await scripted(
    t,
    stateless((seen, response, request) => {
      events(response, ': at work\n\n')
      request.socket.once('close', () => closed.push(seen.id))
    }),
    { isAsked: true },
  )
  const { client } = await proxyTo(t, script)
  client.send('{"jsonrpc":"2.0","id":"held","method":"tools/call","params":{"name":"s__work"}}')
  await until(() => posted(script, 'tools/call').length === 1)
  client.notify('notifications/cancelled', { requestId: 'held' })
  await until(() => closed.length === 1)
  assert(!rpcs(script).includes('notifications/cancelled'))
})

test('a call that the server refuses for a header field is made once more, with the fields of the current list', async (t) => {
  let calls = 0
  let schema: object = schemaOf({})
  const script = await scripted(
    t,
    (seen, response, request) =>
      stateless((call, answer) => {
        calls++
        schema = marked
        if (call.headers['mcp-param-region'] !== undefined) return json(answer, answerOf(call.id, DONE))
        return json(answer, errorOf(call.id, '{"code":-32020,"message":"Header mismatch"}'), 400)
      }, schema)(seen, response, request),
    { isAsked: true },
  )
  const { client } = await proxyTo(t, script)
  assert.match((await client.call('s__work', { region: 'eu' })).text, /"text":"done"/)
  assert.equal(calls, 2)
  // No new description helps here.
  assert.equal(at((await client.call('s__work', {})).value, 'result', 'isError'), true)
  assert.equal(calls, 4)
})

/** A server that honours each subscription, and a client that has listed its tools. */
async function listenedTo(t: Scope, capabilities: string) {
  const streams: ServerResponse[] = []
  const ids: unknown[] = []
  const handler = stateless(
    (seen, response) => {
      if (seen.rpc !== 'subscriptions/listen') return json(response, answerOf(seen.id, DONE))
      ids.push(seen.id)
      streams.push(response)
      const honoured = JSON.stringify(at(parsed(seen.body), 'params', 'notifications'))
      events(response, eventOf('subscriptions/acknowledged', seen.id, `"notifications":${honoured},`))
    },
    marked,
    capabilities,
  )
  const script = await scripted(t, handler, { isAsked: true })
  const { client } = await proxyTo(t, script)
  await client.request('tools/list')
  await until(() => streams.length === 1)
  return { client, script, streams, ids }
}

test('changes are listened for on a stream of their own, again when that breaks', async (t) => {
  const { client, script, streams, ids } = await listenedTo(t, '{"tools":{"listChanged":true}}')
  const reads = posted(script, 'tools/list').length
  streams[0]?.write(eventOf('tools/list_changed', ids[0]))
  await until(() => posted(script, 'tools/list').length > reads)
  const again = posted(script, 'tools/list').length
  streams[0]?.destroy()
  await until(() => streams.length === 2)
  // Changes between the two streams were not announced.
  await until(() => posted(script, 'tools/list').length > again)
  assert.deepEqual(failure(await client.call('s__nothing'))[0], -32601)
})

test('a notification on the stream of a request that another has replaced counts, and then the stream is closed', async (t) => {
  const capabilities = '{"tools":{"listChanged":true},"resources":{"subscribe":true}}'
  const { client, script, streams, ids } = await listenedTo(t, capabilities)
  await client.request('resources/subscribe', { uri: 'file:///a' })
  await until(() => streams.length === 2)
  const reads = posted(script, 'tools/list').length
  streams[0]?.write(eventOf('tools/list_changed', ids[0]))
  await until(() => posted(script, 'tools/list').length > reads)
  await until(() => streams[0]?.destroyed === true)
  assert.equal(streams[1]?.destroyed, false)
})

test('a request about a task names it in its fields, and the call that has begun it its tool', async (t) => {
  const task = '"taskId":"Nr. 1 ä","status":"working","createdAt":"","lastUpdatedAt":"","ttlMs":null'
  const script = await scripted(
    t,
    stateless(
      (seen, response) => {
        const type = seen.rpc === 'tools/call' ? 'task' : 'complete'
        json(response, answerOf(seen.id, `{"resultType":"${type}",${task}}`))
      },
      { type: 'object' },
      '{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}',
    ),
    { isAsked: true },
  )
  const { client } = await proxyTo(t, script)
  const capabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } }
  const _meta = { [key('protocolVersion')]: N, [key('clientCapabilities')]: capabilities }
  await client.request('tools/call', { name: 's__work', _meta })
  const methods = ['tasks/get', 'tasks/update', 'tasks/cancel']
  for (const method of methods) {
    const { value } = await client.request(method, { taskId: 'Nr. 1 ä', _meta })
    assert.equal(textAt(value, 'result', 'resultType'), 'complete')
  }
  for (const method of methods) {
    const [seen] = posted(script, method)
    assert.deepEqual([seen?.headers['mcp-name'], seen?.headers['mcp-method']], [base64('Nr. 1 ä'), method])
    const said = at(parsed(seen?.body ?? ''), 'params', '_meta', key('clientCapabilities'))
    assert.deepEqual(said, capabilities)
  }
})

/** A notification as an event of the subscription with this id. */
function eventOf(name: string, id: unknown, params = ''): string {
  const meta = JSON.stringify({ [key('subscriptionId')]: id })
  return `data: {"jsonrpc":"2.0","method":"notifications/${name}","params":{${params}"_meta":${meta}}}\n\n`
}
