// Clients without a session over HTTP: every fault in its order, and what closing a response means.

import { strict as assert } from 'node:assert'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import { type Gateway } from '../../src/gateway/gateway.js'
import { message, messageIn, open, raw, send } from '../transports/support/http.js'
import { listAt, numberAt, parsed, textAt } from './support/json.js'
import { itServer } from './support/programs.js'
import type { Scope } from './support/spawned.js'
import { gatewayOf, requestFields, sendStateless } from './support/gateway.js'
import { claim, metaKey } from './support/claim.js'

async function gateway(scope: Scope, servers: object, isReady = false): Promise<Gateway> {
  const opened = await gatewayOf(scope, { mcpServers: servers })
  // A response is an event stream once its answer takes a while, as the start of a server does.
  if (isReady) await asked(opened, 'tools/list', {})
  return opened
}

type Sent = Awaited<ReturnType<typeof send>>

const asked = (
  { port }: Gateway,
  method: string,
  params: Readonly<Record<string, unknown>> = {},
  headers?: Readonly<Record<string, string>>,
): Promise<Sent> => sendStateless(port, { method, params, ...(headers && { headers }) })

const codeOf = ({ body }: Sent): number => numberAt(messageIn(body), 'error', 'code')

describe('a request without a session', () => {
  test('may have the id of another that is being answered', async (t) => {
    const opened = await gateway(t, { s: itServer() }, true)
    const call = (name: string, args: object): Promise<Sent> =>
      asked(opened, 'tools/call', { name, arguments: args })
    await call('s__nonce', { n: 'a' })
    const held = call('s__hold', { key: 'k' })
    assert.equal((await call('s__nonce', { n: 'b' })).status, 200)
    while ((await call('s__release', { key: 'k' })).body.includes('isError')) continue
    assert.equal((await held).status, 200)
  })

  test('closing its response gives it up', async (t) => {
    const opened = await gateway(t, { s: itServer() }, true)
    await asked(opened, 'tools/call', { name: 's__nonce', arguments: { n: 'a' } })
    const stream = await open(opened.port, {
      body: message('tools/call', 7, { name: 's__hold', arguments: { key: 'k' }, _meta: claim() }),
      headers: requestFields('tools/call', { name: 's__hold' }),
    })
    stream.destroy()
    await once(stream, 'close')
    const lines = async (): Promise<string[]> => {
      const seen = await asked(opened, 'tools/call', { name: 's__seen' })
      const said = parsed(textAt(listAt(messageIn(seen.body), 'result', 'content')[0], 'text'))
      return listAt(said, 'lines').map((line) => Buffer.from(String(line), 'base64').toString())
    }
    while (!(await lines()).some((line) => line.includes('notifications/cancelled'))) continue
  })
})

const call = { name: 's__nonce', arguments: { n: 'a' } }
const good = requestFields('tools/call', call)
const meta = (more: object): object => ({ ...call, _meta: { ...claim(), ...more } })
const base64 = (text: string): string => `=?base64?${Buffer.from(text).toString('base64')}?=`

type Fault = readonly [
  title: string,
  method: string,
  params: object,
  headers: Readonly<Record<string, string>>,
  status: number,
  code: number,
]

const faults: readonly Fault[] = [
  ['a version that is no text', 'tools/call', meta({ [metaKey('protocolVersion')]: 1 }), good, 400, -32602],
  [
    'another version in its head, of two that are not served',
    'tools/call',
    meta({ [metaKey('protocolVersion')]: '1900-01-01' }),
    good,
    400,
    -32020,
  ],
  ['the method in other letters', 'tools/call', call, { ...good, 'mcp-method': 'Tools/call' }, 400, -32020],
  [
    'a name with spare bits',
    'tools/call',
    { ...call, name: 'a' },
    { ...good, 'mcp-name': '=?base64?YR==?=' },
    400,
    -32020,
  ],
  ['a name that is no UTF-8', 'tools/call', call, { ...good, 'mcp-name': '=?base64?/w==?=' }, 400, -32020],
  [
    'another uri in its head',
    'resources/read',
    { uri: 'it://a' },
    requestFields('resources/read', { uri: 'it://b' }),
    400,
    -32020,
  ],
]

describe('a request without a session is refused', () => {
  for (const [title, method, params, headers, status, code] of faults)
    test(title, async (t) => {
      const opened = await gateway(t, { s: itServer({}, { lazy: true }) })
      const answer = await asked(opened, method, { ...params }, headers)
      assert.deepEqual([answer.status, codeOf(answer)], [status, code])
      assert.equal(numberAt(messageIn(answer.body), 'id'), 7)
    })

  test('a name that came twice, in any letters, or goes on in another line', async (t) => {
    const { port } = await gateway(t, { s: itServer() }, true)
    const body = message('tools/call', 7, { ...call, _meta: claim() })
    const fields = Object.entries(good).map(([name, value]) => `${name}: ${value}`)
    const twin = base64('s__nonce')
    const posted = (more: readonly string[]): Promise<string> =>
      raw(
        port,
        [
          'POST /mcp HTTP/1.1',
          `host: 127.0.0.1:${port}`,
          'content-type: application/json',
          'accept: application/json, text/event-stream',
          'connection: close',
          `content-length: ${Buffer.byteLength(body)}`,
          ...fields,
          ...more,
          '',
          body,
        ].join('\r\n'),
      )
    assert.match(await posted([]), /^HTTP\/1\.1 200 /)
    for (const more of [
      ['Mcp-Name: s__nonce'],
      ['mcp-name: other'],
      [`MCP-NAME: ${twin}`],
      ['Mcp-Method: tools/call'],
      ['MCP-protocol-version: 2026-07-28'],
      ['Mcp-Param-A: 1', 'mcp-param-a: 2'],
      ['x-other: 1', ' mcp-name: other'],
      ['mcp-name : other'],
      ['x-other: 1\nmcp-name: other'],
    ])
      assert.match(await posted(more), /^HTTP\/1\.1 400 /, more.join())
  })

  test('a twin of a name in Base64 that is spelled otherwise', async (t) => {
    const opened = await gateway(t, { s: itServer() }, true)
    const name = 's__nonce'
    const encoded = Buffer.from(name).toString('base64')
    for (const twin of [
      `=?BASE64?${encoded}?=`,
      `=?base64?${encoded}`,
      `=?base64?${encoded.replace(/=+$/, '')}?=`,
      `=?base64?${encoded}=?=`,
      `=?base64? ${encoded}?=`,
      `=?base64?${encoded.slice(0, 4)} ${encoded.slice(4)}?=`,
      base64(base64(name)),
      `"${name}"`,
      name.toUpperCase(),
      `${name},${name}`,
    ]) {
      const answer = await asked(opened, 'tools/call', call, { ...good, 'mcp-name': twin })
      assert.deepEqual([answer.status, codeOf(answer)], [400, -32020], twin)
    }
  })
})
