import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ambiguity, routedNames } from '../../src/jsonrpc/routed-names.js'
import { toLine } from '../../src/jsonrpc/line.js'
import { type Members, membersAt } from '../../src/jsonrpc/members.js'

const names = routedNames(['kind', 'task'])

function membersOf(text: string): Members {
  const line = toLine(text)
  const members = membersAt(line, { start: 0, end: line.length })
  assert.ok(members !== undefined)
  return members
}

const cases: [object: string, offset: number | undefined][] = [
  ['{}', undefined],
  ['{"kind":1,"task":2,"other":3,"another":4}', undefined],
  ['{"kinds":1,"tas":2,"":3}', undefined],
  ['{"kind":1,"kind":1}', 10],
  ['{"kind":1,"Kind":1}', 10],
  ['{"KIND":1}', 1],
  ['{"\u212aind":1}', 1],
  ['{"ta\u017fk":1}', 1],
  ['{"ta\u017f\u212a":1}', 1],
  ['{"k\\u0069nd":1}', 1],
  ['{"kind\\u0000":1}', 1],
  ['{"kind\\u0000kind":1}', 1],
  ['{"other":1,"task":2,"OTHER":3}', 20],
  ['{"other":1,"other\\u0000x":3}', 11],
  ['{"é":1,"\\u00c9":3}', 8],
]

test('says which key is ambiguous, by its offset', () => {
  for (const [object, offset] of cases)
    assert.equal(ambiguity(membersOf(object), names)?.offset, offset, object)
})

test('a message quotes a key in plain characters and not at length', () => {
  const hostile = `{"x\u001b[2J${'é'.repeat(500)}":1,"x\u001b[2J${'é'.repeat(500)}":2}`.replaceAll(
    '\u001b',
    '\\u001b',
  )
  const message = ambiguity(membersOf(hostile), names)?.message ?? ''
  assert.match(message, /^'x\?\[2J\?+' stands twice$/)
  assert.ok(message.length < 100)
})
