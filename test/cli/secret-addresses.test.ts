// Secrets on the command line and in mistakes do not appear in messages, logs and recordings.

import { strict as assert } from 'node:assert'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { at } from '../integration/support/json.js'
import { cli } from '../integration/support/programs.js'
import { libraryProxy } from '../integration/support/library.js'
import { scratch, spawnProgram } from '../integration/support/spawned.js'
import { until } from '../integration/support/waiting.js'
import { runCommand } from './support/in-process.js'
import { INIT } from '../transports/support/one-tool.js'
import { answerOf, events, json, scripted } from '../transports/support/scripted.js'

const env = { PATH: process.env['PATH'], HOME: '/nonexistent' }

test('a recording does not hold the password, the key and the header fields of --url, which the server gets', async (t) => {
  const fields: unknown[] = []
  const script = await scripted(t, (seen, response, request) => {
    fields.push(request.headers['x-key'], request.headers.authorization)
    if (seen.rpc === 'initialize') json(response, answerOf(seen.id, INIT))
    else if (seen.rpc === 'tools/list') json(response, answerOf(seen.id, '{"tools":[]}'))
    else response.writeHead(seen.method === 'GET' ? 405 : 202).end()
  })
  const record = join(scratch(t), 'session.jsonl')
  const url = `http://user:CANARY-password@${script.url.host}/mcp?key=CANARY-key-0123`
  const headers = ['-H', 'X-Key: CANARY-header-0123', '--header', 'Authorization: Bearer CANARY-token-0123']
  const args = [cli, '--url', url, '--auth', 'none', ...headers, '--verbose', '--record', record]
  const spawned = spawnProgram(t, process.execPath, args, { env })
  await spawned.client.open()
  assert.notEqual(at((await spawned.client.request('tools/list')).value, 'result'), undefined)
  assert.equal(await spawned.finish(), 0)
  assert.deepEqual(new Set(fields), new Set(['CANARY-header-0123', 'Bearer CANARY-token-0123']))
  const recorded = readFileSync(record, 'utf8')
  assert.ok(recorded.includes(`${script.url.host}/mcp?key=[redacted]`), recorded)
  assert.equal(`${recorded}${spawned.stderr}`.includes('CANARY'), false)
})

const address = 'htps://user:CANARY-password@host/mcp?key=CANARY-key'
const commands: [string, (config: string) => string[], number][] = [
  ['--check', (config) => ['--check', config], 1],
  ['--stdio', (config) => ['--stdio', '--config', config], 2],
  ['--http', (config) => ['--config', config], 2],
  ['--url', () => ['--url', address], 2],
  ['replay', () => ['replay', 'x.jsonl', '--url', address], 2],
  ['no option', () => [address], 2],
]
for (const [title, args, code] of commands)
  test(`an address with a password, where it is a mistake, is not repeated: ${title}`, async (t) => {
    const config = join(scratch(t), 'config.json')
    writeFileSync(config, JSON.stringify({ mcpServers: { a: { url: address } } }))
    const ended = await runCommand(args(config), env)
    assert.equal(ended.code, code)
    const said = `${ended.out}${ended.err}`
    assert.match(said, /address/)
    assert.equal(said.includes('CANARY'), false, said)
  })

test('a server that repeats its cookie and its session id in its own words is shown without them', async (t) => {
  const init = INIT.replace('{"tools":{}}', '{"tools":{},"resources":{},"prompts":{}}')
  const script = await scripted(t, (seen, response, request) => {
    const { method, rpc, id } = seen
    const said = JSON.stringify(`sent ${request.rawHeaders.join(' ')}`)
    const failed = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"error":{"code":-32000,"message":${said}}}`
    response.setHeader('set-cookie', 'affinity="CANARY-cookie-0123"')
    if (rpc === 'initialize')
      json(response, answerOf(id, init), 200, { 'mcp-session-id': 'CANARY-session-0123' })
    else if (method === 'GET') {
      events(
        response,
        [
          `data: {"junk":${said}}`,
          `data: {"jsonrpc":"2.0","id":${said},"result":{}}`,
          `data: {"jsonrpc":"2.0","id":7,"method":${said}}`,
          `data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}\n\n`,
        ].join('\n\n'),
      )
    } else if (rpc === 'tools/list') json(response, answerOf(id, '{"tools":[]}'))
    else if (rpc === 'resources/list') json(response, answerOf(id, `{"resources":[],"nextCursor":${said}}`))
    else if (id === undefined) response.writeHead(202).end()
    else json(response, failed)
  })
  const { attach, proxy, log } = await libraryProxy(t, { s: { url: script.url.href } }, { verbose: true })
  const { client } = await attach()
  await client.open()
  const heard = [await client.request('resources/list'), await client.request('prompts/list')]
  await until(() => log.some(({ message }) => message.includes('is no JSON-RPC message')))
  const said = `${JSON.stringify([log, proxy.status()])}${heard.map(({ text }) => text).join('')}`
  for (const what of ['prompts/list: ', 'the cursor ', 'is no JSON-RPC message', 'no open request'])
    assert.ok(said.includes(what), `${what}: ${said}`)
  assert.match(said, /\[redacted\]/)
  assert.equal(said.includes('CANARY'), false, said)
})
