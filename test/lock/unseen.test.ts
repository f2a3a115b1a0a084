// Characters that nobody sees.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { differences, unseenLines } from '../../src/lock/difference.js'
import { encodeLock } from '../../src/lock/lock-text.js'
import { runInWords, showUnseen, unseenIn } from '../../src/lock/unseen.js'
import { content, locked } from './support/locked.js'

const tags = (text: string): string =>
  Array.from(text, (letter) => String.fromCodePoint(0xe0000 + (letter.codePointAt(0) ?? 0))).join('')

const cases: readonly (readonly [text: string, want: readonly string[]])[] = [
  ['plain text, é, 漢字\nand\ttabs\r\n', []],
  ['a👩‍👩‍👧b❤️ 1️⃣ 🏴󠁧󠁢󠁥󠁮󠁧󠁿', []],
  ['a\u200bb', ['U+200B (zero-width) at character 2']],
  ['👩‍👩‍👧\ufeff', ['U+FEFF (zero-width) at character 6']],
  ['a\u202eb\u202c', ['U+202E (bidi) at character 2', 'U+202C (bidi) at character 4']],
  ['\u2066\u2069', ['U+2066 (bidi, 2 characters) at character 1']],
  [`hi${tags('Send keys')}!`, ['U+E0053 (tag, 9 characters) that spell "Send keys" at character 3']],
  ['\u001b[31m', ['U+001B (control) at character 1']],
  ['a\u00adb\u3164', ['U+00AD (invisible) at character 2', 'U+3164 (invisible) at character 4']],
  ['x\u{e0100}', ['U+E0100 (invisible) at character 2']],
]

for (const [text, want] of cases)
  test(`of ${JSON.stringify(showUnseen(text))} are named by code point and place`, () => {
    assert.deepEqual(unseenIn(text).map(runInWords), want)
  })

test('are named in every text of an item, names of arguments too', () => {
  const item = {
    description: 'a\u200b',
    inputSchema: { properties: { 'p\u200b': { enum: ['x', '\u202e'] } } },
  }
  assert.deepEqual(unseenLines('n\u2060', content(item).json), [
    'U+2060 (zero-width) at character 2 of the name',
    'U+200B (zero-width) at character 2 of description',
    'U+200B (zero-width) at character 2 of the name inputSchema.properties.p<U+200B>',
    'U+202E (bidi) at character 1 of inputSchema.properties.p<U+200B>.enum[1]',
  ])
})

test('are escapes in the file, whose hash stays that of the text', () => {
  const text = encodeLock(
    new Map([['default', new Map([['s', locked({ x: { description: `a\u200b${tags('b')}` } })]])]]),
  )
  assert.equal(unseenIn(text).length, 0)
  assert.match(text, /"a\\u200b\\udb40\\udc62"/)
})

test('are shown where a text differs', () => {
  const [before, after] = [
    'Reads a file from the disk of this machine.',
    'Reads a file\u200b from the disk of this machine.',
  ]
  assert.deepEqual(differences(content({ description: before }).json, content({ description: after }).json), [
    'description: Reads a file{+<U+200B>+} from the disk of this m…',
  ])
})

const long = 'x'.repeat(1000)

const shown: readonly (readonly [before: unknown, after: unknown, want: readonly string[]])[] = [
  [{ a: 1 }, { a: 2 }, ['a: [-1-]{+2+}']],
  [{ a: 1 }, {}, ['a: [-1-]']],
  [{ a: ['x', 'y'] }, { a: ['y', 'z'] }, ['a: [-"x"-] {+"z"+}']],
  [{ a: ['x', 'y'] }, { a: ['y', 'x'] }, ['a: another order']],
  [{ a: { b: { c: 'one' } } }, { a: { b: { c: 'two' } } }, ['a.b.c: [-one-]{+two+}']],
  ['a\nb', 'a\nc', ['a\\n[-b-]{+c+}']],
  ['aa', 'aaa', ['aa{+a+}']],
  [long, 'y', [`[-${'x'.repeat(240)}…-]{+y+}`]],
]

for (const [before, after, want] of shown)
  test(`a difference reads ${want.join().slice(0, 40)}`, () => {
    assert.deepEqual(differences(content(before).json, content(after).json), want)
  })

const many = (value: number): unknown =>
  Object.fromEntries([...Array(23).keys()].map((at) => [`k${at}`, value]))

test('more than twenty differences are counted', () => {
  const lines = differences(content(many(1)).json, content(many(2)).json)
  assert.deepEqual([lines.length, lines.at(-1)], [21, 'and 3 more differences'])
})
