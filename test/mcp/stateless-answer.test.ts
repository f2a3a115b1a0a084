// What becomes of results and errors on the way to a client without a session.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { readFrame } from '../../src/jsonrpc/frame.js'
import { lineAt, toLine } from '../../src/jsonrpc/line.js'
import { LongLine, readLong } from '../../src/jsonrpc/long-line.js'
import { inOrder, splice } from '../../src/jsonrpc/splice.js'
import { errorEdits, resultEdits, statelessResult } from '../../src/mcp/eras/results.js'
import { requests } from '../../src/mcp/methods.js'

const rowOf = (method: string): NonNullable<ReturnType<typeof requests.get>> => {
  const row = requests.get(method)
  assert(row !== undefined)
  return row
}

const type = '"resultType":"complete"'
const hints = '"ttlMs":0,"cacheScope":"private"'

const cases: readonly (readonly [
  title: string,
  era: 'session' | 'stateless',
  method: string,
  given: string,
  want: string | undefined,
])[] = [
  ['a result gets its type', 'session', 'tools/call', '{"content":[]}', `{${type},"content":[]}`],
  ['so does one without members', 'session', 'tools/call', '{ }', `{${type} }`],
  [
    'what is read gets hints',
    'session',
    'resources/read',
    '{ "contents":[]}',
    `{${type},${hints}, "contents":[]}`,
  ],
  ['so does nothing', 'session', 'resources/read', '{}', `{${type},${hints}}`],
  [
    'hints of a server without types are wrong',
    'session',
    'resources/read',
    '{"ttlMs":9,"a":1}',
    `{${type},"ttlMs":0,"cacheScope":"private","a":1}`,
  ],
  [
    'so is a type of its own',
    'session',
    'tools/call',
    '{"a":1,"resultType":"input_required"}',
    '{"resultType":"complete","a":1}',
  ],
  [
    'the word further inside is no type',
    'session',
    'tools/call',
    '{"a":{"resultType":"x"}}',
    `{${type},"a":{"resultType":"x"}}`,
  ],
  [
    'a typed result passes',
    'stateless',
    'resources/read',
    '{"a":1,"resultType":"complete"}',
    '{"a":1,"resultType":"complete"}',
  ],
  [
    'so does one that spells it in another way',
    'stateless',
    'tools/call',
    '{"a":1,"resultType":"compl\\u0065te"}',
    '{"a":1,"resultType":"compl\\u0065te"}',
  ],
  ['a type that is no text does not', 'stateless', 'tools/call', '{"a":1,"resultType":7}', undefined],
  ['one that should be typed gets its type', 'stateless', 'tools/call', '{"a":1}', `{${type},"a":1}`],
  ['one of another type does not pass', 'stateless', 'tools/call', '{"resultType":"x"}', undefined],
  [
    'of two words of the same name neither stays',
    'session',
    'tools/call',
    '{"resultType":"input_required","a":1,"resultType":7}',
    '{"resultType":"complete","a":1}',
  ],
  [
    'nor does one with an escape in its name',
    'session',
    'tools/call',
    '{"result\\u0054ype":"input_required","resultType":7}',
    '{"resultType":"complete"}',
  ],
  ['what is no object is no result', 'session', 'tools/call', '[1]', undefined],
]

describe('a result of a server', () => {
  for (const [title, form, method, given, want] of cases)
    test(title, () => {
      const frame = readFrame(toLine(`{"jsonrpc":"2.0","id":1,"result":${given}}`))
      assert(frame.kind === 'result')
      const edits = resultEdits(frame, form, rowOf(method))
      const said = edits && splice(frame.line, inOrder(edits)).toString()
      assert.equal(said, want && `{"jsonrpc":"2.0","id":1,"result":${want}}`)
    })

  for (const word of ['"text":"x"', '"resultType":"mine"'])
    test(`that is long gets its type in its parts: ${word}`, () => {
      const filler = 'y'.repeat(5000)
      const text = `{"jsonrpc":"2.0","id":1,"result":{"long":"${filler}",${word}}}`
      const cut = text.indexOf(word) + 5
      const last = Buffer.from(`${text.slice(cut)}\n`)
      const long = new LongLine([Buffer.from(text.slice(0, cut))], lineAt(last, 0, last.length - 1))
      const frame = readLong(long)
      assert(frame.kind === 'result')
      const edits = resultEdits(frame, 'session', rowOf('tools/call'))
      assert(edits !== undefined)
      const said = splice(long.parts, inOrder(edits)).toString()
      const kept = word.startsWith('"text"') ? text : text.replace(`,${word}`, '')
      assert.equal(said.trimEnd(), kept.replace('{"long"', `{${type},"long"`))
    })
})

describe('a result of the proxy', () => {
  test('gets its type, and a list is out of date at once', () => {
    assert.equal(statelessResult('{}', false), `{${type}}`)
    assert.equal(statelessResult('{"isError":true}', false), `{${type},"isError":true}`)
    const list = statelessResult(Buffer.from('{"tools":[]}'), true)
    assert.equal(Buffer.from(list).toString(), `{${type},${hints},"tools":[]}`)
  })
})

const errors: readonly (readonly [code: number, era: 'session' | 'stateless', want: number])[] = [
  [-32002, 'session', -32602],
  [-32002, 'stateless', -32602],
  [-32042, 'session', -32603],
  [-32020, 'stateless', -32603],
  [-32021, 'session', -32603],
  [-32021, 'stateless', -32021],
  [-32022, 'stateless', -32603],
  [-32099, 'session', -32603],
  [-32000, 'session', -32000],
  [-32601, 'stateless', -32601],
  [7, 'session', 7],
]

const spelled: readonly (readonly [given: string, want: string])[] = [
  ['"code":-1,"code":-32022', '"code":-1,"code":-32603'],
  ['"c\\u006fde":-32022', '"c\\u006fde":-32603'],
  ['"code":-3.2022e4', '"code":-32603'],
  ['"code":-32042.0', '"code":-32603'],
  ['"code":"x"', '"code":"x"'],
  ['"code":{"code":-32022}', '"code":{"code":-32022}'],
  ['"data":{"code":-32022}', '"data":{"code":-32022}'],
]

describe('an error of a server', () => {
  for (const [given, want] of spelled)
    test(`with ${given} is told with ${want}`, () => {
      const frame = readFrame(toLine(`{"jsonrpc":"2.0","id":1,"error":{"message":"m",${given}}}`))
      assert(frame.kind === 'error')
      const said = splice(frame.line, errorEdits(frame, 'session')).toString()
      assert.equal(said, `{"jsonrpc":"2.0","id":1,"error":{"message":"m",${want}}}`)
    })

  for (const [code, form, want] of errors)
    test(`${code} of one that writes ${form} results is ${want}`, () => {
      const text = `{"jsonrpc":"2.0","id":1,"error":{"message":"m","code":${code},"data":[1.0]}}`
      const frame = readFrame(toLine(text))
      assert(frame.kind === 'error')
      const said = splice(frame.line, errorEdits(frame, form)).toString()
      assert.equal(said, text.replace(String(code), String(want)))
    })
})
