// Members are removed with one of their commas.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { toLine } from '../../src/jsonrpc/line.js'
import { membersAt } from '../../src/jsonrpc/members.js'
import { splice } from '../../src/jsonrpc/splice.js'
import { cutNamed } from '../../src/mcp/member-edits.js'

const cases: readonly (readonly [given: string, want: string])[] = [
  ['{}', '{}'],
  ['{"x":1}', '{}'],
  ['{ "x" : 1 }', '{  }'],
  ['{"a":1}', '{"a":1}'],
  ['{"x":1,"a":2}', '{"a":2}'],
  ['{"a":2, "x":1}', '{"a":2}'],
  ['{"a":1,"x":2,"b":3}', '{"a":1,"b":3}'],
  ['{"x":1,"y":2,"a":3}', '{"a":3}'],
  ['{"x":1,"y":2}', '{}'],
  ['{"a":1,"x":2,"y":3}', '{"a":1}'],
  ['{"x":1,"a":2,"y":3}', '{"a":2}'],
  ['{"x":1,"a":2,"x":3}', '{"a":2}'],
  ['{"xx":1,"a":{"x":1}}', '{"xx":1,"a":{"x":1}}'],
]

for (const [given, want] of cases)
  test(`${given} without x and y is ${want}`, () => {
    const line = toLine(given)
    const members = membersAt(line, { start: 0, end: line.length })
    assert(members !== undefined)
    const edits = cutNamed(members, ['x', 'y'], 'meta')
    assert.equal(splice(line, edits).toString(), want)
    assert.equal(new Set(edits.map(({ start }) => start)).size, edits.length)
  })
