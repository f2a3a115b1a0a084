import { strict as assert } from 'node:assert'
import type { ServerResponse } from 'node:http'
import { describe, test } from 'node:test'
import { defaultHttpClientLimits } from '../../src/transports/http-client/options.js'
import { type Handler, answerOf, called, connect, events, json, scripted } from './support/scripted.js'

const INIT = '{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"1"}}'
const NOTE = '{"jsonrpc":"2.0","method":"notifications/initialized"}'

/** Opens a session. `handler` answers all other requests. */
function withSession(handler: Handler): Handler {
  return (seen, response, request) => {
    if (seen.rpc === 'initialize') json(response, answerOf(seen.id, INIT), 200, { 'mcp-session-id': 's-1' })
    else if (seen.rpc === 'notifications/initialized') response.writeHead(202).end()
    else handler(seen, response, request)
  }
}

const errorTo = (id: unknown, code: number, message: string): string =>
  JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } })

const method405: Handler = (_seen, response) => response.writeHead(405).end()

describe('one answer', () => {
  const [JSON_TYPE, EVENTS] = ['application/json', 'text/event-stream']
  const rpcError = '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad thing"}}'
  const wrongKey = '{"code":401,"msg":"token expired or incorrect","success":false}'
  const noKey = '{"code":1001,"msg":"Authentication parameter not received in Header","success":false}'
  /** The status, the media type and the body of the answer; the code and the message of the failure. */
  const refused: readonly (readonly [string, number, string, string, string, RegExp])[] = [
    ['a page', 500, 'text/html', '<h1>Oops</h1>', 'TRANSPORT_STATUS', /HTTP 500: Oops$/],
    ['no success', 404, 'text/html', 'no', 'TRANSPORT_STATUS', /HTTP 404: no/],
    ['a refused key', 401, '', 'who?', 'TRANSPORT_AUTH', /^refused 401$/],
    ['a forbidden one', 403, '', 'no', 'TRANSPORT_AUTH', /^refused 403$/],
    ['a login page', 200, 'text/html', '<p>login</p>', 'TRANSPORT_ANSWER', /text\/html.*login/],
    ['no type', 200, '', 'x', 'TRANSPORT_ANSWER', /no content type/],
    ['no body', 202, '', '', 'TRANSPORT_ANSWER', /HTTP 202/],
    ['JSON that is no answer', 200, JSON_TYPE, '{"ok":true}', 'TRANSPORT_ANSWER', /no answer/],
    ['broken JSON', 200, JSON_TYPE, '{"jsonrpc"', 'TRANSPORT_ANSWER', /no answer/],
    ['a gateway, wrong key', 200, JSON_TYPE, wrongKey, 'TRANSPORT_AUTH', /refused 200/],
    ['a gateway, no key', 200, JSON_TYPE, noKey, 'TRANSPORT_AUTH', /refused/],
    ['an answer to another request', 200, JSON_TYPE, answerOf(99), 'TRANSPORT_ANSWER', /no answer/],
    ['a batch of other answers', 200, JSON_TYPE, `[${answerOf(99)}]`, 'TRANSPORT_ANSWER', /no answer/],
    ['an error of no request with 200', 200, JSON_TYPE, rpcError, 'TRANSPORT_ANSWER', /no answer/],
    ['an event for another request', 200, EVENTS, `data: ${answerOf(99)}\n\n`, 'TRANSPORT_IO', /ended/],
    ['an error of no request', 400, JSON_TYPE, rpcError, 'TRANSPORT_STATUS', /400: Bad thing$/],
  ]
  for (const [title, status, type, body, code, message] of refused)
    test(`${title} (HTTP ${status}): only that request fails`, async (t) => {
      const server = await scripted(t, (_seen, response) => {
        response.writeHead(status, type === '' ? {} : { 'content-type': type }).end(body)
      })
      const { heard, request } = connect(t, server.url)
      request(1, 'work')
      await heard.until(() => heard.failures.length === 1)
      const [failure] = heard.failures
      assert.deepEqual([failure?.id, failure?.error.code], ['1', code])
      assert.match(failure?.error.message ?? '', message)
      assert.equal(heard.closed, undefined)
      assert.equal(server.seen.length, 1)
    })

  const odd = '{ "id": 1,\r\n "jsonrpc": "2.0",\n "result": {"n": 12345678901234567890, "n": 1.0} }'
  for (const [title, body] of [
    ['with the bytes as they are', odd],
    ['behind a byte order mark', `\u{feff}${odd}`],
  ] as const)
    test(`JSON, ${title}`, async (t) => {
      const server = await scripted(t, (_seen, response) => json(response, body))
      const { heard } = await called(t, server.url)
      assert.deepEqual([heard.messages, heard.during], [[odd], ['1']])
      assert.deepEqual(heard.wire[0], 'out {"jsonrpc":"2.0","id":1,"method":"work","params":{}}\n')
    })

  for (const pieceBytes of [1, 5000, 65_536, 1_000_000])
    test(`long JSON in pieces of ${pieceBytes} bytes, for who takes it in parts`, async (t) => {
      const long = answerOf(1, `"${'é\\n'.repeat(50_000)}"`)
      const batch = `[${long},${answerOf(2, '"short"')}]`
      const bodies = [long, ` ${long}\n`, batch]
      const server = await scripted(t, (seen, response) => {
        const bytes = Buffer.from(bodies[server.seen.indexOf(seen)] ?? '')
        response.writeHead(200, { 'content-type': 'application/json' })
        const first = bytes.length > 10_000 && pieceBytes === 1 ? bytes.length - 1000 : 0
        response.write(bytes.subarray(0, first))
        for (let at = first; at < bytes.length; at += pieceBytes)
          response.write(bytes.subarray(at, at + pieceBytes))
        response.end()
      })
      const { heard, request } = connect(t, server.url, {}, { takesParts: true })
      for (const [i] of bodies.entries()) {
        request(1, 'work')
        await heard.until(() => heard.messages.length === i + 1 + Number(i === 2))
      }
      assert.deepEqual(heard.messages, [long, ` ${long}\n`, long, answerOf(2, '"short"')])
      assert.deepEqual(heard.inParts, [0])
    })

  for (const pieceBytes of [5000, 65_536])
    test(`long events in pieces of ${pieceBytes} bytes, for who takes them in parts`, async (t) => {
      const long = answerOf(1, `"${'é\\n'.repeat(50_000)}"`)
      const note = `{"jsonrpc":"2.0","method":"n/1","params":{"a":"${'x'.repeat(100_000)}"}}`
      const batch = `[${note},${note}]`
      const streams = [`data: ${note}\n\nid: 1\ndata: ${long}\n\n`, `data: ${batch}\n\ndata: ${long}\n\n`]
      const server = await scripted(t, (seen, response) => {
        const bytes = Buffer.from(streams[server.seen.indexOf(seen)] ?? '')
        events(response, '')
        for (let at = 0; at < bytes.length; at += pieceBytes)
          response.write(bytes.subarray(at, at + pieceBytes))
        response.end()
      })
      const { heard, request } = connect(t, server.url, {}, { takesParts: true })
      request(1, 'work')
      await heard.until(() => heard.messages.length === 2)
      assert.deepEqual(heard.inParts, [1])
      request(1, 'work')
      await heard.until(() => heard.messages.length === 5)
      assert.deepEqual(heard.messages, [note, long, note, note, long])
      assert.deepEqual(heard.during, ['1', '1', '1', '1', '1'])
      assert.deepEqual(heard.failures, [])
    })

  test('an error of the request in a 4xx is its answer', async (t) => {
    const body = '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}'
    const server = await scripted(t, (_seen, response) => json(response, body, 404))
    const { heard } = await called(t, server.url)
    assert.deepEqual(heard.messages, [body])
    assert.deepEqual(heard.failures, [])
  })

  test('over the limit, said or not', async (t) => {
    const limits = {
      ...defaultHttpClientLimits,
      answerBytesMax: 1000,
      sse: { ...defaultHttpClientLimits.sse, dataBytesMax: 1000 },
    }
    const big = answerOf(1, `"${'x'.repeat(2000)}"`)
    const bodies: readonly Handler[] = [
      (_seen, response) => json(response, big, 200, { 'content-length': String(big.length) }),
      (_seen, response) => json(response, big),
      (_seen, response) => {
        events(response, `data: ${big}\n\n`)
        response.end()
      },
    ]
    for (const body of bodies) {
      const server = await scripted(t, body)
      const { heard, request } = connect(t, server.url, { limits })
      request(1, 'work')
      await heard.until(() => heard.oversize.length === 1)
      assert.deepEqual(heard.failures, [])
    }
  })
})

describe('attempts', () => {
  test('a refused connection is tried again, and ends an idle connection', async (t) => {
    const server = await scripted(t, method405)
    await server.close()
    const { heard, request } = connect(t, server.url)
    request(1, 'work')
    await heard.until(() => heard.closed !== undefined)
    assert.equal(heard.failures[0]?.error.code, 'TRANSPORT_UNREACHABLE')
    assert.match(heard.failures[0]?.error.message ?? '', /connect ECONNREFUSED/)
    assert.equal(heard.closed?.cause?.code, 'TRANSPORT_UNREACHABLE')
  })

  test('a redirect for ever is not followed for ever', async (t) => {
    const server = await scripted(t, (_seen, response) => response.writeHead(308, { location: '/mcp' }).end())
    await called(t, server.url)
    assert.equal(server.seen.length, 4)
  })

  test('the id of an event is sent back byte by byte', async (t) => {
    const server = await scripted(t, (seen, response) => {
      if (seen.method === 'POST') events(response, 'id: é😀 1\nretry: 100\ndata:\n\n')
      else events(response, `id: 2\ndata: ${answerOf(1)}\n\n`)
      response.end()
    })
    await called(t, server.url)
    const sent = server.seen[1]?.headers['last-event-id']
    assert.equal(Buffer.from(String(sent), 'latin1').toString(), 'é😀 1')
  })
})

describe('a session', () => {
  test('id, version, cookies, accept and fixed headers', async (t) => {
    const server = await scripted(t, (seen, response) => {
      const cookies = { 'set-cookie': 'GAESA=abc; Path=/; HttpOnly' }
      if (seen.rpc === 'initialize')
        json(response, answerOf(seen.id, INIT), 200, { 'mcp-session-id': 's-1', ...cookies })
      else if (seen.id === undefined) response.writeHead(seen.method === 'GET' ? 405 : 202).end()
      else json(response, answerOf(seen.id))
    })
    const { heard, connection, request, send } = connect(t, server.url, {
      headers: { 'X-Key': 'k', Host: 'evil' },
    })
    request(1, 'initialize')
    await heard.until(() => heard.messages.length === 1)
    send(NOTE)
    request(2, 'work')
    await heard.until(() => heard.messages.length === 2)
    await connection.close()
    const [first, note, ...rest] = server.seen
    assert.equal(first?.headers['mcp-session-id'], undefined)
    assert.equal(first?.headers['mcp-protocol-version'], undefined)
    assert.equal(first?.headers.host, server.url.host)
    assert.equal(note?.rpc, 'notifications/initialized')
    for (const seen of [note, ...rest]) {
      const { headers } = seen ?? { headers: {} }
      const facts = [
        headers['mcp-session-id'],
        headers['mcp-protocol-version'],
        headers.cookie,
        headers['x-key'],
        headers['accept-encoding'],
      ]
      assert.deepEqual(facts, ['s-1', '2025-06-18', 'GAESA=abc', 'k', 'identity'])
    }
    assert.deepEqual(rest.map(({ method }) => method).sort(), ['DELETE', 'GET', 'POST'])
    assert.equal(heard.closed?.cause, undefined)
  })

  test('the id of each response counts for the next request', async (t) => {
    let answered = 0
    const server = await scripted(t, (seen, response) => {
      if (seen.method === 'GET') return void response.writeHead(405).end()
      const isCurrent = seen.rpc === 'initialize' || seen.headers['mcp-session-id'] === `s-${answered}`
      if (!isCurrent) return json(response, 'Session not found', 404)
      const named = { 'mcp-session-id': `s-${++answered}` }
      if (seen.id === undefined) response.writeHead(202, named).end()
      else json(response, answerOf(seen.id, INIT), 200, named)
    })
    const { heard, request, send } = connect(t, server.url)
    request(0, 'initialize')
    await heard.until(() => heard.messages.length === 1)
    send(NOTE)
    for (const id of [1, 2, 3]) {
      request(id, 'work')
      await heard.until(() => heard.messages.length === id + 1)
    }
    assert.deepEqual(heard.failures, [])
  })

  /** Whether an error with status 200 ends a session, which may have been served before. */
  const errors: readonly (readonly [wasServed: boolean, code: number, message: string, isEnd: boolean])[] = [
    [true, -32600, 'Session not found', true],
    [true, -32000, 'Invalid session ID', true],
    [true, -32001, 'unknown session', true],
    [false, -32600, 'Session not found', false],
    [true, -32602, 'Session not found', false],
    [true, -32600, 'no such tool', false],
  ]
  for (const [wasServed, code, message, isEnd] of errors)
    test(`"${message}" (${code}) with status 200 ${isEnd ? 'ends' : 'does not end'} one that has served ${wasServed ? 'something' : 'nothing'}`, async (t) => {
      const server = await scripted(
        t,
        withSession((seen, response) => {
          if (seen.rpc === 'first') json(response, answerOf(seen.id))
          else if (seen.id === undefined) response.writeHead(405).end()
          else json(response, errorTo(seen.id, code, message))
        }),
      )
      const { heard, request } = connect(t, server.url)
      request(0, 'initialize')
      await heard.until(() => heard.messages.length === 1)
      if (wasServed) request(1, 'first')
      const before = wasServed ? 2 : 1
      await heard.until(() => heard.messages.length === before)
      request(2, 'work')
      await heard.until(() => heard.failures.length + heard.messages.length > before)
      const shown = heard.failures.map(({ error }) => error.code)
      assert.deepEqual(shown, isEnd ? ['TRANSPORT_SESSION'] : [])
    })

  for (const older of ['maybe', 'yes'] as const)
    test(`nothing overtakes notifications/initialized, and a close loses nothing behind it, older transport: ${older}`, async (t) => {
      const order: unknown[] = []
      let stream: ServerResponse | undefined
      const server = await scripted(t, (seen, response) => {
        if (seen.method === 'GET' && older === 'maybe') return void response.writeHead(405).end()
        if (seen.method === 'GET') return events((stream = response), 'event: endpoint\ndata: /messages\n\n')
        order.push(seen.rpc)
        const take = (): void => {
          order.push(`${String(seen.rpc)} is taken`)
          const answer = seen.id === undefined ? undefined : answerOf(seen.id, INIT)
          if (older === 'maybe' && answer !== undefined) return json(response, answer)
          response.writeHead(202).end()
          if (answer !== undefined) stream?.write(`data: ${answer}\n\n`)
        }
        setTimeout(take, seen.rpc === 'work' ? 0 : 50)
      })
      const { connection, heard, request, send } = connect(t, server.url, {}, { older })
      request(1, 'initialize')
      await heard.until(() => heard.messages.length === 1)
      send(NOTE)
      request(2, 'work')
      await heard.until(() => heard.messages.length === 2)
      assert.deepEqual(order.slice(2), [
        'notifications/initialized',
        'notifications/initialized is taken',
        'work',
        'work is taken',
      ])
      send(NOTE)
      send('{"jsonrpc":"2.0","method":"last"}')
      await connection.close()
      const last = [
        'notifications/initialized',
        'notifications/initialized is taken',
        'last',
        'last is taken',
      ]
      assert.deepEqual(order.slice(6), last)
    })

  test('a cancel drops the exchange that it takes back', async (t) => {
    let dropped = false
    const server = await scripted(t, (seen, response) => {
      if (seen.id === undefined) return void response.writeHead(202).end()
      events(response, ': working\n\n')
      response.on('close', () => (dropped = true))
    })
    const limits = { ...defaultHttpClientLimits, lingerMs: 20 }
    const { heard, request, send } = connect(t, server.url, { limits })
    request(1, 'work')
    await heard.until(() => server.seen.length === 1)
    send('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}')
    await heard.until(() => dropped)
    assert.deepEqual(heard.failures, [])
  })

  test('what reads too slowly is not read', async (t) => {
    const server = await scripted(t, (seen, response) => events(response, `data: ${answerOf(seen.id)}\n\n`))
    const { heard, connection, request } = connect(t, server.url)
    connection.read(false)
    request(1, 'work')
    await heard.until(() => server.seen.length === 1)
    await new Promise((resolve) => setTimeout(resolve, 50))
    assert.deepEqual(heard.messages, [])
    connection.read(true)
    await heard.until(() => heard.messages.length === 1)
  })
})
