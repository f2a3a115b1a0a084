import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { StringFinder, longStrings } from '../../src/jsonrpc/long-strings.js'
import { root } from '../support/source-text.js'

const x = (length: number): string => 'x'.repeat(length)
const long = `"${x(126)}"`

const cases: [title: string, text: string, strings: string[] | undefined][] = [
  ['no string', ' {} ', []],
  ['a string that is a byte too short', `["${x(125)}"]`, []],
  ['a long string', `[${long}]`, [long]],
  ['several, and keys', `{"a":${long},${long}:"a","c" : ${long}}`, [long, long, long]],
  ['a string of more than one piece', `["${x(200_000)}"]`, [`"${x(200_000)}"`]],
  [
    'many',
    `[${Array.from({ length: 3000 }, () => long).join(',')}]`,
    Array.from({ length: 3000 }, () => long),
  ],
  ['escaped quotes', `["${x(60)}\\"\\\\\\"${x(70)}\\\\"]`, [`"${x(60)}\\"\\\\\\"${x(70)}\\\\"`]],
  [
    'every escape',
    `["${'\\"\\\\\\/\\b\\f\\n\\r\\t\\u00aF'.repeat(9)}"]`,
    [`"${'\\"\\\\\\/\\b\\f\\n\\r\\t\\u00aF'.repeat(9)}"`],
  ],
  ['nothing beside a control character', `[${long},"\t"]`, undefined],
  ['nothing beside a wrong escape', `[${long},"\\x"]`, undefined],
]

function pieces(bytes: Buffer, size: number): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
    bytes.subarray(i * size, (i + 1) * size),
  )
}

for (const [title, text, want] of cases)
  test(`finds ${title}`, () => {
    const bytes = Buffer.from(text)
    const spans = longStrings([bytes], 128)
    for (const size of [1, 63, 1000])
      assert.deepEqual(longStrings(pieces(bytes, size), 128), spans, `pieces of ${size}`)
    const pairs = Array.from({ length: (spans?.length ?? 0) / 2 }, (_, i) => [
      spans?.[2 * i],
      spans?.[2 * i + 1],
    ])
    const strings = pairs.map(([start, end]) => bytes.toString('latin1', start, end))
    assert.deepEqual(spans && strings, want)
  })

test('parts of several texts that come in turn', () => {
  const texts = ['é', '"', '\\u00e9'].map((text, i) =>
    Buffer.from(`{"a":${i},"b":"${x(i)}${text.repeat(40_001)}"}`),
  )
  const finders = texts.map(() => new StringFinder(128))
  const all = texts.map((text) => pieces(text, 1001))
  for (let at = 0; at < 250; at++)
    for (const [i, finder] of finders.entries()) finder.push(all[i]?.[at] ?? Buffer.alloc(0))
  assert.deepEqual(
    finders.map((finder) => finder.end()),
    texts.map((text) => longStrings([text], 128)),
  )
})

test('the program is the one that its source makes', () => {
  const made = execFileSync(process.execPath, [join(root, 'scripts/string-scan.mjs'), '--print'], {
    encoding: 'utf8',
  })
  assert.equal(readFileSync(join(root, 'src/jsonrpc/string-scan.ts'), 'utf8'), made)
})
