// Which request an answer belongs to, for all layouts in memory and all orders of members.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LongLine } from '../../src/jsonrpc/long-line.js'
import { type Line, toLine } from '../../src/jsonrpc/line.js'
import { readId } from '../../src/jsonrpc/request-id.js'
import { UnfinishedLine } from '../../src/transports/unfinished-line.js'
import { inTwoParts } from '../jsonrpc/support/frames.js'
import { answeredId, answers, readMessages } from '../../src/transports/http-client/message-post.js'

const one = readId(toLine('1'), 0, 1)

const cases: readonly (readonly [text: string, answered: string | undefined, isToOne: boolean])[] = [
  ['{"jsonrpc":"2.0","id":1,"result":{}}', '1', true],
  ['{"jsonrpc":"2.0","result":{},"id":1}', '1', true],
  ['{"result":{},"jsonrpc":"2.0","id":99}', '99', false],
  ['{"error":{"code":1,"message":"m"},"jsonrpc":"2.0","id":"1"}', '"1"', false],
  ['{"jsonrpc":"2.0","id":1.0,"result":{}}', '1.0', true],
  ['{"jsonrpc":"2.0","id":2,"result":{}}', '2', false],
  [' { "jsonrpc" : "2.0" , "id" : 1 , "error" : {"code":1,"message":"m"} } ', '1', true],
  ['{"jsonrpc":"2.0","id":1,"method":"m"}', undefined, false],
  ['{"jsonrpc":"2.0","method":"m","params":{"result":1}}', undefined, false],
  ['{"jsonrpc":"2.0","x":{"method":1},"id":1,"result":{}}', '1', true],
  ['{"jsonrpc":"2.0","id":1,"result":{"a":01}}', undefined, true],
  ['{"jsonrpc":"2.0","result":{"a":01},"id":2}', undefined, false],
  ['{"jsonrpc"}', undefined, false],
  ['[{"jsonrpc":"2.0","method":"m"},{"jsonrpc":"2.0","result":{},"id":1}]', '1', true],
  ['[1]', undefined, false],
  ['1', undefined, false],
]

function seen(message: Line | LongLine): readonly [answered: string | undefined, isToOne: boolean] {
  const received = readMessages(message)
  const id = received.map(answeredId).find((each) => each !== undefined)
  return [id, received.some((each) => answers(each, one))]
}

for (const [text, answered, isToOne] of cases)
  test(`what ${text} answers`, () => {
    assert.deepEqual(seen(toLine(text)), [answered, isToOne])
    if (text.startsWith('[')) return
    for (let cut = 1; cut < text.length; cut++)
      assert.deepEqual(seen(inTwoParts(text, cut)), [answered, isToOne], `cut at ${cut}`)
  })

test('a long answer is read where it lies, with its result before its id', () => {
  const text = `{"jsonrpc":"2.0","result":"${'x'.repeat(100_000)}","id":1}`
  const bytes = Buffer.from(text)
  const body = new UnfinishedLine()
  body.add(bytes.subarray(0, 50_000))
  body.add(bytes.subarray(50_000))
  const [received] = readMessages(body.end())
  assert.ok(received?.kind === 'result')
  assert.equal(received.long?.parts.length, 2)
  assert.equal(answers(received, one), true)
})
