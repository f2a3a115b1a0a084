// Transcripts of HTTP itself: what is sent, what is compared, and what a mistake in them says.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { EventReader } from '../../src/replay/event-reader.js'
import { TranscriptError } from '../../src/replay/line.js'
import { parseTranscripts } from '../../src/replay/transcript.js'
import { type Scope, fileOf, fixtures, reference, run, serving } from './support.js'

const head = '{"mcps":1}'
const ask = '{"dir":"in","request":"POST /mcp","frame":{"id":1}}'
const get = '{"dir":"in","request":"GET /mcp"}'

type Answer = (response: ServerResponse, request: IncomingMessage, body: string) => void

/** Replays lines against a server that answers every request so. */
async function against(
  scope: Scope,
  answer: Answer,
  ...lines: readonly string[]
): Promise<{ readonly code: number; readonly out: string; readonly file: string }> {
  const origin = await serving(scope, (request, response, body) => answer(response, request, body))
  const file = fileOf(head, ...lines)
  const { code, out } = await run(file, { url: `${origin}/mcp`, timeoutMs: 300 })
  return { code, out, file }
}

const json: Answer = (response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'x-a': 'b' }).end('{"id":1,"result":7}')
}

const events: Answer = (response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.end('id: 1\ndata: \n\nevent: message\ndata: {"n":1}\n\nid: x\nretry: 5\ndata: {"n":2}\n\n')
}

const stream = '{"dir":"out","status":200,"headers":{"Content-Type":"text/event-stream"}}'
const primed = '{"dir":"out","event":"message","id":"1","retry":null,"text":""}'
const first = '{"dir":"out","event":"message","id":null,"frame":{"n":1}}'
const second = '{"dir":"out","event":"message","id":"x","retry":"5","frame":{"n":2}}'

describe('what comes back passes', () => {
  const cases: readonly [string, Answer, readonly string[]][] = [
    ['a body', json, [ask, '{"dir":"out","status":200,"frame":{"id":1,"result":7}}']],
    [
      'header fields, whatever their case, and those that are not there',
      json,
      [ask, '{"dir":"out","status":200,"headers":{"X-A":"b","x-c":null},"body":"any"}'],
    ],
    [
      'one of several values, and a placeholder',
      json,
      [
        ask,
        '{"dir":"out","status":200,"headers":{"X-A":["a","b"],"content-type":"$match:app.*"},"body":"any"}',
      ],
    ],
    [
      'a body in other words',
      json,
      [ask, '{"dir":"out","status":200,"expect":"json","frame":{"result":7,"id":1}}'],
    ],
    ['text', json, [ask, '{"dir":"out","status":200,"text":"{\\"id\\":1,\\"result\\":7}"}']],
    ['bytes', json, [ask, '{"dir":"out","status":200,"junk64":"eyJpZCI6MSwicmVzdWx0Ijo3fQ=="}']],
    ['no body', (response) => response.writeHead(202).end(), [ask, '{"dir":"out","status":202}']],
    ['events, each as it is', events, [ask, stream, primed, first, second, '{"dir":"out","end":true}']],
    [
      'an event that need not come',
      events,
      [ask, stream, primed, '{"dir":"out","event":"message","optional":true,"frame":{"n":0}}', first, second],
    ],
    [
      'an answer as the one event, where nothing is said of its type',
      (response) => {
        response.setHeader('content-type', 'text/event-stream')
        response.end('id: 1\ndata: \n\ndata: {"id":1,"result":7}\n\n')
      },
      [ask, '{"dir":"out","status":200,"frame":{"id":1,"result":7}}'],
    ],
    [
      'a response that we drop, whatever else it holds',
      events,
      [ask, stream, '{"dir":"in","cut":true}', ask, stream, primed, first, second],
    ],
  ]
  for (const [title, answer, lines] of cases) {
    it(title, async (t) => {
      const { code, out } = await against(t, answer, ...lines)
      assert.equal(code, 0, out)
    })
  }
})

describe('what differs is named', () => {
  const cases: readonly [string, Answer, readonly string[], RegExp][] = [
    [
      'the status',
      json,
      [ask, '{"dir":"out","status":202}'],
      /:3: the response to POST differs: the status is 200, not 202\n/,
    ],
    [
      'a field',
      json,
      [ask, '{"dir":"out","status":200,"headers":{"X-A":"c"},"body":"any"}'],
      /:3: .* differs: X-A is "b", not "c"\n/,
    ],
    [
      'a field that is missing',
      json,
      [ask, '{"dir":"out","status":200,"headers":{"X-B":"c"},"body":"any"}'],
      /differs: X-B is missing\n/,
    ],
    [
      'a field that should be',
      json,
      [ask, '{"dir":"out","status":200,"headers":{"X-A":null},"body":"any"}'],
      /differs: X-A is there: b\n/,
    ],
    [
      'the body, with the place in it',
      json,
      [ask, '{"dir":"out","status":200,"frame":{"id":1,"result":8}}'],
      /:3: the response to POST differs\n {4}at byte 17: \$\.result is another value\n/,
    ],
    [
      'how the body is written',
      json,
      [ask, '{"dir":"out","status":200,"frame":{"result":7,"id":1}}'],
      /is written differently/,
    ],
    ['text', json, [ask, '{"dir":"out","status":200,"text":"x"}'], /differs: the text is another\n/],
    ['bytes', json, [ask, '{"dir":"out","status":200,"junk64":"eA=="}'], /differs: the bytes are others\n/],
    [
      'a body that is no JSON',
      (response) => response.end('x'),
      [ask, '{"dir":"out","status":200,"frame":{}}'],
      /differs: it is no JSON\n/,
    ],
    [
      'a body that nobody expects',
      json,
      [ask, '{"dir":"out","status":200}'],
      /there is a body, and none is expected/,
    ],
    [
      'events instead of a body',
      events,
      [ask, '{"dir":"out","status":200,"headers":{"Content-Type":"$any"},"frame":{}}'],
      /differs: events come instead of a body\n/,
    ],
    [
      'a body instead of events',
      json,
      [ask, stream, first],
      /Content-Type is "application\/json", not "text/,
    ],
    [
      'the type of an event',
      events,
      [ask, stream, primed, '{"dir":"out","event":"x","frame":{"n":1}}'],
      /:5: an event on POST differs: the event is "message", not "x"\n/,
    ],
    [
      'an id',
      events,
      [ask, stream, '{"dir":"out","event":"message","id":"2","text":""}', first, second],
      /differs: id is "1", not "2"\n/,
    ],
    [
      'an id that should not be',
      events,
      [ask, stream, '{"dir":"out","event":"message","id":null,"text":""}', first, second],
      /differs: id is there: 1\n/,
    ],
    [
      'the data of an event',
      events,
      [ask, stream, primed, '{"dir":"out","event":"message","frame":{"n":3}}', second],
      /:5: an event on POST differs\n {4}at byte 5: \$\.n is another value\n/,
    ],
    [
      'an event too many',
      events,
      [ask, stream, primed, first],
      /what came on POST was not expected\n {4}came {6}event message: \{"n":2\}\n/,
    ],
    [
      'an event too few',
      events,
      [ask, stream, primed, first, second, second],
      /:7: an event on POST did not come: instead came: \(end\)\n/,
    ],
    [
      'an event that is still to come',
      events,
      [ask, stream, primed, '{"dir":"out","end":true}'],
      /:5: the end of the response to POST did not come: instead came: event message: \{"n":1\}\n/,
    ],
    [
      'a response that nobody mentions',
      json,
      [ask],
      /what came on POST was not expected\n {4}came {6}HTTP 200 \{/,
    ],
    [
      'silence',
      () => {},
      [ask, '{"dir":"out","status":200,"body":"any"}'],
      /:3: the response to POST did not come: nothing came within 300 ms\n/,
    ],
    [
      'a connection that is cut',
      (response) => response.destroy(),
      [ask, '{"dir":"out","status":200,"body":"any"}'],
      /:3: the response to POST did not come: socket hang up\n/,
    ],
    [
      'a stream that is cut',
      (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: {"n":1}\n\n')
        setImmediate(() => response.destroy())
      },
      [get, stream, first, second],
      /:5: an event on GET did not come: (?:aborted|the connection was cut)\n/,
    ],
    [
      'a field that cannot be sent',
      json,
      ['{"dir":"in","request":"GET /mcp","headers":{"a":"b\\nc"}}'],
      /a message did not get through: line 2: Invalid character in header content/,
    ],
    [
      'a line without a request',
      json,
      [ask, '{"dir":"out","on":"x","status":200,"body":"any"}'],
      /line 3 belongs to no request/,
    ],
  ]
  for (const [title, answer, lines, want] of cases) {
    it(title, async (t) => {
      const { code, out } = await against(t, answer, ...lines)
      assert.equal(code, 1, out)
      assert.match(out, want)
      assert.match(out, /0 passed, 1 failed/)
    })
  }

  it('that nobody listens', async () => {
    const { code, out } = await run(fileOf(head, ask, '{"dir":"out","status":200}'), {
      url: 'http://127.0.0.1:1/mcp',
    })
    assert.equal(code, 1)
    assert.match(out, /the response to POST did not come: connect ECONNREFUSED/)
  })
})

describe('what is sent', () => {
  it('is what stands there and no more, in its spelling and order', async (t) => {
    const sent = await captured(
      t,
      '{"mcps":1,"headers":{"X-Common":"1","x-gone":"1","Content-Type":"application/json"}}',
      [
        '{"dir":"in","request":"POST /other?q=%20","headers":{"aCCept":["a","b"],"X-Gone":null},"frame":{"a" : 1.0}}',
      ],
    )
    assert.equal(
      sent,
      'POST /other?q=%20 HTTP/1.1\r\nHost: HOST\r\nContent-Length: 11\r\nX-Common: 1\r\n' +
        'Content-Type: application/json\r\naCCept: a\r\naCCept: b\r\nConnection: keep-alive\r\n\r\n{"a" : 1.0}',
    )
  })

  it('may have a host and a length of its own, and text for a body', async (t) => {
    const sent = await captured(t, '{"mcps":1,"headers":{"Content-Type":"application/json"}}', [
      '{"dir":"in","request":"DELETE /mcp","headers":{"Host":"a","Content-Length":"5"},"text":"x\\ny"}',
    ])
    assert.equal(
      sent,
      'DELETE /mcp HTTP/1.1\r\nContent-Type: application/json\r\nHost: a\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\nx\ny',
    )
  })

  it('has the fields of the command line where the transcript has none of that name', async (t) => {
    const lines = ['{"dir":"in","request":"GET /mcp","headers":{"authorization":"theirs"}}']
    const common = '{"mcps":1,"headers":{"Content-Type":"application/json"}}'
    const sent = await captured(t, common, lines, { Authorization: 'ours', 'X-K': 'v' })
    assert(!sent.includes('Content-Type'), 'there is no body of which it would be the type')
    assert.match(sent, /^GET \/mcp HTTP\/1\.1\r\nHost: HOST\r\nX-K: v\r\nauthorization: theirs\r\n/)
  })

  it('goes to the path that was asked for, in place of that of the transcript', async (t) => {
    const seen: string[] = []
    const origin = await serving(t, (request, response) => {
      seen.push(String(request.url))
      response.writeHead(202).end()
    })
    const taken = '{"dir":"out","status":202}'
    const lines = [head, ask, taken, '{"dir":"in","request":"GET /health"}', taken]
    const { code, out } = await run(fileOf(...lines), { url: `${origin}/api/x/mcp?key=1` })
    assert.equal(code, 0, out)
    assert.deepEqual(seen, ['/api/x/mcp?key=1', '/health'])
  })

  it('repeats what came: in a target, in fields, in a frame', async (t) => {
    const seen: string[] = []
    const answer: Answer = (response, request, body) => {
      seen.push(`${String(request.url)} ${String(request.headers['x-s'])} ${body}`)
      response.setHeader('x-s', 'se"cret')
      response.end('{"at":"/next","n":1.50}')
    }
    const { code, out } = await against(
      t,
      answer,
      get,
      '{"dir":"out","status":200,"headers":{"X-S":"$id:s"},"frame":{"at":"$id:at","n":"$id:n"}}',
      '{"dir":"in","request":"POST $id:at","headers":{"X-S":"$id:s"},"frame":{"n":"$id:n","s":"$id:s"}}',
      '{"dir":"out","status":200,"headers":{"X-S":"$id:s"},"frame":{"at":"$id:at","n":"$id:n"}}',
    )
    assert.equal(code, 0, out)
    assert.deepEqual(seen, ['/mcp undefined ', '/next se"cret {"n":1.50,"s":"se\\"cret"}'])
  })

  it('has a common field from when its value is known', async (t) => {
    const seen: string[] = []
    const origin = await serving(t, (request, response) => {
      seen.push(String(request.headers['x-s']))
      response.setHeader('x-s', 'v')
      response.end()
    })
    const file = fileOf(
      '{"mcps":1,"headers":{"X-S":"$id:s"}}',
      ask,
      '{"dir":"out","status":200,"headers":{"X-S":"$id:s"}}',
      ask,
      '{"dir":"out","status":200}',
    )
    const { code, out } = await run(file, { url: origin })
    assert.equal(code, 0, out)
    assert.deepEqual(seen, ['undefined', 'v'])
  })
})

describe('mistakes in lines of HTTP', () => {
  const cases: readonly [string, string, RegExp][] = [
    [
      'an unknown key',
      '{"dir":"in","request":"GET /","header":{}}',
      /:2: "header" is not known; there is .*headers/,
    ],
    [
      'two things at once',
      '{"dir":"out","status":200,"event":"message"}',
      /:2: a line is one of request, status/,
    ],
    ['a wrong direction', '{"dir":"out","request":"GET /"}', /:2: "dir" of a request must be "in"/],
    ['a request without a path', '{"dir":"in","request":"GET"}', /:2: "request" must be like "POST \/mcp"/],
    ['a status that is none', '{"dir":"out","status":"ok"}', /:2: "status" must be a number/],
    [
      'an event without data',
      '{"dir":"out","event":"message"}',
      /:2: "event" must be a text, and needs a "frame"/,
    ],
    [
      'a field that is a number',
      '{"dir":"in","request":"GET /","headers":{"a":1}}',
      /:2: a header field is a string/,
    ],
    ['fields in a list', '{"dir":"in","request":"GET /","headers":[]}', /:2: "headers" must be an object/],
    ['a body that is not any', '{"dir":"out","status":200,"body":"x"}', /:2: "body" can only be "any"/],
    [
      'a name without a value',
      '{"dir":"in","request":"GET $id:x"}',
      /:2: "\$id:x" is sent, but nothing before it/,
    ],
    [
      'an unknown placeholder',
      '{"dir":"out","status":200,"headers":{"a":"$b"}}',
      /:2: "\$b" is no placeholder/,
    ],
  ]
  for (const [title, line, want] of cases) {
    it(title, () => {
      assert.throws(
        () => parseTranscripts('a.jsonl', Buffer.from(`${head}\n${line}`)),
        (error) => error instanceof TranscriptError && want.test(error.message),
      )
    })
  }

  it('an address of the header that is none', () => {
    assert.throws(
      () => parseTranscripts('a.jsonl', Buffer.from(`{"mcps":1,"url":"/mcp"}\n${get}`)),
      /a\.jsonl:1: "url" must be like "http:\/\/127\.0\.0\.1:\$port\/mcp"/,
    )
  })

  it('lines of messages among them', () => {
    const lines = [head, get, '{"dir":"in","frame":{}}']
    assert.throws(
      () => parseTranscripts('a.jsonl', Buffer.from(lines.join('\n'))),
      /a\.jsonl:3: lines of messages and lines of HTTP cannot be mixed/,
    )
  })
})

it('a transcript of HTTP is left out on stdio, which is said', async () => {
  const file = fileOf(head, get)
  const { code, out } = await run(file, { command: ['x'] })
  assert.equal(code, 0)
  assert.equal(
    out,
    `skip ${file}: it needs HTTP (line 2 is one of HTTP), and this is stdio\n` +
      '0 passed, 0 failed, 1 skipped (0 frames compared)\n',
  )
})

it('the handshake over HTTP is that of the reference server too', async (t) => {
  const url = await reference(t)
  const { code, out } = await run(join(fixtures, 'http-handshake.jsonl'), { url })
  assert.equal(code, 0, out)
  assert.match(out, /^1 passed, 0 failed \(7 frames compared\)\n$/)
})

it('events are read however they are cut', () => {
  const text =
    ': hello\n\nid: 1\r\ndata: a\r\ndata:b\r\n\r\nevent: x\rdata:  é\r\rretry: 7\n\ndata\n\n\nid:2\ndata: no end'
  const want = [
    'message 1 undefined a\nb',
    'x undefined undefined  é',
    'message undefined 7 ',
    'message undefined undefined ',
  ]
  const bytes = Buffer.from(text)
  for (const size of [1, 2, 3, 7, 1000]) {
    const seen: string[] = []
    const reader = new EventReader(({ type, id, retry, data }) => {
      seen.push(`${type} ${String(id)} ${String(retry)} ${data.toString()}`)
    })
    for (let at = 0; at < bytes.length; at += size) reader.push(bytes.subarray(at, at + size))
    assert.deepEqual(seen, want, `in pieces of ${size}`)
  }
})

/** The bytes of one request. */
async function captured(
  scope: Scope,
  header: string,
  lines: readonly string[],
  headers: Readonly<Record<string, string>> = {},
): Promise<string> {
  let said = ''
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.on('data', (chunk: Buffer) => {
      said += chunk.toString()
      socket.end('HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  scope.after(() => server.close())
  const address = server.address()
  assert(typeof address === 'object' && address !== null)
  const host = `127.0.0.1:${address.port}`
  const file = fileOf(header, ...lines, '{"dir":"out","status":202}')
  const { code, out } = await run(file, { url: `http://${host}/mcp`, headers })
  assert.equal(code, 0, out)
  return said.replace(host, 'HOST')
}
