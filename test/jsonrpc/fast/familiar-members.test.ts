// An object that messages have in common is read as if each of them had been scanned.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { FamiliarMembers } from '../../../src/jsonrpc/fast/familiar-members.js'
import { type Params, defaultFrameLimits, frameOrError, readFrame } from '../../../src/jsonrpc/frame.js'
import { toLine } from '../../../src/jsonrpc/line.js'
import type { Members } from '../../../src/jsonrpc/members.js'
import { rawAt } from '../../../src/jsonrpc/text.js'

const version = '"io.modelcontextprotocol/protocolVersion":"2026-07-28"'
const client = '"io.modelcontextprotocol/clientInfo":{"name":"ü","version":"1 } 2"}'
const claim = `{${version},${client}}`

function paramsOf(meta: string, familiar: FamiliarMembers | undefined, id = '1'): Params {
  const text = `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"a","_meta":${meta},"arguments":{}}}`
  const frame = readFrame(toLine(text), defaultFrameLimits, familiar)
  assert(frame.kind === 'request')
  return frame.params
}

function shown(members: Members): unknown {
  return [...members].map(({ key, value }) => [
    key,
    value,
    rawAt(members.bytes, key),
    rawAt(members.bytes, value),
  ])
}

test('the second message with the same object knows it, wherever it stands, and says the same of it', () => {
  const familiar = new FamiliarMembers()
  const first = paramsOf(claim, familiar)
  const second = paramsOf(claim, familiar, '123456')
  const third = paramsOf(claim, familiar)
  const alone = paramsOf(claim, undefined, '123456')
  assert.equal(first.meta.known, undefined)
  assert.notEqual(second.meta.known, undefined)
  assert.equal(third.meta.known, second.meta.known)
  assert.deepEqual(second.metaSpan, alone.metaSpan)
  assert.deepEqual(shown(second.meta), shown(alone.meta))
  assert.deepEqual(shown(second.members), shown(alone.members))
  assert.equal(second.meta.string('io.modelcontextprotocol/protocolVersion'), '2026-07-28')
  assert.equal(second.meta.isNamed(1, ['io.modelcontextprotocol/clientInfo']), true)
  assert.equal(second.meta.span('progressToken'), undefined)
  const copied = second.meta.copied(toLine(second.meta.bytes))
  assert.deepEqual(shown(copied), shown(alone.meta))
  assert.equal(copied.known, second.meta.known)
})

const others: readonly (readonly [what: string, meta: string])[] = [
  ['one letter in the middle', claim.replace('2026', '2027')],
  ['the last member', claim.replace('1 }', '1 ]')],
  ['a member more', `{${version},${client},"a":1}`],
  ['a member less', `{${version}}`],
  ['nothing but its length', `{${version},${client.replace('ü', 'uu')}}`],
]

for (const [what, meta] of others)
  test(`an object that differs in ${what} is read anew`, () => {
    const familiar = new FamiliarMembers()
    paramsOf(claim, familiar)
    const params = paramsOf(meta, familiar)
    assert.equal(params.meta.known, undefined)
    assert.deepEqual(shown(params.meta), shown(paramsOf(meta, undefined).meta))
  })

test('an object that differs in any one byte is read anew, wherever in memory it lies', () => {
  // Each byte is another one in a comment that may hold any.
  const filler = 'abcdefghijklmnopqrstuvwxyz0123456789'.repeat(3)
  const long = `{${version},"comment":"${filler}"}`
  const familiar = new FamiliarMembers()
  paramsOf(long, familiar)
  const from = long.indexOf(filler)
  for (let at = from; at < from + filler.length; at++) {
    const other = `${long.slice(0, at)}-${long.slice(at + 1)}`
    // One in several of those that differ is remembered in its place.
    const fresh = new FamiliarMembers()
    paramsOf(long, fresh)
    assert.equal(paramsOf(other, fresh, '1'.repeat(1 + (at % 9))).meta.known, undefined, `byte ${at}`)
    assert.notEqual(paramsOf(long, familiar, '1'.repeat(1 + (at % 9))).meta.known, undefined)
  }
})

const refused: readonly (readonly [what: string, meta: string])[] = [
  ['a name twice', `{${version},${client},${version}}`],
  ['a name in another case', `{${version},${client},"ProgressToken":1}`],
  ['no end', `{${version},${client}`],
  ['a control character', `{${version},${client.replace('1 }', '1\t}')}}`],
]

for (const [what, meta] of refused)
  test(`an object with ${what} is refused as often as it comes`, () => {
    const familiar = new FamiliarMembers()
    const text = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":${meta}}}`
    for (let n = 0; n < 3; n++)
      assert(frameOrError(toLine(text), defaultFrameLimits, familiar) instanceof Error, `time ${n}`)
  })

test('an object with line breaks is not remembered, since the message must not leave with them', () => {
  const familiar = new FamiliarMembers()
  const meta = `{${version},\n${client}}`
  for (let n = 0; n < 2; n++) assert.equal(paramsOf(meta, familiar).meta.known, undefined)
})

test('what is broken behind a known object is refused', () => {
  const familiar = new FamiliarMembers()
  paramsOf(claim, familiar)
  for (const rest of ['', '}', ',}}', '}}x', '"}}']) {
    const text = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":${claim}${rest}`
    assert(frameOrError(toLine(text), defaultFrameLimits, familiar) instanceof Error, rest)
  }
})

test('what differed each time is known again soon after it does not any more', () => {
  const familiar = new FamiliarMembers()
  for (let n = 0; n < 1000; n++) paramsOf(`{${version},"progressToken":${1000 + n},${client}}`, familiar)
  for (let n = 0; n < 70; n++) paramsOf(claim, familiar)
  assert.notEqual(paramsOf(claim, familiar).meta.known, undefined)
})

const trace = (n: number): string => `"traceparent":"00-${String(n).padStart(32, '0')}-00f067aa0ba902b7-01"`

/** Objects that differ in some values, by a number. */
const varied: readonly (readonly [what: string, meta: (n: number) => string])[] = [
  ['a number in front', (n) => `{"progressToken":${n},${version},${client}}`],
  ['a number behind', (n) => `{${version},${client},"progressToken":${n}}`],
  ['a number with space about it', (n) => `{ "progressToken" : ${n} , ${version},${client} }`],
  ['a string between', (n) => `{${version},${trace(n)},${client}}`],
  ['two members', (n) => `{${version},"progressToken":"t${n}",${client},${trace(n * 7)}}`],
  ['the kind of a value', (n) => `{"progressToken":${n % 2 ? n : `"${n}"`},${version},${client}}`],
]

for (const [what, meta] of varied)
  test(`objects that differ in ${what} are read by what they have in common`, () => {
    const familiar = new FamiliarMembers()
    for (const [nth, n] of [98, 99, 0, 1, 10, 98, 100, 12_345, 7, 1_000_000].entries()) {
      const params = paramsOf(meta(n), familiar, '1'.repeat(1 + nth))
      const alone = paramsOf(meta(n), undefined, '1'.repeat(1 + nth))
      assert.equal(params.meta.pattern !== undefined, nth > 1, `of ${n}`)
      assert.deepEqual(params.metaSpan, alone.metaSpan)
      assert.deepEqual(shown(params.meta), shown(alone.meta))
      assert.deepEqual(shown(params.members), shown(alone.members))
      assert.equal(params.meta.string('progressToken'), alone.meta.string('progressToken'))
      const copied = params.meta.copied(toLine(params.meta.bytes))
      assert.deepEqual(shown(copied), shown(alone.meta))
      assert.equal(copied.pattern, params.meta.pattern)
    }
  })

const odd = [
  '-1',
  '1.5',
  '1e3',
  'null',
  '[1]',
  '{"a":1}',
  String.raw`"\u0061"`,
  '"ü"',
  '""',
  `"${'a'.repeat(300)}"`,
]
const broken = ['', '01', '1 2', '+1', '"a', "'a'", '"a\tb"', '1,"a":2', '1}', '1"', 'x']

test('a value that is not a whole number or a brief plain string is read as any other, or refused', () => {
  for (const value of [...odd, ...broken]) {
    const meta = (one: string): string => `{"progressToken":${one},${version},${client}}`
    const text = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":${meta(value)}}}`
    const familiar = new FamiliarMembers()
    for (const one of ['1', '2', '3']) paramsOf(meta(one), familiar)
    const read = frameOrError(toLine(text), defaultFrameLimits, familiar)
    const alone = frameOrError(toLine(text), defaultFrameLimits)
    if (alone instanceof Error || read instanceof Error) {
      assert(alone instanceof Error && read instanceof Error, value)
      assert.equal(read.message, alone.message, value)
    } else {
      assert(alone.kind === 'request' && read.kind === 'request')
      assert.deepEqual(shown(read.params.meta), shown(alone.params.meta), value)
    }
  }
})

function traced(n: number): string {
  return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{${version},${trace(n)},${client}}}}`
}

test('a message that ends within what it has in common with others is refused', () => {
  const familiar = new FamiliarMembers()
  for (let n = 0; n < 3; n++) readFrame(toLine(traced(n)), defaultFrameLimits, familiar)
  const bytes = toLine(traced(3))
  for (let end = 1; end < bytes.length; end++)
    assert(frameOrError(toLine(bytes.subarray(0, end)), defaultFrameLimits, familiar) instanceof Error)
})

test('each message has the method and the names that are written in it', () => {
  const familiar = new FamiliarMembers()
  const written = [
    ['tools/call', 'echo'],
    ['tools/call', 'echo'],
    ['prompts/get', 'echo'],
    ['tools/cal1', 'ech0'],
    [String.raw`tools\/call`, String.raw`\u0065cho`],
    ['tools/call', 'écho'],
    ['', ''],
  ]
  for (const [method, name] of written) {
    const text = `{"jsonrpc":"2.0","id":1,"method":"${method}","params":{"name":"${name}","uri":"${method}"}}`
    const frame = readFrame(toLine(text), defaultFrameLimits, familiar)
    assert(frame.kind === 'request')
    const { members } = frame.params
    const read = [frame.method, members.string('name'), members.string('uri'), members.string('cursor')]
    assert.deepEqual(read, [
      JSON.parse(`"${method}"`),
      JSON.parse(`"${name}"`),
      JSON.parse(`"${method}"`),
      undefined,
    ])
  }
})
