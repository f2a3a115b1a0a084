import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toLine } from '../../src/jsonrpc/line.js'
import { type Members, itemsAt, membersAt } from '../../src/jsonrpc/members.js'
import type { Span } from '../../src/jsonrpc/scan.js'
import { isKey } from '../../src/jsonrpc/text.js'

function text(bytes: Buffer, { start, end }: Span): string {
  return bytes.toString('utf8', start, end)
}

function membersOf(object: string): Members {
  const members = membersAt(toLine(object), { start: 0, end: object.length })
  assert.ok(members !== undefined)
  return members
}

test('members stand in the order in which they are written, with their spans', () => {
  const members = membersOf('{ "a" : 1 ,"b":[{"a":2}], "\\u0061":"x\\"y" , "":null}')
  assert.equal(members.size, 4)
  assert.deepEqual(
    [...members].map(({ key, value }) => [text(members.bytes, key), text(members.bytes, value)]),
    [
      ['"a"', '1'],
      ['"b"', '[{"a":2}]'],
      ['"\\u0061"', '"x\\"y"'],
      ['""', 'null'],
    ],
  )
})

test('a member is found by its name as written without escapes; the last of two', () => {
  const members = membersOf('{"ab":1,"a":2,"a":3,"abc":"text \\u00e9"}')
  assert.deepEqual(members.span('a'), { start: 18, end: 19 })
  assert.equal(members.span('b'), undefined)
  assert.equal(members.string('abc'), 'text é')
  assert.equal(members.string('ab'), undefined)
  assert.equal(members.string('none'), undefined)
})

test('an empty object has no members, and what is no object has none to ask for', () => {
  assert.equal(membersOf('{ }').size, 0)
  assert.equal(membersAt(toLine('[1]'), { start: 0, end: 3 }), undefined)
  assert.equal(membersAt(toLine('1'), undefined), undefined)
})

const arrays: [array: string, items: string[]][] = [
  ['[]', []],
  ['[ ]', []],
  ['[1]', ['1']],
  ['[ 1 , [2,3] ,{"a":[4]}, "5,6" ]', ['1', '[2,3]', '{"a":[4]}', '"5,6"']],
  ['{"a":1}', []],
]

test('the items of an array', () => {
  for (const [array, items] of arrays) {
    const bytes = toLine(array)
    const spans = itemsAt(bytes, { start: 0, end: array.length })
    assert.deepEqual(
      spans.map((span) => text(bytes, span)),
      items,
    )
  }
  assert.deepEqual(itemsAt(toLine('[1]'), undefined), [])
})

test('a key is compared byte for byte', () => {
  const bytes = toLine('"name"')
  assert.equal(isKey(bytes, 0, 6, 'name'), true)
  for (const other of ['nam', 'names', 'Name', 'nama', '']) assert.equal(isKey(bytes, 0, 6, other), false)
})

test('of a list that is too long as many items are given as show that, and an object with too many members is none', () => {
  const list = `[${'1,'.repeat(10_000)}1]`
  const bytes = toLine(list)
  const span = { start: 0, end: list.length }
  assert.equal(itemsAt(bytes, span).length, 10_001)
  assert.equal(itemsAt(bytes, span, 10).length, 11)
  assert.equal(itemsAt(bytes, span, 20_000).length, 10_001)

  for (const [size, kept] of [
    [10_000, 10_000],
    [10_001, undefined],
  ] as const) {
    const object = `{${Array.from({ length: size }, () => '"a":1').join(',')}}`
    assert.equal(membersAt(toLine(object), { start: 0, end: object.length })?.size, kept)
  }
})
