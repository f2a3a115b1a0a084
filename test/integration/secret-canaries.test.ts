// Secrets in every place of the configuration, and faults of every kind: no output of the proxy contains any of them.

import { strict as assert } from 'node:assert'
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { runCommand } from '../cli/support/in-process.js'
import { scratch, spawnGateway } from './support/spawned.js'
import { message, open, send } from '../transports/support/http.js'
import { INIT, TOOLS } from '../transports/support/one-tool.js'
import { Issuer } from '../front-auth/issuer.js'
import { type Seen, answerOf, json, scripted } from '../transports/support/scripted.js'

/** The places of secrets; each has a unique value. */
const places = [
  'header',
  'variable',
  'user',
  'password',
  'query',
  'env',
  'envVariable',
  'argument',
  'file',
  'program',
  'set',
  'input',
  'frontToken',
  'introspection',
  'wrongToken',
  'upstreamSession',
  'cookie',
] as const

/** As an HTTP header has it that no configuration has written. */
const login = (): string => Buffer.from(`${secret['user']}:${secret['password']}`).toString('base64')

const secret = Object.fromEntries(places.map((place) => [place, `CANARY-${place}-0123456789abcdef`]))

/** A page with the whole request, like that of a server in debug mode. */
const echo = (seen: Seen, request: IncomingMessage): string =>
  `you sent ${request.rawHeaders.join(' ')} to ${seen.url}`

/** The behaviours of a remote server, which the argument of the call chooses. */
const ways: Readonly<
  Record<string, (seen: Seen, response: ServerResponse, request: IncomingMessage) => void>
> = {
  unauthorized: (seen, response, request) => response.writeHead(401).end(echo(seen, request)),
  forbidden: (seen, response, request) => response.writeHead(403).end(echo(seen, request)),
  notFound: (seen, response, request) => response.writeHead(410).end(echo(seen, request)),
  broken: (seen, response, request) =>
    response.writeHead(500, { 'content-type': 'text/html' }).end(`<pre>${echo(seen, request)}</pre>`),
  rpc: (seen, response, request) =>
    json(
      response,
      JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32000, message: echo(seen, request) } }),
      400,
    ),
  noAnswer: (seen, response, request) =>
    json(response, JSON.stringify({ ok: false, was: echo(seen, request) })),
  text: (seen, response, request) =>
    response.writeHead(200, { 'content-type': 'text/plain' }).end(echo(seen, request)),
  redirect: (seen, response) =>
    response.writeHead(302, { location: `https://x:${secret['password']}@other.example/${seen.url}` }).end(),
  compressed: (_seen, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end('x'),
  cut: (_seen, response) => response.destroy(),
  tooLarge: (_seen, response) =>
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '999999999' }).write('{'),
  never: () => undefined,
}

/** A program that says all it knows, and ends. */
const talker = `
  const all = JSON.stringify(process.env) + process.argv.join(' ')
  process.stderr.write(all + '\\n')
  process.stdout.write(all + '\\n')
  setTimeout(() => process.exit(3), 200)
`

test('no secret of the configuration or of a client is said anywhere', async (t) => {
  const folder = scratch(t)
  const remote = await scripted(t, (seen, response, request) => {
    response.setHeader('set-cookie', `affinity=${secret['cookie']}`)
    if (seen.rpc === 'initialize')
      json(response, answerOf(seen.id, INIT), 200, { 'mcp-session-id': secret['upstreamSession'] ?? '' })
    else if (seen.rpc === 'tools/list') json(response, answerOf(seen.id, TOOLS))
    else if (seen.rpc !== 'tools/call') response.writeHead(seen.method === 'GET' ? 405 : 202).end()
    else ways[/"way":"(\w+)"/.exec(seen.body)?.[1] ?? '']?.(seen, response, request)
  })
  const { host } = remote.url
  const address = `http://${secret['user']}:${secret['password']}@${host}/mcp?token=${secret['query']}`
  const program = (args: readonly string[]): object => ({
    command: process.execPath,
    args,
    env: {
      APP_CREDENTIAL: secret['env'],
      OTHER: '${CANARY_ENV}',
      FROM_FILE: '${file:canary.txt}',
      FROM_PROGRAM: `x-\${cmd:"${process.execPath}" print-canary.cjs}`,
      WAS_SET: '${keyring:canary}',
      WAS_ASKED: '${input:canary-input}',
    },
    restartDelay: 3_600_000,
  })
  const issuer = await new Issuer().listen(t)
  const asked = { url: issuer.issuer, clientId: 'front', clientSecret: secret['introspection'] }
  const issuers = [
    { issuer: issuer.issuer, algorithms: ['ES256'] },
    { issuer: `${issuer.issuer}/other`, introspection: asked },
  ]
  const config = {
    server: { port: 0, token: secret['frontToken'], publicUrl: 'https://mcp.example.com', auth: { issuers } },
    logging: { level: 'debug', file: join(folder, 'log', 'proxy.log'), maxSize: 4096, maxFiles: 50 },
    mcpServers: {
      remote: {
        url: address,
        headers: {
          'X-Api-Key': secret['header'],
          'X-Other': 'Key ${CANARY_VARIABLE}',
          'X-More': `\${file:canary.txt} \${cmd:"${process.execPath}" print-canary.cjs}`,
          'X-Set': 'Bearer ${keyring:canary}, ${input:canary-input}',
        },
        timeout: 1000,
        retries: 0,
      },
      talker: program(['-e', talker, '--', '${CANARY_ARGUMENT}']),
      missing: { ...program(['--key', '${CANARY_ARGUMENT}']), command: '/nonexistent/program' },
      gone: {
        url: `http://${secret['user']}:${secret['password']}@127.0.0.1:9/mcp?token=${secret['query']}`,
        retries: 0,
      },
    },
  }
  const file = join(folder, 'config.json')
  writeFileSync(file, JSON.stringify(config))
  writeFileSync(join(folder, 'canary.txt'), `${secret['file']}\n`)
  writeFileSync(join(folder, 'print-canary.cjs'), `console.log(${JSON.stringify(secret['program'])})`)
  mkdirSync(join(folder, '.mcps-proxy'), { mode: 0o700 })
  const kept = { canary: secret['set'], 'canary-input': secret['input'] }
  writeFileSync(join(folder, '.mcps-proxy', 'secrets.json'), JSON.stringify({ format: 1, secrets: kept }), {
    mode: 0o600,
  })
  const record = join(folder, 'record.jsonl')
  const env = {
    PATH: process.env['PATH'],
    HOME: folder,
    CANARY_VARIABLE: secret['variable'],
    CANARY_ENV: secret['envVariable'],
    CANARY_ARGUMENT: secret['argument'],
  }
  const { proxy, port } = await spawnGateway(t, ['-c', file, '--verbose', '--record', record], { env })
  let stderr = proxy.stderr
  proxy.child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  const headers = { authorization: `Bearer ${secret['frontToken']}` }

  const answers: string[] = []
  const ask = async (body: string, more: Readonly<Record<string, string>> = {}): Promise<void> => {
    answers.push((await send(port, { body, headers: { ...headers, ...more } })).body)
  }
  // A client with a wrong token, at paths that exist and that do not.
  const wrong = { authorization: `Bearer ${secret['wrongToken']}` }
  for (const path of ['/mcp', '/api/none/mcp', '/nothing'])
    answers.push((await send(port, { path, body: message('ping', 1), headers: wrong })).body)
  // Access tokens that are right, have expired, and stand in the address.
  const tokens = [Date.now() / 1000 + 3600, 1].map((exp) =>
    issuer.token({ sub: 'ann', aud: 'https://mcp.example.com', exp: Math.floor(exp) }),
  )
  for (const token of tokens) {
    await ask(message('tools/call', 'a', { name: 'remote__work', arguments: { way: 'text' } }), {
      authorization: `Bearer ${token}`,
    })
    answers.push((await send(port, { path: `/mcp?access_token=${token}`, body: message('ping', 1) })).body)
  }
  const session = await open(port, {
    body: message('initialize', 0, { protocolVersion: '2025-11-25' }),
    headers,
  })
  session.resume()
  const own = String(session.headers['mcp-session-id'])
  await ask('{"broken', { 'mcp-session-id': own })
  await ask(message('nothing/known', 1), { 'mcp-session-id': own })
  await ask(message('ping', 1), { 'mcp-session-id': `${own}x` })
  await ask(message('tools/list', 1))
  for (const way of Object.keys(ways))
    await ask(message('tools/call', way, { name: 'remote__work', arguments: { way } }))
  for (const name of ['talker__x', 'missing__x', 'gone__x'])
    await ask(message('tools/call', 2, { name, arguments: {} }))
  for (const path of ['/', '/health', '/api/status', '/mcp'])
    answers.push((await send(port, { path, method: 'GET', headers: { ...headers, accept: '*/*' } })).body)
  proxy.child.kill('SIGTERM')
  await proxy.exited

  assert.equal(answers.filter((body) => body.includes('-32603')).length >= Object.keys(ways).length, true)
  assert.ok(remote.seen.length > Object.keys(ways).length, 'the server was called')
  const logs = readdirSync(join(folder, 'log')).map((name) => readFileSync(join(folder, 'log', name), 'utf8'))
  assert.ok(logs.length > 1, 'the log was rotated')
  const run = async (...args: readonly string[]): Promise<string> => {
    const { out, err } = await runCommand(args, env)
    return out + err
  }
  const change = ['add', 'talker', '--force', '--config', file]
  const said: Readonly<Record<string, string>> = {
    stderr: stderr + JSON.stringify(proxy.client.heard) + proxy.client.invalid.join(),
    'the log file': logs.join('\n'),
    'what clients were told': answers.join('\n'),
    '--check': await run('--check', file),
    'doctor and its errors': await run('doctor', '--config', file),
    'the lines of a change': await run(...change, '--env', `K=${secret['env']}`, '--', 'x'),
    'the names of secrets': `${await run('secret', 'list')}, ${await run('secret', 'remove', 'canari')}`,
    // The recording keeps the stdout of a program byte for byte: these lines are no frames.
    'the recording': readFileSync(record, 'utf8').replaceAll(/"junk64":"[^"]*"/g, ''),
  }
  for (const [where, text] of Object.entries(said)) {
    assert.ok(text.length > 50, where)
    for (const token of tokens) assert.equal(text.includes(token.slice(-40)), false, `a token in ${where}`)
    for (const place of places)
      assert.equal(
        text.includes(secret[place] ?? ''),
        false,
        `${place} in ${where}: ${around(text, secret[place] ?? '')}`,
      )
    assert.equal(text.includes(login()), false, `user and password in ${where}: ${around(text, login())}`)
    if (where !== 'what clients were told' && where !== 'the recording')
      assert.equal(text.includes(own), false, `the session of a client in ${where}: ${around(text, own)}`)
  }
  // The proxy forwards no credentials of its clients.
  for (const { headers: sent } of remote.seen) {
    const all = JSON.stringify(sent)
    const fronts = [...tokens, secret['frontToken'] ?? '', secret['wrongToken'] ?? '']
    for (const shown of fronts) assert.equal(all.includes(shown), false)
  }
})

function around(text: string, what: string): string {
  const at = text.indexOf(what)
  return text.slice(Math.max(0, at - 150), at + 60)
}
