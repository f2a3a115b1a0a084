import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Inflight } from '../../src/jsonrpc/inflight.js'
import { toLine } from '../../src/jsonrpc/line.js'
import { type RequestId, readId } from '../../src/jsonrpc/request-id.js'

function id(text: string): RequestId {
  const line = toLine(text)
  return readId(line, 0, line.length)
}

test('lends integers, each once', () => {
  const inflight = new Inflight<string>(10)
  const ids = ['a', 'b', 'c'].map((entry) => inflight.mint(entry))
  assert.deepEqual(ids, ['1', '2', '3'])
  assert.equal(inflight.take(id('2')), 'b')
  assert.equal(inflight.mint('d'), '4')
  assert.deepEqual(inflight.ids, ['1', '3', '4'])
})

const own: [title: string, own: string, lent: string][] = [
  ['an integer', '7', '7'],
  ['a plain string', '"req-1"', '"req-1"'],
  ['a spelling that a parser would not keep', '1.0', '1000000001'],
  ['a string with escapes', '"\\u0061"', '1000000001'],
  ['a string that some writers escape', '"é"', '1000000001'],
]

test("lends the sender's own id where every writer would echo it", () => {
  for (const [title, text, lent] of own) {
    const inflight = new Inflight<string>(10)
    assert.equal(inflight.mint('a', id(text)), lent, title)
    assert.equal(inflight.take(id(lent)), 'a', title)
  }
})

test('an id that is lent already is not lent again, in either order', () => {
  const inflight = new Inflight<string>(10)
  assert.equal(inflight.mint('a', id('2')), '2')
  assert.equal(inflight.mint('b', id('2')), '1000000001')
  assert.equal(inflight.mint('c'), '1000000002')
  assert.equal(inflight.mint('d', id('1000000002')), '1000000003')
  assert.equal(inflight.mint('e', id('"3"')), '"3"')
  assert.equal(inflight.mint('f', id('"4"'), true), '1000000004')
  assert.deepEqual(
    ['2', '1000000001', '1000000002', '1000000003', '"3"'].map((text) => inflight.take(id(text))),
    ['a', 'b', 'c', 'd', 'e'],
  )
})

test('what was lent to one is never minted for another, though it was answered', () => {
  const inflight = new Inflight<string>(10)
  for (const own of ['1', '2', '3', '70']) {
    inflight.mint('a', id(own))
    inflight.take(id(own))
  }
  assert.equal(inflight.mint('b'), '71')
})

test("what was minted beside clients' own ids is never lent, though it was answered", () => {
  const inflight = new Inflight<string>(10)
  const minted = [inflight.mintOwn('handshake'), inflight.mint('a', id('1.0')), inflight.mintOwn('list')]
  assert.deepEqual(minted, ['1', '1000000001', '1000000002'])
  for (const answered of minted) if (answered !== undefined) inflight.take(answered)
  assert.equal(inflight.mint('b', id('1')), '1000000003')
  assert.equal(inflight.mint('c', id('1000000002')), '1000000004')
  // Whoever counts on is not taken ids by that.
  assert.deepEqual(
    ['2', '3'].map((own) => inflight.mint('d', id(own))),
    ['2', '3'],
  )
})

test('an answer finds its request in any spelling of the id, once', () => {
  for (const [lent, answered] of [
    ['5', '5.0'],
    ['5', '5e0'],
    ['"a"', '"\\u0061"'],
  ]) {
    const inflight = new Inflight<string>(10)
    inflight.mint('a', id(lent ?? ''))
    assert.equal(inflight.get(id(answered ?? '')), 'a')
    assert.equal(inflight.take(id(answered ?? '')), 'a')
    assert.equal(inflight.take(id(answered ?? '')), undefined)
    assert.equal(inflight.size, 0)
  }
})

test('a string and a number are two ids', () => {
  const inflight = new Inflight<string>(10)
  inflight.mint('number', id('1'))
  inflight.mint('string', id('"1"'))
  assert.equal(inflight.take(id('"1"')), 'string')
  assert.equal(inflight.take(id('1')), 'number')
})

test('an id of the other type finds its request, unless it may be that of an earlier one', () => {
  const cases: [own: string, spent: string | undefined, answered: string, found: string | undefined][] = [
    ['7', undefined, '"7"', 'a'],
    ['"7"', undefined, '7', 'a'],
    ['7', '"7"', '"7"', undefined],
    ['"x"', undefined, '7', undefined],
  ]
  for (const [own, spent, answered, found] of cases) {
    const inflight = new Inflight<string>(10)
    if (spent !== undefined) {
      inflight.mint('b', id(spent))
      inflight.retire(id(spent))
    }
    inflight.mint('a', id(own))
    assert.equal(inflight.take(id(answered)), found, `${own} ${spent} ${answered}`)
  }
})

test('the limit, and one past it', () => {
  const inflight = new Inflight<string>(2)
  inflight.mint('a')
  inflight.mint('b')
  assert.equal(inflight.mint('c'), undefined)
  assert.equal(inflight.mint('c', id('"own"')), undefined)
  inflight.take(id('1'))
  assert.equal(inflight.mint('c'), '3')
})

test('a late answer to a request that was given up finds no other request', () => {
  const inflight = new Inflight<string>(10)
  inflight.mint('a', id('7'))
  inflight.retire(id('7'))
  assert.equal(inflight.size, 0)
  assert.notEqual(inflight.mint('b', id('7')), '7')
  assert.equal(inflight.take(id('7')), undefined)
})

test('to retire what is not out changes nothing', () => {
  const inflight = new Inflight<string>(10)
  inflight.retire(id('7'))
  assert.equal(inflight.mint('a', id('7')), '7')
})

test('only so many given-up ids are remembered', () => {
  const inflight = new Inflight<string>(10)
  for (let i = 1; i <= 2049; i++) {
    const lent = id(`"${i}"`)
    inflight.mint('a', lent)
    inflight.retire(lent)
  }
  assert.equal(inflight.mint('b', id('"1"')), '"1"', 'the oldest is forgotten')
  assert.notEqual(inflight.mint('b', id('"2"')), '"2"')
})
