import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'
import { canonical, readId } from '../../src/jsonrpc/request-id.js'

function read(text: string): ReturnType<typeof readId> {
  const bytes = Buffer.from(`<${text}>`)
  return readId(bytes, 1, bytes.length - 1)
}

/** Spellings that are canonical. */
const canonicals =
  String.raw`0 1 7 42 -1 100 123456789 1234567890 999999999999999 1000000000000000 9007199254740991
  -9007199254740991 "" "1" "1.0" "null" "/" "\"" "\\" "\n" "é" "😀" "\ud800" "__proto__"`.split(/\s+/)

/** Other spellings, and their canonical text. */
const accepted: [spelling: string, known: string][] = [
  ...[...canonicals, '"a b"', '"\u2028"', '"\u007f"'].map((text): [string, string] => [text, text]),
  ...'-0 0.0 -0.0 0e9 0e-9'.split(' ').map((text): [string, string] => [text, '0']),
  ...'1.0 1.000 1e0 1E0 1e+0 1e-0 10e-1'.split(' ').map((text): [string, string] => [text, '1']),
  ['1e2', '100'],
  ['1.5e1', '15'],
  ['1.20e1', '12'],
  ['-2.0', '-2'],
  ['9007199254740991.0', '9007199254740991'],
  ['"\\u0061"', '"a"'],
  ['"\\u0041"', '"A"'],
  ['"\\/"', '"/"'],
  ['"\\u0022"', '"\\""'],
  ['"\\u000a"', '"\\n"'],
  ['"\\u00e9"', '"é"'],
  ['"\\u00E9"', '"é"'],
  ['"\\ud83d\\ude00"', '"😀"'],
  ['"\\uD800"', '"\\ud800"'],
]

const refused = [
  ...'null true false {} [] [1] {"id":1} 1.5 -0.5 1e-1 15e-1 1e-400 0.1e-400 1e400 -1e400'.split(' '),
  ...'1.0000000000000000001 9007199254740991.4 9007199254740992 -9007199254740992 9007199254740993 1e16'.split(
    ' ',
  ),
  `1${'0'.repeat(20)}`,
  `1.${'0'.repeat(40)}`,
  `"${'x'.repeat(1023)}"`,
]

test('an id is kept as it is written, and known by one text', () => {
  assert.ok(accepted.length + refused.length >= 60)
  for (const [spelling, known] of accepted) {
    const id = read(spelling)
    assert.equal(id, spelling)
    assert.equal(canonical(id), known, spelling)
    assert.equal(canonical(canonical(id)), known, spelling)
    const value: unknown = JSON.parse(spelling)
    assert.equal(JSON.stringify(value), known, `${spelling}: what a server that parses would answer`)
  }
})

test('what is neither a string nor an integer is no id', () => {
  for (const spelling of refused)
    assert.throws(() => read(spelling), { name: 'FrameError', code: 'FRAME_ID', offset: 1 }, spelling)
})

test('the longest string that is an id', () => {
  const longest = `"${'x'.repeat(1022)}"`
  assert.equal(read(longest), longest)
})
