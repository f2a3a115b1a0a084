// Event streams in all chunks.

import { strict as assert } from 'node:assert'
import { it, test } from 'node:test'
import { LongLine, joinedLine } from '../../src/jsonrpc/long-line.js'
import { SseParser } from '../../src/transports/sse/parser.js'

const limits = { dataBytesMax: 64, fieldBytesMax: 32 }

function heard(chunks: readonly Buffer[], own = limits): readonly unknown[] {
  const said: unknown[] = []
  const parser = new SseParser(
    {
      event: (type, came) => {
        const data = joinedLine(came)
        assert.equal(data.buffer.byteLength > data.byteOffset + data.length, true, 'a line feed behind it')
        assert.equal(Buffer.from(data.buffer, data.byteOffset + data.length, 1)[0], 0x0a)
        said.push(type === 'message' ? data.toString() : [type, data.toString()])
      },
      oversize: (id, _bytes, isCall) => said.push({ oversize: id, isCall }),
    },
    own,
  )
  for (const chunk of chunks) parser.push(chunk)
  if (parser.lastEventId !== undefined) said.push({ id: parser.lastEventId })
  if (parser.retryMs !== undefined) said.push({ retry: parser.retryMs })
  return said
}

const big = 'x'.repeat(60)

const cases: readonly (readonly [string, string, readonly unknown[]])[] = [
  ['LF', 'data: a\n\n', ['a']],
  ['CRLF', 'data: a\r\n\r\ndata: b\r\n\r\n', ['a', 'b']],
  ['mixed line ends', 'data: a\n\r\ndata: b\r\n\n', ['a', 'b']],
  ['a BOM', '\u{feff}data: a\n\n', ['a']],
  ['a BOM later is no field', 'data: a\n\n\u{feff}data: b\n\n', ['a']],
  ['no space', 'id:1\nevent:message\ndata:{"x":1}\n\n', ['{"x":1}', { id: '1' }]],
  ['one space only', 'data:  a\n\n', [' a']],
  ['comments', ': keepalive\n\n:\n\ndata: a\n: b\n\n', ['a']],
  ['several data lines', 'data: a\ndata: b\ndata\ndata: c\n\n', ['a\nb\n\nc']],
  ['an empty priming event', 'id: 7\nretry: 500\ndata:\n\n', [{ id: '7' }, { retry: 500 }]],
  ['a type, for one event', 'event: endpoint\ndata: /m\n\ndata: a\n\n', [['endpoint', '/m'], 'a']],
  ['a type without data', 'event: x\n\ndata: a\n\n', ['a']],
  ['unknown fields', 'foo: bar\ndatax: 1\ndat: 2\ndata: a\n\n', ['a']],
  ['an id counts only with its event', 'id: 1\ndata: a\n\nid: 2\n', ['a', { id: '1' }]],
  ['an id that no header could carry', 'id: 1\n\nid: a\x1bb\n\n', [{ id: '1' }]],
  ['an id with NUL', 'id: 1\n\nid: a\0b\n\n', [{ id: '1' }]],
  ['an empty id', 'id: 1\n\nid\n\n', [{ id: '' }]],
  ['a long id', `id: 1\n\nid: ${big}\ndata: a\n\n`, ['a', { id: '1' }]],
  ['a long comment', `:${big}\ndata: a\n\n`, ['a']],
  ['a retry that is none', 'retry: 5x\nretry: -1\nretry:\ndata: a\n\n', ['a']],
  ['a retry of nothing', 'retry: 0\n\n', [{ retry: 0 }]],
  ['an event that is cut', 'data: a\n\ndata: b\n', ['a']],
  ['two at once', 'data: a\n\n\ndata: b\n\n', ['a', 'b']],
  ['data at the limit', `data: ${'y'.repeat(64)}\n\n`, ['y'.repeat(64)]],
  ['too much data', `data: ${'y'.repeat(65)}\n\ndata: a\n\n`, [{ oversize: undefined, isCall: false }, 'a']],
  ['an answer over the limit', `data: {"id":4,"result":"${big}"}\n\n`, [{ oversize: '4', isCall: false }]],
  ['a long call', `data: {"method":"m","params":"${big}","id":4}\n\n`, [{ oversize: '4', isCall: true }]],
  [
    'lines over the limit together',
    `data: {"id":"a","result":"${'z'.repeat(30)}\ndata: ${'z'.repeat(30)}"}\n\ndata: b\n\n`,
    [{ oversize: '"a"', isCall: false }, 'b'],
  ],
  ['more than ASCII', 'data: é😀\n\n', ['é😀']],
]

for (const [title, input, want] of cases)
  for (const size of [1, 2, 3, 7, 65_536])
    test(`SseParser: ${title}, in chunks of ${size}`, () => {
      const bytes = Buffer.from(input)
      const chunks = []
      for (let at = 0; at < bytes.length; at += size) chunks.push(Buffer.from(bytes.subarray(at, at + size)))
      assert.deepEqual(heard(chunks), want)
    })

function chunksOf(text: string, size: number): Buffer[] {
  const bytes = Buffer.from(text)
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
    Buffer.from(bytes.subarray(i * size, (i + 1) * size)),
  )
}

const long = { dataBytesMax: 1e6, fieldBytesMax: 32 }

/** The events of a stream, with the number of parts. */
function told(chunks: readonly Buffer[]): readonly unknown[] {
  const said: unknown[] = []
  const parser = new SseParser(
    {
      event: (type, data) => {
        said.push([type, joinedLine(data).toString()])
        if (data instanceof LongLine) counts.push(data.parts.length)
      },
      oversize: (id) => said.push({ oversize: id }),
    },
    long,
  )
  for (const chunk of chunks) parser.push(chunk)
  said.push(parser.lastEventId)
  return said
}
let counts: number[] = []

it('a long object comes in parts, and says what it says joined', () => {
  const filler = 'x'.repeat(40_000)
  const streams = [
    `id: 1\ndata: {"a":"${filler}"}\n\ndata: {"b":1}\n\n`,
    `\u{feff}data:{"a":"${filler}"}\r\n\r\nid: 2\ndata: ["${filler}"]\n\n`,
    `event: other\ndata: {"a":"${filler}"}\nid: 3\n\n`,
    `data: {"a":"${filler}",\ndata: "b":"${filler}"}\n\ndata: c\n\n`,
    `data:\ndata: {"a":"${filler}"}\n\n`,
    `: {"a":"${filler}"}\ndata: {"a":"${filler}"}\r\n\r\n`,
    `data: {"id":7,"result":"${filler.repeat(26)}"}\n\ndata: {"a":"${filler}"}\n\n`,
    `data: {"id":7,"result":"${filler.repeat(20)}"}\ndata: ${filler.repeat(20)}\n\ndata: {"a":1}\n\n`,
  ]
  for (const stream of streams)
    for (const size of [7, 1000, 4096, 5000, 16_384, 65_536, 1e7]) {
      const inOne = told(chunksOf(stream, stream.length))
      assert.deepEqual(told(chunksOf(stream, size)), inOne, `${stream.slice(0, 20)} by ${size}`)
    }
  counts = []
  told(chunksOf(streams[0] ?? '', 16_384))
  assert.deepEqual(counts, [3])
})
