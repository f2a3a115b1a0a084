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
    // Each piece changes the text that the program scans.
    for (const size of sizes.filter((each) => text.length < 2000 * each))
      assert.deepEqual(values(text, size), want, `pieces of ${size}`)
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

test('the program is the one that its source makes', () => {
  const made = execFileSync(process.execPath, [join(root, 'scripts/string-scan.mjs'), '--print'], {
    encoding: 'utf8',
  })
  assert.equal(readFileSync(join(root, 'src/jsonrpc/fast/string-scan.ts'), 'utf8'), made)
})
