// Transcripts of messages against servers over HTTP: our own, those of others, and what is none.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { type Scope, fileOf, fixtures, gateway, programs, run, serving } from './support.js'

const call = '{"dir":"in","frame":{"jsonrpc":"2.0","id":1,"method":"ping"}}'
const answer = '{"dir":"out","frame":{"jsonrpc":"2.0","id":1,"result":{}}}'

/** A session that every server can answer: a handshake and a list of tools. */
const handshake = [
  '{"mcps":1,"title":"handshake"}',
  '{"dir":"in","frame":{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}}',
  '{"dir":"out","expect":"json","frame":{"jsonrpc":"2.0","id":"i","result":{"protocolVersion":"2025-06-18","capabilities":"$any","serverInfo":{"name":"$string","$rest":"any"},"$rest":"any"}}}',
  '{"dir":"in","frame":{"jsonrpc":"2.0","method":"notifications/initialized"}}',
  '{"dir":"in","frame":{"jsonrpc":"2.0","id":2,"method":"tools/list"}}',
  '{"dir":"out","expect":"json","optional":true,"unordered":true,"frame":{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}}',
  '{"dir":"out","expect":"json","frame":{"jsonrpc":"2.0","id":2,"result":{"tools":"$any"}}}',
  '{"dir":"in","frame":{"jsonrpc":"2.0","id":3,"method":"ping"}}',
  '{"dir":"out","expect":"json","frame":{"jsonrpc":"2.0","id":3,"result":{}}}',
] as const

const passed = /^1 passed, 0 failed \(3 frames compared\)\n$/

// One for each way in which a message comes over HTTP. `http-transcripts` has the transcripts of the front itself.
const names =
  'cancelled error-timeout logging-setlevel n-driven n-listen n-tasks progress revision-2025-03-26-batch sampling tools-list-changed'
for (const name of names.split(' '))
  it(`the fixtures, over HTTP: ${name}`, async () => {
    const { code, out } = await run(join(fixtures, `${name}.jsonl`), { http: true })
    assert.equal(code, 0, out)
    assert.match(
      out,
      /^(?:1 passed, 0 failed \(\d+ frames compared\)|skip .*: it needs stdio \(.*\), and this is HTTP\n0 passed, 0 failed, 1 skipped.*)\n$/,
    )
  })

describe('replay --url', () => {
  it('against the proxy, over Streamable HTTP and over HTTP+SSE', async (t) => {
    const { origin } = await gateway(t)
    for (const path of ['/mcp', '/sse']) {
      const { code, out } = await run(fileOf(...handshake), { url: `${origin}${path}` })
      assert.equal(code, 0, out)
      assert.match(out, passed)
    }
  })

  it('keeps the session, the revision and the header fields, and says goodbye', async (t) => {
    const seen: string[] = []
    const origin = await scripted(t, seen)
    const { code, out } = await run(fileOf(...handshake), { url: `${origin}/mcp`, header: { 'X-Key': 'k' } })
    assert.equal(code, 0, out)
    const fields = 'session=s1 version=2025-06-18 key=k'
    assert.deepEqual(seen.toSorted(), [
      `DELETE ${fields}`,
      `GET ${fields}`,
      'POST session=none version=none key=k',
      `POST ${fields}`,
      `POST ${fields}`,
      `POST ${fields}`,
    ])
  })

  it('takes each file for a session of its own, and skips what needs stdio', async (t) => {
    const seen: string[] = []
    const url = `${await scripted(t, seen)}/mcp`
    const ends = fileOf('{"mcps":1}', call, answer, '{"exit":0}')
    const { code, out } = await run([fileOf(...handshake), ends, fileOf(...handshake)], { url })
    assert.equal(code, 0, out)
    assert.equal(
      out,
      `skip ${ends}: it needs stdio (line 4 expects the process to end), and this is HTTP\n` +
        '2 passed, 0 failed, 1 skipped (6 frames compared)\n',
    )
    assert.equal(seen.filter((each) => each.includes('session=none')).length, 2)
  })

  it('says at once that the server refuses the client', async (t) => {
    const origin = await serving(t, (_request, response) => void response.writeHead(401).end('no'))
    const { code, out } = await run(fileOf(...handshake), { url: `${origin}/mcp` })
    assert.equal(code, 1)
    assert.match(
      out,
      /:3: the answer to id "i" did not come: .*refuses the request \(HTTP 401\); name credentials: --header/,
    )
  })

  it('refuses a header field that it writes itself', async () => {
    const { code, err } = await run(fileOf('{"mcps":1}', call), {
      url: 'http://127.0.0.1:1',
      header: { 'mcp-session-id': 'x' },
    })
    assert.equal(code, 2)
    assert.match(err, /--header mcp-session-id: a replay writes this field itself/)
  })
})

it('a server started for a transcript is told its port, also by the command line', async () => {
  const { code, out } = await run(fileOf(...handshake), {
    http: true,
    rest: [process.execPath, join(programs, 'reference.mjs'), '--http', '$port'],
  })
  assert.equal(code, 0, out)
})

it('a server started for a transcript may end before it listens, which is said at once', async () => {
  const file = fileOf(
    '{"mcps":1,"transport":"http","command":["$node","-e","console.error(`no ${process.argv[1]}`);process.exit(3)","$port"]}',
    call,
    answer,
  )
  const { code, out } = await run(file)
  assert.equal(code, 1)
  assert.match(out, /the server ended its output and exited with 3/)
  assert.match(out, /the server said on stderr:\n +no \d+/)
})

/** A server that keeps a session, and what came to it. */
const scripted = (scope: Scope, seen: string[]): Promise<string> =>
  serving(scope, (request, response, body) => {
    const field = (name: string): string => String(request.headers[name] ?? 'none')
    const [session, version] = [field('mcp-session-id'), field('mcp-protocol-version')]
    seen.push(`${request.method} session=${session} version=${version} key=${field('x-key')}`)
    if (request.method !== 'POST') return void response.writeHead(405).end()
    const asked: unknown = JSON.parse(body)
    const { id: about, method } = Object(asked)
    if (about === undefined) return void response.writeHead(202).end()
    response.setHeader('content-type', 'application/json')
    if (method === 'initialize') response.setHeader('mcp-session-id', 's1')
    const result =
      method === 'initialize'
        ? { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 's' } }
        : method === 'tools/list'
          ? { tools: [] }
          : {}
    response.end(JSON.stringify({ jsonrpc: '2.0', id: about, result }))
  })
