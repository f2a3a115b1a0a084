import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LineBuffer, lineCharsMax } from '../../src/servers/line-buffer.js'

const cases: readonly [title: string, chunks: readonly string[], lines: readonly string[], rest: string][] = [
  ['one line', ['a\n'], ['a'], ''],
  ['two lines in a chunk', ['a\nb\n'], ['a', 'b'], ''],
  ['a line over three chunks', ['a', 'b', 'c\n'], ['abc'], ''],
  ['empty lines', ['\n\n'], ['', ''], ''],
  ['a last line without its end', ['a\nb'], ['a'], 'b'],
  ['nothing', [], [], ''],
]

for (const [title, chunks, lines, rest] of cases) {
  test(title, () => {
    const buffer = new LineBuffer()
    assert.deepEqual(
      chunks.flatMap((chunk) => buffer.push(chunk)),
      lines,
    )
    assert.deepEqual([buffer.end(), buffer.end()], [rest, ''])
  })
}

test('a line at the limit is whole, one past it is cut, and the next line is whole again', () => {
  const buffer = new LineBuffer()
  const longest = 'a'.repeat(lineCharsMax)
  assert.deepEqual(buffer.push(`${longest}\n`), [longest])
  assert.deepEqual(buffer.push(longest), [])
  assert.deepEqual(buffer.push('b\nc\n'), [longest, 'c'])
})
