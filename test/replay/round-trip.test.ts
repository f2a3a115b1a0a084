// Recordings of `--record` replay: with HTTP on either side of the proxy, or on both.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import process from 'node:process'
import { describe, it } from 'node:test'
import { both, message, send } from '../transports/support/http.js'
import { cli, folder, gateway, programs, reference, run, talk } from './support.js'

let files = 0
const newFile = (): string => join(folder, `recorded-${(files += 1)}.jsonl`)

function configOf(config: object): string {
  const file = join(folder, `config-${(files += 1)}.json`)
  // The contents of a list must not depend on the time that a server takes to start.
  writeFileSync(file, JSON.stringify({ startupGraceMs: 60_000, ...config }))
  return file
}

const echo = { command: process.execPath, args: [join(programs, 'echo.mjs')] }
const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } }

/** A session over HTTP: a handshake, a list, a call whose body was pretty-printed, and the end. */
async function session(port: number, tool: string, headers: Record<string, string> = {}): Promise<void> {
  const opened = await send(port, { body: message('initialize', 'i', params), headers })
  const own = {
    ...headers,
    'mcp-session-id': String(opened.headers['mcp-session-id']),
    'mcp-protocol-version': '2025-06-18',
  }
  const say = async (body: string): Promise<void> => {
    const { status } = await send(port, { body, headers: own })
    assert(status === 200 || status === 202, `${status} for ${body}`)
  }
  await say(message('notifications/initialized'))
  await say(message('tools/list', 1))
  const call = {
    jsonrpc: '2.0',
    id: 2,
    method: 'tools/call',
    params: { name: tool, arguments: { count: 1 } },
  }
  await say(`${JSON.stringify(call, null, 2).replaceAll('\n', '\r\n')}\n`)
  await send(port, { method: 'DELETE', headers: own })
}

/** Lines of the recording that hold a message, by hop and direction. */
function counted(file: string): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const line of readFileSync(file, 'utf8').trim().split('\n')) {
    const value: unknown = JSON.parse(line)
    const { hop, dir } = Object(value)
    if (hop !== undefined) counts[`${hop} ${dir}`] = (counts[`${hop} ${dir}`] ?? 0) + 1
  }
  return counts
}

describe('what was recorded replays', () => {
  it('stdio in front of HTTP', async (t) => {
    const config = configOf({ mcpServers: { far: { url: await reference(t) } } })
    const file = newFile()
    const args = [cli, '--stdio', '--silent', '--config', config, '--record', file]
    const lines = [
      message('initialize', 1, params),
      message('notifications/initialized'),
      message('tools/list', 2),
      message('tools/call', 3, { name: 'far__test_simple_text', arguments: {} }),
    ]
    assert.equal(await talk(args, lines, 3), 0)
    const counts = counted(file)
    assert(Number(counts['upstream out']) >= 4 && Number(counts['upstream in']) >= 3, JSON.stringify(counts))
    const { code: rc, out } = await run(file)
    assert.equal(rc, 0, out)
    assert.match(out, /^1 passed, 0 failed \(3 frames compared/)
  })

  it('HTTP in front of stdio: the proxy is started with --http again, once for all clients', async (t) => {
    const starts = join(folder, 'starts')
    const [program = ''] = echo.args
    const script = `require('node:fs').appendFileSync(${JSON.stringify(starts)}, '.');import(${JSON.stringify(program)})`
    const config = configOf({ mcpServers: { echo: { command: process.execPath, args: ['-e', script] } } })
    const file = newFile()
    const { port, stop } = await gateway(t, '--config', config, '--record', file)
    await session(port, 'echo__typed')
    await session(port, 'echo__typed')
    await send(port, { body: message('tools/list', 9), headers: { accept: 'application/json' } })
    assert.equal(await stop(), 0)
    const recorded = readFileSync(file, 'utf8')
    const text = '{\\r\\n  \\"jsonrpc\\": \\"2.0\\",\\r\\n  \\"id\\": 2,'
    assert.equal(recorded.split(`"dir":"in","whole":true,"text":"${text}`).length, 3, recorded)
    const { code, out } = await run(file)
    assert.equal(code, 0, out)
    assert.match(out, /^3 passed, 0 failed \(7 frames compared\)\n$/)
    assert.equal(readFileSync(starts, 'utf8'), '..', 'once for the recording, and once for the replay')
    assert.equal(readFileSync(file, 'utf8'), recorded, 'a replay does not record over what it replays')
    const elsewhere = await run(file, {
      rest: [process.execPath, cli, '--stdio', '--no-kept-lists', '--config', config],
    })
    assert.equal(elsewhere.code, 0, `over stdio: ${elsewhere.out}`)
    const changed = newFile()
    writeFileSync(changed, recorded.replaceAll('[echo] Takes', '[echo] Took'))
    assert.match((await run(changed)).out, /^0 passed, 3 failed/m)
  })

  it('HTTP in front of HTTP, though another proxy has the port of the metrics', async (t) => {
    const metrics = createServer().listen(0, '127.0.0.1')
    await once(metrics, 'listening')
    const address = metrics.address()
    assert(typeof address === 'object' && address !== null)
    metrics.close()
    const server = { metrics: { port: address.port } }
    const config = configOf({ server, mcpServers: { far: { url: await reference(t) } } })
    const file = newFile()
    const { port, stop } = await gateway(t, '--config', config, '--record', file)
    await session(port, 'far__test_simple_text')
    assert.equal(await stop(), 0)
    const counts = counted(file)
    assert.deepEqual([counts['client in'], counts['client out']], [4, 3])
    assert(Number(counts['upstream in']) > 0 && Number(counts['upstream out']) > 0)
    const other = createServer().listen(address.port, '127.0.0.1')
    t.after(() => other.close())
    await once(other, 'listening')
    const { code, out } = await run(file)
    assert.equal(code, 0, out)
    assert.match(out, /^1 passed, 0 failed \(3 frames compared/)
  })

  it('each schema at its own path', async (t) => {
    const schemas = { default: { mcpServers: { echo } }, other: { mcpServers: { second: echo } } }
    const file = newFile()
    const { port, stop } = await gateway(t, '--config', configOf({ schemas }), '--record', file)
    const headers = { accept: 'application/json' }
    await send(port, { body: message('tools/list', 1), headers })
    await send(port, { path: '/api/other/mcp', body: message('tools/list', 1), headers })
    assert.equal(await stop(), 0)
    assert.match(readFileSync(file, 'utf8'), /"hop":"client","schema":"other",.*"name":"second__echo"/)
    const { code, out } = await run(file)
    assert.equal(code, 0, out)
    assert.match(out, /^2 passed, 0 failed \(2 frames compared\)\n$/)
  })
})

it('a recording holds no header field, so none with credentials', async (t) => {
  const [ours, theirs] = ['secret-of-the-front', 'secret-of-the-server']
  const far = { url: await reference(t), headers: { Authorization: `Bearer ${theirs}` } }
  const config = configOf({ mcpServers: { far }, server: { token: ours } })
  const file = newFile()
  const { port, stop } = await gateway(t, '--config', config, '--record', file)
  await session(port, 'far__test_simple_text', { authorization: `Bearer ${ours}` })
  assert.equal(await stop(), 0)
  const recorded = readFileSync(file, 'utf8')
  assert.match(recorded, /"hop":"client"[^]*"hop":"upstream"/)
  for (const secret of [ours, theirs, 'Bearer', 'mcp-session-id', both])
    assert(!recorded.toLowerCase().includes(secret.toLowerCase()), `${secret} was recorded`)
  const refused = await run(file)
  assert.equal(refused.code, 1)
  assert.match(refused.out, /it refuses the request \(HTTP 401\); name credentials: --header/)
  const { code, out } = await run(file, { header: { Authorization: `Bearer ${ours}` } })
  assert.equal(code, 0, out)
})

it('a recording that cannot go on lets nothing more through on stdio, and says why', async () => {
  const place = join(folder, 'vanishes')
  mkdirSync(place)
  const file = join(place, 'r.jsonl')
  const child = spawn(process.execPath, [cli, '--stdio', '--record', file], { env: { HOME: folder } })
  let [out, err] = ['', '']
  const failed = new Promise<void>((resolve) => {
    child.stderr.on('data', (chunk: Buffer) => {
      err += chunk.toString()
      if (err.includes('passes no more messages')) resolve()
    })
  })
  const answered = new Promise<void>((resolve) => {
    child.stdout.on('data', (chunk: Buffer) => {
      out += chunk.toString()
      resolve()
    })
  })
  child.stdin.on('error', () => undefined)
  child.stdin.write(`${message('ping', 1)}\n`)
  await answered
  assert(existsSync(file))
  rmSync(place, { recursive: true })
  child.stdin.write(`${message('ping', 2)}\n`)
  await failed
  child.stdin.write(`${message('ping', 3)}\n`)
  const [code] = await once(child, 'close')
  assert.equal(code, 1)
  assert(!out.includes('"id":3'), out)
  assert.match(
    err,
    /"level":"error","message":"cannot record to [^"]*r\.jsonl: the file was removed; the proxy passes no more messages/,
  )
  assert.match(err, /mcps-proxy: cannot record to \S*r\.jsonl: the file was removed\n$/)
})
