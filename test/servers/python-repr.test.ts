import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pythonRepr } from '../../src/servers/python-repr.js'

const cases: readonly [json: string, want: string][] = [
  ['5', '5'],
  ['-1.5', '-1.5'],
  ['1e300', '1e+300'],
  ['true', 'True'],
  ['false', 'False'],
  ['null', 'None'],
  ['"a"', "'a'"],
  [String.raw`"it's"`, `"it's"`],
  [String.raw`"a\"b"`, `'a"b'`],
  [String.raw`"a\"'b"`, String.raw`'a"\'b'`],
  [String.raw`"\\\n\r\t"`, String.raw`'\\\n\r\t'`],
  [String.raw`"\u0000\u007f\u00a0\u200b\ud800"`, String.raw`'\x00\x7f\xa0\u200b\ud800'`],
  [String.raw`"\udb40\udc01 \u00e9 \ud83d\ude00"`, String.raw`'\U000e0001 é 😀'`],
  ['[]', '[]'],
  ['{}', '{}'],
  ['[1,"a",[null]]', "[1, 'a', [None]]"],
  [`{"a":1.5,"it's":{"b":false}}`, `{'a': 1.5, "it's": {'b': False}}`],
]

for (const [json, want] of cases) {
  test(`${json} prints as ${want}`, () => assert.equal(pythonRepr(JSON.parse(json)), want))
}

test('the depth of what is printed is limited', () => {
  const depth = 100_000
  const deep: unknown = JSON.parse('['.repeat(depth) + ']'.repeat(depth))
  assert.equal(pythonRepr(deep), `${'['.repeat(32)}...${']'.repeat(32)}`)
})
