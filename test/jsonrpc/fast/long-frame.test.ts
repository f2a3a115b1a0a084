import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'
import { type Frame, defaultFrameLimits, readFrame } from '../../../src/jsonrpc/frame.js'
import { toLine } from '../../../src/jsonrpc/line.js'
import { readLongFrame } from '../../../src/jsonrpc/fast/long-frame.js'
import type { Members } from '../../../src/jsonrpc/members.js'
import { messageNamesWith, routedNames } from '../../../src/jsonrpc/routed-names.js'
import { LongLine } from '../../../src/jsonrpc/fast/long-line.js'
import { rawAt } from '../../../src/jsonrpc/text.js'
import { ValueFinder } from '../../../src/jsonrpc/fast/value-finder.js'

const resultNames = routedNames(['type', '_meta'], { key: '_meta', names: routedNames(['mine']) })
const limits = { ...defaultFrameLimits, names: messageNamesWith(resultNames) }
const long = 'x\\n"'.slice(0, 3).repeat(1000)

/** A long line that has come in parts of `size`. */
function lineOf(text: string, size: number): LongLine {
  const bytes = Buffer.from(text)
  const finder = ValueFinder.make()
  assert.ok(finder !== undefined)
  finder.push(bytes)
  const cut = Math.floor((bytes.length - 1) / size) * size
  const head: Buffer[] = []
  for (let at = 0; at < cut; at += size) head.push(bytes.subarray(at, at + size))
  return new LongLine(head, toLine(bytes.subarray(cut)), finder.finish())
}

/** What there is to know of a frame. */
function facts(frame: Frame): unknown {
  assert.ok(frame.kind === 'request' || frame.kind === 'result')
  const { kind, multiline, id, idSpan } = frame
  // While it is in parts, and once it has been joined.
  const named = [namesOf(frame), frame.line.length, namesOf(frame)]
  const line = frame.line.toString()
  if (frame.kind === 'result')
    return { kind, multiline, id, idSpan, line, result: frame.result, members: membersOf(frame.named) }
  const { span, members, metaSpan, meta } = frame.params
  const params = { span, members: [...members], metaSpan, meta: [...meta], bytes: members.bytes.toString() }
  return { kind, multiline, id, idSpan, line, method: frame.method, params, named }
}

/** The named members of a result, and those of the one inside. */
function membersOf(named: Members | undefined): unknown {
  if (named === undefined) return undefined
  const all = [...named].map((member, index) => [named.name(index), member])
  const texts = ['type', 'c', 'mine'].map((name) => [named.span(name), named.string(name)])
  return { all, texts, inner: membersOf(named.inner('_meta')) }
}

function namesOf(frame: Frame): unknown {
  if (frame.kind !== 'request') return undefined
  const { members, meta } = frame.params
  return ['name', 'arguments', 'progressToken', 'a', 'none'].map((name) =>
    [members, meta].map((from) => [from.span(name), from.string(name)]),
  )
}

const good: [title: string, text: string][] = [
  ['a result', `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"${long}"}]}}`],
  ['a result before its id', `{"result":["${long}",1,"${long}"],"jsonrpc":"2.0","id":"a"}`],
  ['a result on several lines', `{\n"jsonrpc": "2.0",\r\n"id": 1, "result": "${long}"\n}`],
  [
    'a result with members that the proxy acts on',
    `{"result":{"type":"typed","a":"${long}","_meta":{"mine":"${long}","b":1},"type":"${long}","c":"${long}"},"id":1,"jsonrpc":"2.0"}`,
  ],
  [
    'a request',
    `{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"progressToken":"${long}","a":1},"name":"n","arguments":{"a":"${long}"}}}`,
  ],
  ['a request before its id', `{"params":{"name":"${long}","_meta":{}},"id":3,"method":"m","jsonrpc":"2.0"}`],
  ['a request with a member of its own', `{"x":"${long}","id":3,"method":"m","jsonrpc":"2.0"}`],
]

for (const [title, text] of good) {
  test(`reads ${title} as if it were short`, () => {
    const whole = readFrame(toLine(text), limits)
    for (const size of [1, 7, 100, 1000, 100_000]) {
      const read = readLongFrame(lineOf(text, size), limits)
      assert.ok(read !== undefined)
      assert.deepEqual(facts(read), facts(whole))
    }
  })
}

const left: [title: string, text: string][] = [
  ['an id that is too long', `{"jsonrpc":"2.0","id":"${long}","result":{}}`],
  ['a method that is too long', `{"jsonrpc":"2.0","id":1,"method":"${long}"}`],
  ['another version', `{"jsonrpc":"${long}","id":1,"result":{}}`],
  [
    'a key that somebody may read as another',
    `{"jsonrpc":"2.0","id":1,"result":"${long}","id\\u0000${long}":2}`,
  ],
  ['an id twice', `{"jsonrpc":"2.0","id":1,"result":"${long}","id":2}`],
  ['bytes behind the message', `{"jsonrpc":"2.0","id":1,"result":"${long}"}}`],
  ['no JSON between the strings', `{"jsonrpc":"2.0","id":1,"result":["${long}","${long}",]}`],
  ['a control character in a string', `{"jsonrpc":"2.0","id":1,"result":"${long}\t"}`],
  ['no JSON in a list', `{"jsonrpc":"2.0","id":1,"result":{"a":[${'1,'.repeat(1000)}]}}`],
  ['a list that an object ends', `{"jsonrpc":"2.0","id":1,"result":{"a":[${'1,'.repeat(1000)}1}}}`],
  [
    'too deep a list',
    `{"jsonrpc":"2.0","id":1,"result":${'['.repeat(200)}${'1,'.repeat(1000)}1${']'.repeat(200)}}`,
  ],
  ['a wrong escape', `{"jsonrpc":"2.0","id":1,"result":"${long}\\a"}`],
]

for (const [title, text] of left) {
  test(`leaves ${title} to the reader of whole messages`, () => {
    assert.equal(readLongFrame(lineOf(text, 1000)), undefined)
  })
}

test('a result is joined only for somebody who looks into it', () => {
  const text = `{"jsonrpc":"2.0","id":1,"result":"${long}"}`
  const line = lineOf(text, 1000)
  const frame = readLongFrame(line)
  assert.ok(frame?.kind === 'result')
  assert.equal(frame.long, line)
  assert.equal(rawAt(frame.line, frame.result), `"${long}"`)
  assert.equal(frame.line, line.line)
})
