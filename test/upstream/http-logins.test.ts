import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { at, textAt } from '../integration/support/json.js'
import { libraryProxy } from '../integration/support/library.js'
import { answerOf, events, scripted } from '../transports/support/scripted.js'
import { remote, toolServer } from './support/remote.js'

for (const [title, login, sent] of [
  ['with an escape', 'ann:pass%3Aword-1234', 'ann:pass:word-1234'],
  ['with what only looks like one', 'ann:pass%zzword-1234', 'ann:pass%zzword-1234'],
  ['without a password', 'token-of-ann-1234', 'token-of-ann-1234:'],
] as const)
  test(`${title} are sent, and are not in the log however the server repeats them`, async (t) => {
    const script = await scripted(
      t,
      toolServer((seen, response) => {
        events(response, `data: you are ${seen.headers.authorization}\n\n`)
        response.end(`data: ${answerOf(seen.id, '{"content":[]}')}\n\n`)
      }),
    )
    const url = script.url.href.replace('//', `//${login}@`)
    const { attach, log } = await libraryProxy(t, { s: { url } })
    const { client } = await attach()
    await client.open()
    assert.deepEqual(at((await client.call('s__work')).value, 'result'), { content: [] })
    const secret = Buffer.from(sent).toString('base64')
    const found = [...new Set(script.seen.map(({ headers }) => headers.authorization))]
    assert.deepEqual(found, [`Basic ${secret}`])
    const told = JSON.stringify(log)
    assert.match(told, /you are Basic \[redacted\]/)
    assert.ok(!told.includes(secret))
  })

for (const [title, headers, wanted] of [
  ['nothing', {}, /^Authentication failed: 's' needs a login; run: mcps-proxy login s$/],
  [
    'a key',
    { 'X-Api-Key': 'wrong-key-1234' },
    /^Authentication failed: 's' refused the request \(HTTP 401\); check the headers that its configuration sends$/,
  ],
] as const)
  test(`a server that wants a login and is sent ${title} is told about with what can be done`, async (t) => {
    const { client, script } = await remote(
      t,
      (_seen, response) =>
        response
          .writeHead(401, { 'www-authenticate': 'Bearer resource_metadata="https://s/.well-known/x"' })
          .end(),
      { headers },
    )
    const { value } = await client.request('tools/list')
    assert.match(textAt(value, 'error', 'message'), wanted)
    assert.deepEqual([...new Set(script.seen.map(({ method }) => method))], ['POST'])
  })

const refusals: readonly (readonly [string, number, string, object, RegExp, object])[] = [
  [
    '403 that is not about credentials says what the server says',
    403,
    'Access is only allowed at localhost:4124',
    {},
    /^'s': it answered HTTP 403: Access is only allowed at localhost:4124$/,
    { service: 's', reason: 'http-status', status: 403, body: 'Access is only allowed at localhost:4124' },
  ],
  [
    '403 in JSON-RPC says what the server says',
    403,
    '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Invalid Host: x"}}',
    {},
    /^'s': it answered HTTP 403: Invalid Host: x$/,
    { service: 's', reason: 'http-status', status: 403 },
  ],
  [
    '403 that is about credentials is called so',
    403,
    'Invalid API key',
    { 'X-Key': 'wrong-key-1234' },
    /^Authentication failed: 's' refused the request \(HTTP 403\): Invalid API key; check the headers/,
    { service: 's', status: 403, body: 'Invalid API key' },
  ],
  [
    '401 has the words of the server',
    401,
    'Access is only allowed at localhost:4124',
    {},
    /^Authentication failed: 's' refused the request \(HTTP 401\): Access is only allowed at localhost:4124; add Authorization to its headers, .* or run: mcps-proxy login s$/,
    { service: 's', status: 401, body: 'Access is only allowed at localhost:4124' },
  ],
]

for (const [title, status, body, headers, message, data] of refusals)
  test(`a ${title}`, async (t) => {
    const { client, log } = await remote(
      t,
      toolServer((_seen, response) => response.writeHead(status).end(body)),
      { headers },
    )
    const { value } = await client.call('s__work')
    assert.match(textAt(value, 'error', 'message'), message)
    const { remedy: _remedy, ...told } = { remedy: undefined, ...objectAt(value, 'error', 'data') }
    assert.deepEqual(told, data)
    assert.ok(!JSON.stringify([value, log]).includes('CANARY'))
    const warned = log.filter((each) => each.message.includes(`(HTTP ${status})`) && each.service === 's')
    const isLogged = 'reason' in data || warned.length === 1
    assert.ok(isLogged, JSON.stringify(log))
  })

function objectAt(value: unknown, ...path: string[]): object {
  const found = at(value, ...path)
  return typeof found === 'object' && found !== null ? found : {}
}
