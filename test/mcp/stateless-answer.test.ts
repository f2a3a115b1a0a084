// The conversion of results and errors for a client without a session.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { readLong } from '../../src/jsonrpc/long-line.js'
import { inOrder, splice } from '../../src/jsonrpc/splice.js'
import { errorEdits, resultEdits, statelessResult } from '../../src/mcp/eras/results.js'
import { requests } from '../../src/mcp/methods.js'
import { errorOf, inTwoParts, resultOf } from '../jsonrpc/support/frames.js'

const rowOf = (method: string): NonNullable<ReturnType<typeof requests.get>> => {
  const row = requests.get(method)
  assert(row !== undefined)
  return row
}

const type = '"resultType":"complete"'
const hints = '"ttlMs":0,"cacheScope":"private"'

type Rows = readonly (readonly [title: string, given: string, want: string | undefined])[]

/** By the era of the server and the method of the call. */
const cases: readonly (readonly [era: 'session' | 'stateless', method: string, rows: Rows])[] = [
  [
    'session',
    'tools/call',
    [
      ['a result gets its type', '{"content":[]}', `{${type},"content":[]}`],
      ['so does one without members', '{ }', `{${type} }`],
      ['a type of its own is wrong', '{"a":1,"resultType":"input_required"}', `{${type},"a":1}`],
      ['the word further inside is no type', '{"a":{"resultType":"x"}}', `{${type},"a":{"resultType":"x"}}`],
      ['of two words neither stays', '{"resultType":"task","a":1,"resultType":7}', `{${type},"a":1}`],
      ['nor does one with an escape', '{"result\\u0054ype":"task","resultType":7}', `{${type}}`],
      ['what is no object is no result', '[1]', undefined],
    ],
  ],
  [
    'session',
    'resources/read',
    [
      ['what is read gets hints', '{ "contents":[]}', `{${type},${hints}, "contents":[]}`],
      ['so does nothing', '{}', `{${type},${hints}}`],
      ['hints of a server without types are wrong', '{"ttlMs":9,"a":1}', `{${type},${hints},"a":1}`],
    ],
  ],
  [
    'stateless',
    'tools/call',
    [
      ['a typed result passes', '{"a":1,"resultType":"complete"}', '{"a":1,"resultType":"complete"}'],
      ['so it does spelled so', '{"resultType":"compl\\u0065te"}', '{"resultType":"compl\\u0065te"}'],
      ['a type that is no text does not', '{"a":1,"resultType":7}', undefined],
      ['one that should be typed gets its type', '{"a":1}', `{${type},"a":1}`],
      ['one of another type does not pass', '{"resultType":"x"}', undefined],
    ],
  ],
]

for (const [era, method, rows] of cases)
  for (const [title, given, want] of rows)
    test(`a result of a server with ${era}, to ${method}: ${title}`, () => {
      const frame = resultOf(`{"jsonrpc":"2.0","id":1,"result":${given}}`)
      const edits = resultEdits(frame, era, rowOf(method))
      const said = edits && splice(frame.line, inOrder(edits)).toString()
      assert.equal(said, want && `{"jsonrpc":"2.0","id":1,"result":${want}}`)
    })

for (const word of ['"text":"x"', '"resultType":"mine"'])
  test(`a result of a server that is long gets its type in its parts: ${word}`, () => {
    const filler = 'y'.repeat(5000)
    const text = `{"jsonrpc":"2.0","id":1,"result":{"long":"${filler}",${word}}}`
    const cut = text.indexOf(word) + 5
    const long = inTwoParts(text, cut)
    const frame = readLong(long)
    assert(frame.kind === 'result')
    const edits = resultEdits(frame, 'session', rowOf('tools/call'))
    assert(edits !== undefined)
    const said = splice(long.parts, inOrder(edits)).toString()
    const kept = word.startsWith('"text"') ? text : text.replace(`,${word}`, '')
    assert.equal(said.trimEnd(), kept.replace('{"long"', `{${type},"long"`))
  })

test('a result of the proxy gets its type, and a list is out of date at once', () => {
  assert.equal(statelessResult('{}', false), `{${type}}`)
  assert.equal(statelessResult('{"isError":true}', false), `{${type},"isError":true}`)
  const list = statelessResult(Buffer.from('{"tools":[]}'), true)
  assert.equal(Buffer.from(list).toString(), `{${type},${hints},"tools":[]}`)
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

for (const [given, want] of spelled)
  test(`an error of a server with ${given} is told with ${want}`, () => {
    const frame = errorOf(`{"jsonrpc":"2.0","id":1,"error":{"message":"m",${given}}}`)
    const said = splice(frame.line, errorEdits(frame, 'session')).toString()
    assert.equal(said, `{"jsonrpc":"2.0","id":1,"error":{"message":"m",${want}}}`)
  })

for (const [code, form, want] of errors)
  test(`an error of a server: ${code} of one that writes ${form} results is ${want}`, () => {
    const text = `{"jsonrpc":"2.0","id":1,"error":{"message":"m","code":${code},"data":[1.0]}}`
    const frame = errorOf(text)
    const said = splice(frame.line, errorEdits(frame, form)).toString()
    assert.equal(said, text.replace(String(code), String(want)))
  })
