import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'
import { toLine, toOneLine } from '../../src/jsonrpc/line.js'
import { lineBreakEdits, type Edit, inOrder, splice } from '../../src/jsonrpc/splice.js'

function edit(start: number, end: number, text: string): Edit {
  return { start, end, bytes: Buffer.from(text), why: 'id' }
}

const cases: [title: string, edits: Edit[], output: string][] = [
  ['nothing', [], 'abcdef'],
  ['replaces', [edit(1, 3, 'XYZ')], 'aXYZdef'],
  ['inserts at the start', [edit(0, 0, '>')], '>abcdef'],
  ['inserts at the end', [edit(6, 6, '<')], 'abcdef<'],
  ['removes', [edit(2, 4, '')], 'abef'],
  ['replaces everything', [edit(0, 6, 'x')], 'x'],
  ['several, side by side', [edit(0, 1, 'A'), edit(1, 2, 'B'), edit(2, 2, '-'), edit(5, 6, 'F')], 'AB-cdeF'],
  ['grows, then shrinks', [edit(0, 1, 'AAAAAAAA'), edit(1, 5, '')], 'AAAAAAAAf'],
  ['shrinks, then grows', [edit(0, 4, ''), edit(5, 6, 'FFFFFFFF')], 'eFFFFFFFF'],
  ['grows far beyond the input', [edit(3, 3, 'x'.repeat(20_000))], `abc${'x'.repeat(20_000)}def`],
  ['ends with a long edit', [edit(3, 6, 'x'.repeat(20_000))], `abc${'x'.repeat(20_000)}`],
]

test('without edits the output is the input itself; with edits the input stays as it was', () => {
  const input = toLine('abcdef')
  assert.equal(splice(input, []).joined, input)
  splice(input, [edit(0, 6, 'x')])
  assert.equal(input.toString(), 'abcdef')
})

test('every output has a line feed directly behind it', () => {
  for (const [, edits, output] of cases) {
    const message = splice(toLine('abcdef'), edits)
    assert.equal(Buffer.concat(message.parts).toString(), output)
    for (const last of [message.joined, message.parts.at(-1)])
      assert.equal(last && Buffer.from(last.buffer, last.byteOffset, last.length + 1).at(-1), 0x0a)
  }
})

const faults: [title: string, edits: Edit[]][] = [
  ['out of order', [edit(3, 4, ''), edit(1, 2, '')]],
  ['overlapping', [edit(1, 4, ''), edit(3, 5, '')]],
  ['backwards', [edit(4, 2, '')]],
  ['behind the end', [edit(5, 7, 'xx')]],
  ['far behind the end', [edit(50, 52, 'xx')]],
  ['removing everything', [edit(0, 6, '')]],
]

test('edits that cannot be applied are a programming error', () => {
  for (const [title, edits] of faults)
    assert.throws(() => splice(toLine('abcdef'), edits), /does not hold/, title)
})

test('edits are put in order; insertions before the replacement at the same place', () => {
  const edits = [edit(4, 5, 'E'), edit(1, 2, 'B'), edit(1, 1, '-')]
  assert.equal(splice(toLine('abcdef'), inOrder(edits)).toString(), 'a-BcdEf')
})

test('a line break that another edit takes away is left to it', () => {
  const line = toLine('{\n"id":\n1,\n"x":2}')
  const edits = lineBreakEdits(line, [{ start: 7, end: 9, bytes: Buffer.from('7'), why: 'id' }])
  assert.equal(splice(line, edits).toString(), '{ "id":7, "x":2}')
  const reasons = edits.map(({ why }) => why)
  assert.deepEqual(reasons, ['line-safe', 'id', 'line-safe'])
})

test('a message with a million line breaks has one edit, which says what leaves', () => {
  const texts = [`{"a":${'\r'.repeat(1_000_000)}1}`, `[${'1,\r\n'.repeat(250_000)}1]`]
  for (const text of texts) {
    const line = toLine(text)
    const edits = lineBreakEdits(line, [])
    assert.equal(edits.length, 1)
    assert.equal(splice(line, edits).joined.compare(toOneLine(line)), 0)
  }
})
