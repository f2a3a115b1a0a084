// Requests whose length is ambiguous. Their bodies must never be read as separate requests.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../integration/support/waiting.js'
import { front, message, raw, send, statusOf } from './support/http.js'

type Shape = (port: number) => string

const inner = (port: number): string => {
  const body = message('smuggled', 2)
  return `POST /mcp HTTP/1.1\r\nHost: localhost:${port}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`
}

const outer = (port: number, fields: string, body: string): string =>
  `POST /mcp HTTP/1.1\r\nHost: localhost:${port}\r\nContent-Type: application/json\r\n${fields}\r\n\r\n${body}`

const chunked = (text: string, size = text.length.toString(16)): string => `${size}\r\n${text}\r\n0\r\n\r\n`

const codings = [
  'Transfer-Encoding: chunked',
  'Transfer-Encoding : chunked',
  ' Transfer-Encoding: chunked',
  'Transfer-Encoding:\tchunked',
  'Transfer-Encoding:\x0bchunked',
  'Transfer-Encoding: \x0cchunked',
  'Transfer-Encoding:\n chunked',
  'Transfer-Encoding\n: chunked',
  'Transfer-Encoding: "chunked"',
  ...'chunked,identity identity,chunked chunked,chunked gzip,chunked xchunked chunkedx chunk CHUNKED chunked;q=0.5 identity'
    .split(' ')
    .map((value) => `Transfer-Encoding: ${value.replace(',', ', ')}`),
  'Transfer-Encoding: ',
  'Transfer-Encoding:\0chunked',
  'Transfer-Encoding: chunked\0',
  'Transfer_Encoding: chunked',
  'TRANSFER-ENCODING: chunked',
  'X: y\rTransfer-Encoding: chunked',
  'X: y\nTransfer-Encoding: chunked',
  'Transfer-Encoding: identity\r\nTransfer-Encoding: chunked',
  'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity',
]

/** Spellings of a length. `N` stands for the number. */
const lengths = [
  'Content-Length: N',
  'Content-Length : N',
  'Content-Length:\tN',
  ...'+N -N 0xN 0N N,N N.0 Ne0 18446744073709551616 9007199254740993'
    .split(' ')
    .map((value) => `Content-Length: ${value}`),
  'Content-Length: N ',
  'Content-Length: N, 0',
  'Content-Length: 0, N',
  'Content-Length: N\0',
  'Content-Length: \x0bN',
  'Content-Length: N\r\nContent-Length: N',
  'Content-Length: N\r\nContent-Length: 0',
  'Content-Length: 0\r\nContent-Length: N',
  'Content-Length: 0\r\ncontent-length: N',
  'Content_Length: N',
  'Content-Length\n: N',
  'Content-Length:\n N',
  ' Content-Length: N',
  'X: y\rContent-Length: N',
  'X: y\nContent-Length: N',
]

const sizes = [
  'S ',
  ' S',
  '\tS',
  'S;x=\n',
  'S\n',
  'S;"\r\n"',
  ...'0xS +S -S 0000000000000000000000S S;x S,S fffffffffffffffS'.split(' '),
]

const both: Shape[] = codings.flatMap((coding) =>
  [true, false].flatMap((isCodingFirst): Shape[] => {
    const fields = (length: number): string =>
      (isCodingFirst ? [coding, `Content-Length: ${length}`] : [`Content-Length: ${length}`, coding]).join(
        '\r\n',
      )
    return [
      // One request by its length, and two by its chunks.
      (port) => {
        const body = `0\r\n\r\n${inner(port)}`
        return outer(port, fields(body.length), body)
      },
      // Two requests by the length, and one by the chunks.
      (port) => outer(port, fields(3), chunked(inner(port))),
    ]
  }),
)

const spelled: Shape[] = lengths.flatMap((length): Shape[] => [
  (port) => {
    const body = inner(port)
    return outer(port, length.replaceAll('N', String(body.length)), body)
  },
  (port) => outer(port, `${length.replaceAll('N', '3')}\r\nTransfer-Encoding: chunked`, chunked(inner(port))),
])

const pieces: Shape[] = sizes.map((size) => (port) => {
  const body = inner(port)
  return outer(
    port,
    'Transfer-Encoding: chunked',
    chunked(body, size.replaceAll('S', body.length.toString(16))),
  )
})

const post = (port: number, method: string, id: number, fields = ''): string => {
  const body = message(method, id)
  return outer(port, `Content-Length: ${body.length}${fields}`, body)
}

test('requests that are sent ahead are answered in their order', async (t) => {
  const { port, sessions } = await front(t)
  const last = '\r\nConnection: close'
  const answer = await raw(port, post(port, 'echo', 1) + post(port, 'echo', 2) + post(port, 'echo', 3, last))
  assert.deepEqual(
    answer.match(/"result":\{"id":"\d"\}/g),
    ['1', '2', '3'].map((id) => `"result":{"id":"${id}"}`),
  )
  assert.equal(sessions.length, 3)
})

test('what comes behind a body that is no message is not read', async (t) => {
  const { port, sessions } = await front(t)
  const answer = await raw(port, outer(port, 'Content-Length: 3', '{"a') + post(port, 'echo', 2))
  assert.deepEqual(answer.match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 400'])
  assert.match(answer, /\r\nconnection: close\r\n/i)
  assert.equal(sessions.length, 0)
})

test('however many are sent ahead, none is read before the one in front of it is answered', async (t) => {
  const { port, sessions } = await front(t)
  const last = post(port, 'echo', 3, '\r\nConnection: close')
  const answers = raw(port, post(port, 'wait', 1) + post(port, 'echo', 2).repeat(300) + last)
  await until(() => sessions.length > 0)
  assert.equal((await send(port, { body: message('echo', 4) })).status, 200)
  assert.equal(sessions.length, 2)
  const [first] = sessions
  const [asked] = first?.received ?? []
  if (asked?.kind === 'request') first?.answer(asked.id, '{"id":"1"}')
  const all = (await answers).match(/"result":\{"id":"\d"\}/g)
  assert.deepEqual(
    all,
    ['1', ...Array.from({ length: 300 }, () => '2'), '3'].map((id) => `"result":{"id":"${id}"}`),
  )
})

test('a request is never found in the body of another', async (t) => {
  const limits = {
    headersTimeoutMs: 300,
    requestTimeoutMs: 300,
    slowBodyMs: 300,
    lateCheckMs: 50,
    refusedBodyMs: 50,
    idleConnectionMs: 300,
  }
  const { port, sessions, failures } = await front(t, { limits })
  const shapes = [...both, ...spelled, ...pieces]
  assert.ok(shapes.length > 150, String(shapes.length))
  const problems: string[] = []
  for (const shape of shapes) {
    const text = shape(port)
    const before = sessions.length
    const answer = await raw(port, text)
    const heard = sessions
      .slice(before)
      .flatMap(({ received }) => received.map((frame) => 'method' in frame && frame.method))
    const status = statusOf(answer)
    if (heard.includes('smuggled')) problems.push(`smuggled: ${JSON.stringify(text.slice(0, 200))}`)
    if (status < 400) problems.push(`answered ${status}: ${JSON.stringify(text.slice(0, 200))}`)
    if (answer.split('HTTP/1.1 ').length > 2)
      problems.push(`answered twice: ${JSON.stringify(text.slice(0, 200))}`)
  }
  assert.deepEqual(problems, [])
  assert.deepEqual(failures, [])
})
