import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'
import { IdFinder } from '../../src/jsonrpc/id-finder.js'

function find(text: string | Buffer, size: number): [id: string | undefined, isCall: boolean] {
  const finder = new IdFinder()
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) finder.push(bytes.subarray(at, at + size))
  const { id, isCall } = finder.found()
  return [id, isCall]
}

const cases: [title: string, text: string | Buffer, id: string | undefined, isCall?: boolean][] = [
  ['first', '{"id":1,"result":{}}', '1'],
  ['last', '{"result":{"a":[1,{}]},"id":"x"}', '"x"'],
  ['between white space', '{ "id"\t:\r\n 12 ,"result":{}}', '12'],
  ['as written', '{"id":1.0,"result":{}}', '1.0'],
  ['a string with escapes', '{"id":"a\\"}\\\\","result":{}}', '"a\\"}\\\\"'],
  ['a string of other characters', '{"id":"é😀","result":{}}', '"é😀"'],
  ['beside nested decoys', '{"result":{"id":2,"x":[{"id":3}]},"id":1}', '1'],
  ['beside a decoy in a string', '{"result":"{\\"id\\":2,","id":1}', '1'],
  ['beside a string that reads like a key', '{"result":"id","id":1}', '1'],
  ['beside a string that ends in backslashes', '{"result":"\\\\\\\\","id":1}', '1'],
  ['beside a longer key', '{"idx":5,"x":7,"id":1,"result":{}}', '1'],
  ['beside a key that some reader takes for it', '{"Id":6,"result":{},"id":1}', undefined],
  ['beside the same id with escapes in its key', '{"i\\u0064":1,"result":{},"id":1}', '1'],
  ['in a message that is neither call nor answer', '{"params":{},"id":1}', undefined],
  ['in a message with a method', '{"id":1,"method":"m","params":{}}', '1', true],
  ['in a message with a method last', '{"params":{"x":"y"},"id":1,"method":"m"}', '1', true],
  ['in a message with a method below', '{"id":1,"result":{"method":"m"}}', '1', false],
  ['none', '{"method":"m","params":{"id":1}}', undefined, true],
  ['none, in a batch', '[{"id":1}]', undefined],
  ['two', '{"id":1,"result":{},"id":2}', undefined],
  ['null', '{"id":null,"result":{}}', undefined],
  ['a fraction', '{"id":1.5,"result":{}}', undefined],
  ['an object', '{"id":{"id":1},"result":{}}', undefined],
  ['an array', '{"id":[1,2],"result":{}}', undefined],
  ['nothing', '{"id":,"result":{}}', undefined],
  ['no JSON', '{"id":1 2"x","result":{}}', undefined],
  ['a string that is no JSON', '{"id":"a\\q","result":{}}', undefined],
  ['a string that is not UTF-8', Buffer.from('{"id":"\xff","result":{}}', 'latin1'), undefined],
  ['too long', `{"id":"${'x'.repeat(2000)}","result":{}}`, undefined],
  ['as long as may be', `{"id":"${'x'.repeat(1022)}","result":{}}`, `"${'x'.repeat(1022)}"`],
  ['cut before its end', '{"result":{},"id":12', undefined],
  ['behind more closing brackets than opening ones', '}}}{"id":1}', undefined],
]

test('knows the id of a long message where it is among the first members or the last one', () => {
  const long = 'x'.repeat(20_000)
  const id = `"${'i'.repeat(1022)}"`
  const nested = `{"a":[${'[1,{"b":"c"}],'.repeat(3000)}1]}`
  const texts: [text: string, id: string | undefined, isCall: boolean][] = [
    [`{"id":1,"result":["${long}","${long}"]}`, '1', false],
    [`{"result":["${long}\\","\\"${long}"],"id":1}`, '1', false],
    [`{"result":${nested},"jsonrpc":"2.0" , "id" : ${id} }\r`, id, false],
    [`{"method":"m","params":{"a":"${long}"},"jsonrpc":"2.0","id":"é\\"}"}`, '"é\\"}"', true],
    [`{"error":{"message":"${long},\\"id\\":2}"},"id":1}`, '1', false],
    [`{"result":"${long},\\"id\\":2}"}`, undefined, false],
    [`{"result":{"a":"${long}","id":2}}`, undefined, false],
    [`{"result":"${long}","id":1,"more":"${long}"}`, undefined, false],
    [`{"id":1,"result":"${long}","id":2}`, undefined, false],
    // The beginning does not show whether the message is a call or an answer.
    [`{"params":"${long}","method":"m","id":1}`, undefined, false],
    [`${long}{"id":1,"result":[]}`, undefined, false],
  ]
  for (const size of [7, 2047, 64 * 1024])
    for (const [text, ...want] of texts) assert.deepEqual(find(text, size), want, text.slice(0, 60))
})

test('finds only the id at the top level, for all chunks', () => {
  for (const [title, text, id, isCall = false] of cases)
    for (const size of [1, 2, 3, 7, 64 * 1024])
      assert.deepEqual(find(text, size), [id, isCall], `${title}, in chunks of ${size}`)
})
