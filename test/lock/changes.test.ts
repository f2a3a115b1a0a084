import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { assert as check, dictionary, double, jsonValue, option, property, record, string } from 'fast-check'
import { acceptCommand, changesOf, differences, unseenLines, withAccepted } from '../../src/lock/changes.js'
import { contentOf } from '../../src/lock/content.js'
import { showUnseen, unseenIn } from '../../src/lock/unseen.js'
import { content, listed, locked } from './support/locked.js'

const a = { description: 'a' }
const b = { description: 'b' }

/** The lock, the lists of the server, and the changes. */
const lists: readonly (readonly [string, Parameters<typeof locked>, Parameters<typeof listed>, string[]])[] =
  [
    ['the same', [{ x: a }, { p: a }, 'i'], [{ x: a }, { p: a }, 'i'], []],
    ['a new tool', [{ x: a }], [{ x: a, y: b }], ['tools y new']],
    ['a tool less', [{ x: a, y: b }], [{ x: a }], ['tools y removed']],
    ['another name', [{ x: a }], [{ y: a }], ['tools y new', 'tools x removed']],
    ['a changed tool and a changed prompt', [{ x: a }, { p: a }], [{ x: b }, { p: b }], ['tools x changed', 'prompts p changed']],
    ['a prompt that is a tool now', [{}, { p: a }], [{ p: a }], ['tools p new', 'prompts p removed']],
    ['other instructions', [{ x: a }, {}, 'i'], [{ x: a }, {}, 'j'], ['instructions instructions changed']],
    ['instructions for the first time', [{ x: a }], [{ x: a }, {}, 'j'], ['instructions instructions new']],
    ['no instructions any more', [{ x: a }, {}, 'i'], [{ x: a }], ['instructions instructions removed']],
  ] // prettier-ignore

describe('a server', () => {
  for (const [title, before, after, want] of lists)
    test(`with ${title}`, () => {
      for (const isOfAll of [true, false])
        assert.deepEqual(
          changesOf(locked(...before), listed(...after), isOfAll).map(
            ({ kind, name, change }) => `${kind} ${name} ${change}`,
          ),
          want.filter((each) => isOfAll || !each.endsWith('removed')),
        )
    })

  test('whose list could not be read has not changed', () => {
    const read = { ...listed({ x: b }), tools: undefined, prompts: undefined }
    assert.deepEqual(changesOf(locked({ x: a }, { p: a }), read, true), [])
  })
})

test('the name of an item is part of its hash, and so is a second name', () => {
  const hashes = [
    '{"name":"x"}',
    '{"name":"y"}',
    '{"name":"x","name":"y"}',
    String.raw`{"n\u0061me":"x"}`,
  ].map((text) => contentOf(Buffer.from(text)).hash)
  assert.equal(new Set(hashes).size, 3)
  assert.equal(hashes[0], hashes[3])
})

const anyTool = record(
  { description: string(), inputSchema: jsonValue(), n: double({ noNaN: true }) },
  { requiredKeys: [] },
)
const server = dictionary(string(), anyTool, { maxKeys: 6 })

/** The same value with the members of every object in reverse order. */
function turned(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(turned)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([name, each]) => [name, turned(each)]),
  )
}

test('the order of members and white space are no change, nor is an accepted change', () => {
  check(
    property(server, server, option(string()), (one, other, instructions) => {
      const spaced = Buffer.from(JSON.stringify(turned(one), undefined, 3))
      assert.equal(contentOf(spaced).hash, content(one).hash)
      assert.equal(contentOf(Buffer.from(content(one).text)).hash, content(one).hash)
      const [before, now] = [locked(one), listed(other, one, instructions ?? undefined)]
      const changes = changesOf(before, now, true)
      assert.deepEqual(changesOf(withAccepted(before, changes), now, true), [])
      for (const change of changes) differences(change)
    }),
  )
})

test('numbers keep their spelling, and members that stand twice stay both', () => {
  const odd = String.raw`{ "b" : [ 1.0 , -2E+5 , 12345678901234567890 ,{ } ,[ ]] , "a\\" : "\u0041\"\\" , "a\\":1 }`
  const { text } = contentOf(Buffer.from(odd))
  const want = String.raw`{"a\\":"A\"\\","a\\":1,"b":[1.0,-2E+5,12345678901234567890,{},[]]}`
  assert.equal(text.replaceAll(/\n *| (?=["\d[{])/g, ''), want)
})

for (const [schema, name, item, want] of [
  ['default', 'files', 'read_file', 'mcps-proxy lock --accept files/read_file'],
  ['work', 'files', 'read_file', 'mcps-proxy lock --schema work --accept files/read_file'],
  ['default', 'my files', 'read', "mcps-proxy lock --accept 'my files/read'"],
  ['default', 'files', '$(id)', 'mcps-proxy lock --accept files'],
  ['default', "it's", 'x', String.raw`mcps-proxy lock --accept 'it'\''s/x'`],
] as const)
  test(`a shell reads no name of a server's own as a command: ${want}`, () =>
    assert.equal(acceptCommand(schema, name, item), want))

const tags = (text: string): string =>
  Array.from(text, (letter) => String.fromCodePoint(0xe0000 + (letter.codePointAt(0) ?? 0))).join('')

const texts: readonly (readonly [text: string, want: string | undefined])[] = [
  ['plain text, é, 漢字\nand lines', undefined],
  ['a👩‍👩‍👧b❤️ 1️⃣ 🏴󠁧󠁢󠁥󠁮󠁧󠁿', undefined],
  ['a\u200bb', 'U+200B'],
  ['👩‍👩‍👧\ufeff', 'U+FEFF'],
  ['a\u202eb\u202c\u2066\u2066', 'U+202E, U+202C, U+2066'],
  [`hi${tags('Send')}!`, 'U+E0053, U+E0065, U+E006E, U+E0064'],
  ['\u001b[31m', 'U+001B'],
  ['a\u00adb\u3164', 'U+00AD, U+3164'],
  ['x\u{e0100}', 'U+E0100'],
]

for (const [text, want] of texts)
  test(`invisible characters are named by code point in ${JSON.stringify(showUnseen(text))}, and are escapes in a content`, () => {
    assert.equal(unseenIn(text), want)
    assert.equal(unseenIn(content(text).text), want)
    assert(!/[^\n\P{Cf}]/u.test(content(text).text))
  })

test('invisible characters are named in every text of an item, names of arguments too', () => {
  const item = {
    name: 'n\u2060',
    description: 'a\u200b',
    inputSchema: { properties: { 'p\u200b': { enum: ['x', '\u202e'] } } },
  }
  assert.deepEqual(unseenLines(content(item)), [
    'U+200B in "description": "a<U+200B>"',
    'U+200B in "p<U+200B>": {',
    'U+202E in "<U+202E>"',
    'U+2060 in "name": "n<U+2060>"',
  ])
})

const shown: readonly (readonly [before: unknown, after: unknown, want: readonly string[]])[] = [
  [{ a: 1 }, { a: 2 }, ['-   "a": 1', '+   "a": 2']],
  [{ a: 1 }, { a: 1, b: 2 }, ['+   "b": 2']],
  [{ a: ['x', 'y'] }, { a: ['y', 'zz'] }, ['-     "x"', '+     "zz"']],
  ['a\nb', 'a\nc', [String.raw`- "a\nb"`, String.raw`+ "a\nc"`]],
  ['a', 'a\u200b', ['- "a"', '+ "a<U+200B>"']],
]

for (const [before, after, want] of shown)
  test(`a difference reads ${want.join().slice(0, 40)}`, () =>
    assert.deepEqual(differences({ before: content(before), after: content(after) }), want))

test('of thousands of differences two hundred are shown', { timeout: 60_000 }, () => {
  const [before, after] = ['p', 'q'].map((name) =>
    content(Object.fromEntries([...Array(9000).keys()].map((nth) => [`${name}${nth}`, { enum: [nth] }]))),
  )
  const lines = differences({ before, after })
  assert.equal(lines.length, 202)
  assert.match(lines.at(-2) ?? '', /^and \d+ more lines$/)
})

test('a deep value is not much longer in the lock than it was in a list', () => {
  const deep = `${'['.repeat(120)}${'1,'.repeat(10_000)}1${']'.repeat(120)}`
  assert(contentOf(Buffer.from(deep)).text.length < deep.length * 20)
})
