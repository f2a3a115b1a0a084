// Texts that two parsers could read differently cross unchanged, in both directions.

import { strict as assert } from 'node:assert'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import type { RawClient } from './support/client.js'
import { textAt } from './support/json.js'
import { suiteScope } from '../support/scope.js'
import { libraryProxy } from './support/library.js'
import { itEcho } from './support/programs.js'
import { type Spawned, scratch, spawnProxy } from './support/spawned.js'

const base64 = (text: string): string => Buffer.from(text).toString('base64')
/** A line with the name in its place. */
const named = (line: string, name: string): string => line.replace('NAME', name)

const values: [string, string][] = [
  ['an integer past 2^53', '9007199254740993'],
  ['a whole number with a fraction', '1.0'],
  ['a number past every double', '1E400'],
  ['minus zero', '-0'],
  ['minus zero with a fraction', '-0.0e-0'],
  ['400 digits', '1234567890'.repeat(40)],
  ['400 digits after the point', `0.${'1234567890'.repeat(40)}`],
  ['an exponent with a sign and zeros', '1e+0010'],
  ['duplicate members', '{"a":1,"a":2,"a":{"a":3}}'],
  ['duplicates under other spellings', '{"a":1,"\\u0061":2,"A":3}'],
  ['an escape and the letter itself', '["\\u00e9","é","e\\u0301"]'],
  ['__proto__', '{"__proto__":{"x":1},"constructor":{"prototype":{"y":2}},"toString":null}'],
  ['empty keys', '{"":"","":{"":[{}]}}'],
  ['lone surrogates', '["\\ud800","\\udc00","\\ud83d\\ude00","😀","\\udfff\\ud800"]'],
  ['escapes of every kind', '"\\b\\f\\n\\r\\t\\/\\\\\\"\\u0000\\u001f\\u2028\\u2029\\uFEFF/"'],
  ['line separators as they are', '"\u2028\u2029\u0085\u007f\ufeff"'],
  [
    'members the envelope has too',
    '{"jsonrpc":"1.0","id":7,"id":"x","method":"exit","params":[],"result":{},"error":0}',
  ],
  [
    'members the proxy routes by',
    '{"name":"x","_meta":{"progressToken":1},"arguments":{},"uri":"a","requestId":1}',
  ],
  ['white space between tokens', '{ "a" :\t[ 1 , 2 ] ,\t"b" : { } }'],
  ['deep nesting', `${'['.repeat(100)}1${']'.repeat(100)}`],
  ['a long string', `"${'ü'.repeat(70_000)}"`],
  ['words', '[true,false,null]'],
]

describe('values', () => {
  let spawned: Spawned
  let client: RawClient
  const scope = suiteScope()
  before(async () => {
    spawned = spawnProxy(scope, { e: itEcho() })
    client = spawned.client
    await client.open()
  })

  /** The line that the server gets, with `$ID` in place of its id. */
  async function taken(line: string): Promise<string> {
    const id = `id-${client.nextId()}`
    const answer = client.answer(id)
    client.send(line.replace('$ID', JSON.stringify(id)))
    const text = textAt((await answer).value, 'result', 'content', 0, 'text')
    return Buffer.from(text, 'base64')
      .toString()
      .replace(/("id"\s*:\s*)\d+/, '$1$ID')
  }

  /** The line that the client gets for this answer of the server. */
  async function given(text: string, as = 'result'): Promise<string> {
    const id = `id-${client.nextId()}`
    const { text: line } = await client.call('e__give', { b64: base64(text), as }, undefined, id)
    return line.replace(JSON.stringify(id), '$ID')
  }

  for (const [title, value] of values) {
    test(`${title}, to the server`, async () => {
      const line = `{"jsonrpc":"2.0","id":$ID,"method":"tools/call","params":{"name":"NAME","arguments":{"v":${value}},"x-unknown":${value},"_meta":{"m":${value}}},"unknown":[${value}]}`
      assert.equal(await taken(named(line, 'e__take')), named(line, 'take'))
    })
    test(`${title}, to the client`, async () => {
      const result = `{"content":[],"structuredContent":{"v":${value}},"_meta":{"m":${value}},"unknown":${value}}`
      assert.equal(await given(result), `{"jsonrpc":"2.0","id":$ID,"result":${result}}`)
      const error = `{"code":-32099,"message":"m","data":${value},"unknown":${value}}`
      assert.equal(await given(error, 'error'), `{"jsonrpc":"2.0","id":$ID,"error":${error}}`)
    })
    test(`${title}, in a notification`, async () => {
      const params = `{"level":"info","data":${value},"x":${value}}`
      const heard = client.next(
        'a message',
        ({ value: each }) => textAt(each, 'method') === 'notifications/message',
      )
      await given(params, 'notification')
      const wanted = `{"jsonrpc":"2.0","method":"notifications/message","params":${params}}`
      assert.equal((await heard).text, wanted)
    })
  }

  test('members of a message in any order and with any spacing', async () => {
    const line = ` {\t"params" : {"arguments":{"n":1.0}, "_meta" : {"k":[]} , "name" :"NAME"},"method":"tools\\/call" , "id" : $ID, "zz":{"id":1},"jsonrpc":"2.0"}\t`
    assert.equal(await taken(named(line, 'e__take')), named(line, 'take'))
    const answer = ' { "zz":1, "result" : {"content":[]} ,"id": $ID ,\t"jsonrpc":"2.0" } '
    assert.equal(await given(answer, 'line'), answer)
  })

  test('arguments that are not there, prompts and resources', async () => {
    for (const [method, params] of [
      ['tools/call', '{"name":"NAME"}'],
      ['prompts/get', '{"name":"NAME","arguments":{"a":"\\u00e9"},"z":1.0}'],
      ['resources/read', '{"uri":"it://r","z":9007199254740993}'],
      ['resources/subscribe', '{"uri":"it:\\/\\/r","z":-0}'],
    ]) {
      const line = `{"jsonrpc":"2.0","id":$ID,"method":"${method}","params":${params}}`
      assert.equal(await taken(named(line, 'e__take')), named(line, 'take'))
    }
  })
})

test('a schema with many references stands in the list as the server wrote it', async (t) => {
  const schema =
    '{"type":"object","$schema":"https://json-schema.org/draft/2020-12/schema","$defs":{"n\\u00e9":{"type":["integer","null"],"maximum":9007199254740993,"minimum":-1E400},' +
    '"tree":{"type":"object","properties":{"left":{"$ref":"#/$defs/tree"},"right":{"$ref":"#/$defs/tree"},"__proto__":{"$ref":"#/$defs/n%C3%A9"}},"$anchor":"t"},' +
    '"list":{"type":"array","items":{"anyOf":[{"$ref":"#t"},{"$ref":"#/$defs/list"},true,{"const":1.0}]}}},' +
    '"properties":{"":{"$ref":"#/$defs/list"},"a":{"$dynamicRef":"#t","default":1.50},"a":{"$ref":"#/$defs/tree"}},"unevaluatedProperties":true,"x-unknown":[-0]}'
  const item = (name: string, mark: string): string =>
    `{"title":"T\\u00e9", "name":${name},"x":1.0,"description":"${mark}d\\u00e9sc","inputSchema":${schema},"outputSchema":${schema},"annotations":{"readOnlyHint":true,"x":1E2},"_meta":{"a":1,"a":2},"icons":[]}`
  const file = join(scratch(t), 'list.json')
  writeFileSync(file, `[${item('"ta\\u006be"', '')},${item('"plain"', '')}]`)
  const { client } = await (await libraryProxy(t, { e: itEcho({ IT_LIST: file }) })).attach()
  await client.open()
  const { text } = await client.request('tools/list', {}, 'l')
  assert.equal(
    text,
    `{"jsonrpc":"2.0","id":"l","result":{"tools":[${item('"e__take"', '[e] ')},${item('"e__plain"', '[e] ')}]}}`,
  )
  // The schema holds for a call, and its own name is what the server gets.
  const line = `{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":NAME,"arguments":{"":[[[1.0]]]}}}`
  const answer = client.answer('c')
  client.send(named(line, '"e__take"'))
  const got = textAt((await answer).value, 'result', 'content', 0, 'text')
  const sent = Buffer.from(got, 'base64')
    .toString()
    .replace(/"id":\d+/, '"id":"c"')
  assert.equal(sent, named(line, '"ta\\u006be"'))
})
