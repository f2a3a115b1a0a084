import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toLine } from '../../src/jsonrpc/line.js'
import { type Members, itemsAt, membersAt } from '../../src/jsonrpc/members.js'

function membersOf(object: string): Members {
  const members = membersAt(toLine(object), { start: 0, end: object.length })
  assert.ok(members !== undefined)
  return members
}

test('a member is found by its name as written without escapes; the last of two', () => {
  const members = membersOf('{"ab":1,"a":2,"a":3,"abc":"text \\u00e9"}')
  assert.deepEqual(members.span('a'), { start: 18, end: 19 })
  assert.equal(members.span('b'), undefined)
  assert.equal(members.string('abc'), 'text é')
  assert.equal(members.string('ab'), undefined)
  assert.equal(members.string('none'), undefined)
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
