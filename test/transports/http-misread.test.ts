// For an answer that is not valid HTTP, the error says what is wrong, and not that the connection was cut.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rawServer } from './support/raw-server.js'
import { called } from './support/scripted.js'

const OK = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n'
const chunked = `${OK}Transfer-Encoding: chunked\r\n\r\n`
const events = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n'

const answers: readonly [title: string, raw: string, told: RegExp][] = [
  ['the size of a chunk is none', `${chunked}5\r\n{"a":\r\nxyz\r\n`, /the size of a chunk is no number\)?$/],
  ['a chunk of a stream too', `${events}5\r\ndata:\r\nxyz\r\n`, /the size of a chunk is no number\)?$/],
  ['a chunk is longer than its size', `${chunked}1\r\n{"a"\r\n`, /: a chunk is longer than its size$/],
  ['a late length', `${chunked}0\r\nContent-Length: 5\r\n\r\n`, /a trailer that must come before its body$/],
  [
    'lines end in LF alone',
    'HTTP/1.1 200 OK\nContent-Type: application/json\nContent-Length: 2\n\n{}',
    /^its answer cannot be read: its head has a line that ends in LF alone, not in CRLF \(http:/,
  ],
  [
    'one line ends in LF alone',
    'HTTP/1.1 200 OK\nContent-Length: 2\r\n\r\n{}',
    /: its head has a line that ends in LF alone, not in CRLF \(http:/,
  ],
  [
    'another version',
    'HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n',
    /: its first line is no status line of HTTP\/1\.0 or HTTP\/1\.1 \(http:/,
  ],
  [
    'no HTTP at all',
    'SSH-2.0-OpenSSH_9.6\r\n',
    /it does not begin as HTTP\/1 does \(NOT_HTTP\).*; check whether the url begins with https:\/\/$/,
  ],
  ['no field', `${OK}nonsense\r\n\r\n`, /^its answer cannot be read: .* line that is no field \(http:/],
  ['it is cut', `${OK}Content-Length: 50\r\n\r\n{"a"`, /^the answer was cut$/],
]

for (const [title, raw, told] of answers)
  test(`an answer that cannot be read says why: ${title}`, async (t) => {
    const { port } = await rawServer(t, (socket) => socket.once('data', () => socket.end(raw, 'latin1')))
    const { heard } = await called(t, new URL(`http://127.0.0.1:${port}/mcp`))
    assert.match(heard.failures[0]?.error.message ?? '', told)
  })
