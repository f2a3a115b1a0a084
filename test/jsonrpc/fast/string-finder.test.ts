import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { StringFinder } from '../../../src/jsonrpc/fast/string-finder.js'
import { root } from '../../support/source-text.js'

const BYTES_MIN = 128

/** The strings that are found in a text that comes in pieces of `size`. */
function found(text: string | Buffer, size: number): string[] | undefined {
  const bytes = Buffer.from(text)
  const finder = StringFinder.make(BYTES_MIN)
  assert.ok(finder !== undefined)
  // What one text leaves behind is nothing to the next.
  finder.start()
  finder.push(Buffer.from('"\\u1'))
  finder.start()
  for (let at = 0; at < bytes.length; at += size) finder.push(bytes.subarray(at, at + size))
  const offsets = finder.finish()
  if (offsets === undefined) return undefined
  const pairs = Array.from({ length: offsets.length / 2 }, (_, i) => [offsets[2 * i], offsets[2 * i + 1]])
  return pairs.map(([start, end]) => bytes.toString('latin1', start, end))
}

const x = (length: number): string => 'x'.repeat(length)
const long = `"${x(126)}"`
const sizes = [1, 7, 63, 64, 65, 1000, 64 * 1024, 1024 * 1024]

const good: [title: string, text: string, strings: string[]][] = [
  ['nothing', '', []],
  ['no string', ' [1, 2] ', []],
  ['a string that is a byte too short', `["${x(125)}"]`, []],
  ['a long string', `[${long}]`, [long]],
  ['several', `[${long},"a",${long} , {"b":${long}}]`, [long, long, long]],
  ['a string of more than one piece', `["${x(200_000)}"]`, [`"${x(200_000)}"`]],
  [
    'many',
    `[${Array.from({ length: 3000 }, () => long).join(',')}]`,
    Array.from({ length: 3000 }, () => long),
  ],
  ['escaped quotes', `["${x(60)}\\"\\\\\\"${x(70)}\\\\"]`, [`"${x(60)}\\"\\\\\\"${x(70)}\\\\"`]],
  ['a tab between tokens', `[\t\r\n${long}]`, [long]],
  [
    'every escape',
    `["${'\\"\\\\\\/\\b\\f\\n\\r\\t\\u00aF'.repeat(9)}"]`,
    [`"${'\\"\\\\\\/\\b\\f\\n\\r\\t\\u00aF'.repeat(9)}"`],
  ],
]

for (const [title, text, strings] of good) {
  test(`finds ${title}`, () => {
    for (const size of sizes) assert.deepEqual(found(text, size), strings, `pieces of ${size}`)
  })
}

test('finds strings wherever they lie', () => {
  for (let before = 0; before < 130; before++) {
    for (const inside of ['\\\\', '\\"', '\\u12ab', '\\n', '', 'é', '😀', '\u007f']) {
      const string = Buffer.from(`"${x(130)}${inside}${x(before % 3)}"`).toString('latin1')
      const text = Buffer.from(`${' '.repeat(before)}[${string}]`, 'latin1')
      for (const size of [64, 100])
        assert.deepEqual(found(text, size), [string], `${before} ${inside} ${size}`)
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
        Buffer.from(`["${x(before)}`),
        Buffer.from(inside),
        Buffer.from(`${x(130)}"]`),
      ])
      for (const size of [1, 64, 1000]) assert.equal(found(text, size), undefined, `${before} ${size}`)
    }
  })
}

test('says nothing of a text that ends inside a string, or has a backslash outside', () => {
  for (const text of ['"', `"${x(63)}`, `"${x(200)}\\"`, `\\${long}`, `${long}\\n`, `${x(62)}\\n`]) {
    for (const size of sizes) assert.equal(found(text, size), undefined, text)
  }
  for (const text of [Buffer.from([0xc3]), Buffer.concat([Buffer.from(x(63)), Buffer.from([0xf0])])]) {
    for (const size of sizes) assert.equal(found(text, size), undefined)
  }
})

test('the program is the one that its source makes', () => {
  const made = execFileSync(process.execPath, [join(root, 'scripts/string-scan.mjs'), '--print'], {
    encoding: 'utf8',
  })
  assert.equal(readFileSync(join(root, 'src/jsonrpc/fast/string-scan.ts'), 'utf8'), made)
})
