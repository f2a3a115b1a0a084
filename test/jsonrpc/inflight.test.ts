import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Inflight } from '../../src/jsonrpc/inflight.js'
import { toLine } from '../../src/jsonrpc/line.js'
import { type RequestId, readId } from '../../src/jsonrpc/request-id.js'

function id(text: string): RequestId {
  const line = toLine(text)
  return readId(line, 0, line.length)
}

test('gives integers, each once', () => {
  const inflight = new Inflight<string>(10)
  const ids = ['a', 'b', 'c'].map((entry) => inflight.mint(entry))
  assert.deepEqual(ids, ['1', '2', '3'])
  assert.equal(inflight.take(id('3')), 'c')
  assert.equal(inflight.take(id('3')), undefined)
  assert.equal(inflight.mint('d'), '4')
  assert.deepEqual(inflight.ids, ['1', '2', '4'])
})

test('an answer finds its request in any spelling of the id, once', () => {
  for (const answered of ['1', '1.0', '1e0', '"1"', '"\\u0031"']) {
    const inflight = new Inflight<string>(10)
    inflight.mint('a')
    assert.equal(inflight.get(id(answered)), 'a')
    assert.equal(inflight.take(id(answered)), 'a')
    assert.equal(inflight.take(id(answered)), undefined)
    assert.equal(inflight.size, 0)
  }
})

test('another id finds nothing', () => {
  const inflight = new Inflight<string>(10)
  inflight.mint('a')
  for (const answered of ['2', '-1', '"a"', '"01"', '""'])
    assert.equal(inflight.take(id(answered)), undefined)
})

test('the limit, and one past it; there is room for requests of the proxy beside it', () => {
  const inflight = new Inflight<string>(2)
  inflight.mint('a')
  inflight.mint('b')
  assert.equal(inflight.mint('c'), undefined)
  assert.deepEqual(
    ['c', 'd', 'e'].map((entry) => inflight.mint(entry, true)),
    ['3', '4', undefined],
  )
  for (const answered of ['1', '2', '3']) inflight.take(id(answered))
  assert.equal(inflight.mint('f'), '5')
})
