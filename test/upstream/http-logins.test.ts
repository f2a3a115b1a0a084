// A name and a password in the address of a remote server.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { at, textAt } from '../integration/support/json.js'
import { libraryProxy } from '../integration/support/library.js'
import { answerOf, events, json, scripted } from '../transports/support/scripted.js'

const INIT =
  '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}'
const TOOLS = '{"tools":[{"name":"work","inputSchema":{"type":"object"}}]}'

for (const [title, login, sent] of [
  ['with an escape', 'ann:pass%3Aword-1234', 'ann:pass:word-1234'],
  ['with what only looks like one', 'ann:pass%zzword-1234', 'ann:pass%zzword-1234'],
  ['without a password', 'token-of-ann-1234', 'token-of-ann-1234:'],
] as const)
  test(`${title} are sent, and are not in the log however the server repeats them`, async (t) => {
    const authorizations = new Set<unknown>()
    const script = await scripted(t, (seen, response) => {
      authorizations.add(seen.headers.authorization)
      if (seen.rpc === 'initialize') json(response, answerOf(seen.id, INIT))
      else if (seen.rpc === 'tools/list') json(response, answerOf(seen.id, TOOLS))
      else if (seen.rpc !== 'tools/call') response.writeHead(seen.method === 'GET' ? 405 : 202).end()
      else {
        events(response, `data: you are ${seen.headers.authorization}\n\n`)
        response.end(`data: ${answerOf(seen.id, '{"content":[]}')}\n\n`)
      }
    })
    const url = script.url.href.replace('//', `//${login}@`)
    const { attach, log } = await libraryProxy(t, { s: { url } })
    const { client } = await attach()
    await client.open()
    assert.deepEqual(at((await client.call('s__work')).value, 'result'), { content: [] })
    const secret = Buffer.from(sent).toString('base64')
    assert.deepEqual([...authorizations], [`Basic ${secret}`])
    const told = JSON.stringify(log)
    assert.match(told, /you are Basic \[redacted\]/)
    assert.ok(!told.includes(secret))
  })

for (const [title, headers, remedy] of [
  ['nothing', {}, /its configuration sends no Authorization; .* \(there is no OAuth login\)$/],
  ['a key', { 'X-Api-Key': 'wrong-key-1234' }, /check the headers that its configuration sends$/],
] as const)
  test(`a server that wants a login and is sent ${title} is told about with what can be done`, async (t) => {
    const script = await scripted(t, (_seen, response) =>
      response
        .writeHead(401, { 'www-authenticate': 'Bearer resource_metadata="https://s/.well-known/x"' })
        .end(),
    )
    const { attach } = await libraryProxy(t, { s: { url: script.url.href, headers } })
    const { client } = await attach()
    await client.open()
    const { value } = await client.request('tools/list')
    assert.match(
      textAt(value, 'error', 'message'),
      /^Authentication failed: 's' refused the request \(HTTP 401\); /,
    )
    assert.match(textAt(value, 'error', 'message'), remedy)
    assert.deepEqual([...new Set(script.seen.map(({ method }) => method))], ['POST'])
  })
