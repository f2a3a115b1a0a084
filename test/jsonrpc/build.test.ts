import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'
import {
  buildBatch,
  buildError,
  buildNotification,
  buildRequest,
  buildResult,
} from '../../src/jsonrpc/build.js'
import { readFrame } from '../../src/jsonrpc/frame.js'
import { toLine } from '../../src/jsonrpc/line.js'
import type { Message } from '../../src/jsonrpc/splice.js'
import { numericId, readId } from '../../src/jsonrpc/request-id.js'

const seven = numericId(7)
const text = readId(toLine('"a\\u0062"'), 0, 9)
const error = { code: -32601, message: 'no "such"\n\u2028method \ud800' }

const plain = { code: 1, message: '' }

/** `want` omits `jsonrpc`. */
const cases: [title: string, message: Message, want: string][] = [
  ['a request', buildRequest(seven, 'ping'), '{"id":7,"method":"ping"}'],
  [
    'a request with params',
    buildRequest(text, 'a/"b"', '{"x":1.0}'),
    '{"id":"a\\u0062","method":"a/\\"b\\"","params":{"x":1.0}}',
  ],
  ['a notification', buildNotification('n'), '{"method":"n"}'],
  ['a notification with params', buildNotification('n', '{}'), '{"method":"n","params":{}}'],
  ['a result', buildResult(seven, '{"a":"é"}'), '{"id":7,"result":{"a":"é"}}'],
  ['a result from bytes', buildResult(seven, Buffer.from('[1.0]')), '{"id":7,"result":[1.0]}'],
  ['a split result', buildResult(seven, [Buffer.from('[1'), Buffer.from('.0]')]), '{"id":7,"result":[1.0]}'],
  [
    'an error',
    buildError(seven, error),
    '{"id":7,"error":{"code":-32601,"message":"no \\"such\\"\\n\u2028method \\ud800"}}',
  ],
  ['data', buildError(seven, { ...plain, data: '7' }), '{"id":7,"error":{"code":1,"message":"","data":7}}'],
  ['an error without an id', buildError(undefined, plain), '{"id":null,"error":{"code":1,"message":""}}'],
  ['an error without id and null', buildError(undefined, plain, 'omit'), '{"error":{"code":1,"message":""}}'],
]

test('what the proxy says is one readable message on one line', () => {
  for (const [title, message, want] of cases) {
    const whole = want.replace('{', '{"jsonrpc":"2.0",')
    assert.equal(message.toString(), whole, title)
    const { joined } = message
    assert.equal(readFrame(joined).line.toString(), whole, title)
    assert.equal(Buffer.from(joined.buffer, joined.byteOffset, joined.length + 1).at(-1), 0x0a)
  }
})

test('a batch is its messages between brackets', () => {
  const one = buildNotification('a')
  const two = buildNotification('b')
  assert.equal(buildBatch([one]).toString(), `[${one.toString()}]`)
  assert.equal(buildBatch([one, two]).toString(), `[${one.toString()},${two.toString()}]`)
})
