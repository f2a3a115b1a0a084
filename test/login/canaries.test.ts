// A login, its renewals and its end in a gateway that says all it can: no token, code, state or verifier is among it.

import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { cli } from '../integration/support/programs.js'
import { configFile, inspectorOf, scratch, spawnProgram } from '../integration/support/spawned.js'
import { until, untilAnswered } from '../integration/support/waiting.js'
import { AuthorizationServer } from './authorization-server.js'
import { TestBrowser } from './place.js'

test('no secret of a login is said anywhere', async (t) => {
  const server = await AuthorizationServer.open(t, { echoes: true })
  const home = scratch(t)
  const record = join(home, 'session.jsonl')
  const config = configFile(t, { guarded: { url: server.url } })
  const args = [cli, 'http', '--port', '0', '--config', config, '--verbose', '--record', record, '--ui']
  const gateway = spawnProgram(t, process.execPath, args, {
    env: { ...process.env, HOME: home, BROWSER: new TestBrowser(home).path },
  })
  t.after(() => gateway.kill())
  const wholeLines = (): string => gateway.stderr.slice(0, gateway.stderr.lastIndexOf('\n') + 1)
  await until(() => ['POST to http', 'inspector: '].every((text) => wholeLines().includes(text)))
  const [url = ''] = /http:\/\/127\.0\.0\.1:\d+\/mcp/.exec(gateway.stderr) ?? []
  const said: string[] = []
  // Frames are kept once a page looks at them.
  const [, key = ''] = (await inspectorOf(gateway, home)).split('#key=')
  const viewer = { authorization: `Bearer ${key}` }
  const feed = await fetch(new URL('/ui/feed', url), { headers: viewer })
  const read = async (): Promise<void> => {
    for await (const chunk of feed.body ?? []) said.push(Buffer.from(chunk).toString())
  }
  void read().catch(() => undefined)
  const ask = async (method: string, params: object = {}): Promise<string> => {
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const text = await (await fetch(url, { method: 'POST', headers, body })).text()
    const status = await (await fetch(new URL('/api/status', url))).text()
    said.push(text, status)
    return text
  }
  const call = (): Promise<string> => ask('tools/call', { name: 'guarded__hello', arguments: {} })
  await untilAnswered(
    async () => (await call()).includes('"hi"'),
    () => gateway.stderr,
  )
  for (let time = 0; time < 3; time++) {
    server.expireAccess()
    assert.match(await call(), /"hi"/)
  }
  // The authorization server has an outage, then it ends the login, and the person makes another one.
  server.expireAccess()
  server.options = { echoes: true, tokenAnswer: { access_token: undefined, error: 'server_error' } }
  assert.match(await call(), /server_error/)
  server.options = { echoes: true, iss: 'https://evil.example' }
  server.revokeAll()
  assert.match(await call(), /needs a login/)
  await until(() =>
    gateway.stderr.includes('login failed: the answer is that of another authorization server'),
  )
  server.options = { echoes: true, opens: [], challenge: '' }
  await call()
  for (const [path, init] of [
    ['/ui/status', {}],
    ['/ui/export', { method: 'POST', body: '1-10000' }],
  ] as const)
    said.push(await (await fetch(new URL(path, url), { ...init, headers: viewer })).text())
  assert.match(said.at(-1) ?? '', /guarded__hello/)
  gateway.kill()
  await gateway.exited
  const files = [record, `${record}.1`].filter((path) => existsSync(path))
  const all = [
    ...said,
    ...server.mcpRequests,
    gateway.stderr,
    ...files.map((path) => readFileSync(path, 'utf8')),
  ]
  assert(server.secrets.size > 8 && files.length > 0)
  for (const secret of server.secrets)
    assert(secret === '' || !all.some((text) => text.includes(secret)), secret)
})
