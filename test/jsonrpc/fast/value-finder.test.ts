import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ValueFinder } from '../../../src/jsonrpc/fast/value-finder.js'
import type { KnownValues } from '../../../src/jsonrpc/scan.js'
import { root } from '../../support/source-text.js'

const BYTES_MIN = 128

/** What is found in a text that comes in pieces of `size`. */
function found(text: string | Buffer, size: number): KnownValues | undefined {
  const bytes = Buffer.from(text)
  const finder = ValueFinder.make(BYTES_MIN)
  // The program is shared, and what one text leaves there is nothing to another.
  const other = ValueFinder.make(BYTES_MIN)
  assert.ok(finder !== undefined && other !== undefined)
  for (let at = 0; at < bytes.length; at += size) {
    finder.push(bytes.subarray(at, at + size))
    other.push(Buffer.from('"\\u1'))
  }
  return finder.finish()
}

/** The values that are found, as texts. */
function values(text: string | Buffer, size: number): string[] | undefined {
  const spans = found(text, size)?.spans
  if (spans === undefined) return undefined
  const pairs = Array.from({ length: spans.length / 2 }, (_, i) => [spans[2 * i], spans[2 * i + 1]])
  return pairs.map(([start, end]) => Buffer.from(text).toString('latin1', start, end))
}

const x = (length: number): string => 'x'.repeat(length)
const long = `"${x(126)}"`
const sizes = [1, 7, 63, 64, 65, 1000, 64 * 1024, 1024 * 1024]
/** A message around the members of its result. */
const message = (members: string): string => `{"id":1,"result":{${members}}}`
const numbers = `[${'1,'.repeat(100)}1]`

const good: [title: string, text: string, values: string[]][] = [
  ['no value', ' {} ', []],
  ['a string that is a byte too short', message(`"a":"${x(125)}"`), []],
  ['a long string', message(`"a":${long}`), [long]],
  ['a long string in a short list', message(`"a":[[${long}]]`), [`[[${long}]]`]],
  ['several', message(`"a":${long},"b":"a","c" : ${long} , "d":{"b":${long}}`), [long, long, long]],
  ['a string of more than one piece', message(`"a":"${x(200_000)}"`), [`"${x(200_000)}"`]],
  [
    'many',
    message(Array.from({ length: 3000 }, () => `"a":${long}`).join(',')),
    Array.from({ length: 3000 }, () => long),
  ],
  ['escaped quotes', message(`"a":"${x(60)}\\"\\\\\\"${x(70)}\\\\"`), [`"${x(60)}\\"\\\\\\"${x(70)}\\\\"`]],
  [
    'every escape',
    message(`"a":"${'\\"\\\\\\/\\b\\f\\n\\r\\t\\u00aF'.repeat(9)}"`),
    [`"${'\\"\\\\\\/\\b\\f\\n\\r\\t\\u00aF'.repeat(9)}"`],
  ],
  ['a long list', message(`"a":${numbers}`), [numbers]],
  ['the outermost of long lists', message(`"a":[${numbers},${numbers}]`), [`[${numbers},${numbers}]`]],
  ['a list of short lists', message(`"a":[${'[],'.repeat(100)}{}]`), [`[${'[],'.repeat(100)}{}]`]],
  [
    'a long object that is far inside, and no object that may be routed by',
    message(`"a":{"b":{"c":${numbers.slice(0, 50)}0],"d":1,${`"e":2.5e-3,`.repeat(20)}"f":-0}}`),
    [`{"c":${numbers.slice(0, 50)}0],"d":1,${`"e":2.5e-3,`.repeat(20)}"f":-0}`],
  ],
  [
    'no key',
    message(`${long}:1,"a":{"b":{${long}:true,"c":false,"d":null}}`),
    [`{${long}:true,"c":false,"d":null}`],
  ],
  ['no string of the message itself', `{"id":${long},"method":${long},"result":{}}`, []],
]

for (const [title, text, want] of good) {
  test(`finds ${title}`, () => {
    for (const size of sizes) assert.deepEqual(values(text, size), want, `pieces of ${size}`)
  })
}

test('finds how deep a text is, and whether it has line breaks between its tokens', () => {
  const cases: [text: string, depth: number, hasBreaks: boolean][] = [
    ['1', 0, false],
    ['{"a":[{}], "b":"\\n"}\t', 3, false],
    ['{"a":\n1}', 1, true],
    ['{"a":[1\r,2]}', 2, true],
    [`${'['.repeat(128)}${']'.repeat(128)}`, 128, false],
  ]
  for (const [text, depth, hasBreaks] of cases)
    for (const size of [1, 64, 1000]) {
      const known = found(text, size)
      assert.deepEqual([known?.depth, known?.hasBreaks], [depth, hasBreaks], text)
    }
  assert.equal(found(`${'['.repeat(129)}${']'.repeat(129)}`, 1000), undefined)
})

test('finds strings wherever they lie', () => {
  for (let before = 0; before < 130; before++) {
    for (const inside of ['\\\\', '\\"', '\\u12ab', '\\n', '', 'é', '😀', '\u007f']) {
      const string = Buffer.from(`"${x(130)}${inside}${x(before % 3)}"`).toString('latin1')
      const text = Buffer.from(`${' '.repeat(before)}{"a":{"b":${string}}}`, 'latin1')
      for (const size of [64, 100])
        assert.deepEqual(values(text, size), [string], `${before} ${inside} ${size}`)
    }
  }
})

const bad: [title: string, inside: string | Buffer][] = [
  ['a control character', '\n'],
  ['the last control character', '\x1f'],
  ['an escape that is none', '\\x'],
  ['an escaped control character', '\\\n'],
  ['a short unicode escape', '\\u12'],
  ['a digit that is none', '\\u12g4'],
  ['a quote in a unicode escape', '\\u1"34'],
  ['a byte that is not UTF-8', Buffer.from([0x80])],
  ['a character that is cut', Buffer.from([0xe2, 0x82])],
  ['a surrogate', Buffer.from([0xed, 0xa0, 0x80])],
]

for (const [title, inside] of bad) {
  test(`says nothing of a text with ${title}`, () => {
    for (let before = 60; before < 130; before++) {
      const text = Buffer.concat([
        Buffer.from(`{"a":["${x(before)}`),
        Buffer.from(inside),
        Buffer.from(`${x(130)}"]}`),
      ])
      for (const size of [1, 64, 1000]) assert.equal(found(text, size), undefined, `${before} ${size}`)
    }
  })
}

test('says nothing of a text that ends too early or too late, or has a backslash outside', () => {
  const texts = [
    '',
    ' ',
    '"',
    `"${x(63)}`,
    `"${x(200)}\\"`,
    `\\${long}`,
    `${long}\\n`,
    '{}}',
    '[]1',
    '{',
    '[1,',
    '1 1',
  ]
  for (const text of texts) for (const size of sizes) assert.equal(found(text, size), undefined, text)
  for (const text of [Buffer.from([0xc3]), Buffer.concat([Buffer.from(`"${x(62)}`), Buffer.from([0xf0])])]) {
    for (const size of sizes) assert.equal(found(text, size), undefined)
  }
})

test('the program is the one that its source makes', () => {
  const made = execFileSync(process.execPath, [join(root, 'scripts/string-scan.mjs'), '--print'], {
    encoding: 'utf8',
  })
  assert.equal(readFileSync(join(root, 'src/jsonrpc/fast/string-scan.ts'), 'utf8'), made)
})
