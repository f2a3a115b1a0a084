// What a message is, from its first members, however it lies in memory.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toLine } from '../../src/jsonrpc/line.js'
import { LongLine } from '../../src/jsonrpc/fast/long-line.js'
import { isAnswer } from '../../src/jsonrpc/peek.js'
import { readId } from '../../src/jsonrpc/request-id.js'

const one = readId(toLine('1'), 0, 1)

const cases: readonly (readonly [text: string, isAny: boolean, isToOne: boolean])[] = [
  ['{"jsonrpc":"2.0","id":1,"result":{}}', true, true],
  ['{"jsonrpc":"2.0","id":1.0,"result":{}}', true, true],
  ['{"jsonrpc":"2.0","id":2,"result":{}}', true, false],
  ['{"jsonrpc":"2.0","id":"1","error":{"code":1,"message":"m"}}', true, false],
  [' { "jsonrpc" : "2.0" , "id" : 1 , "error" : {"code":1,"message":"m"} } ', true, true],
  ['{"jsonrpc":"2.0","id":1,"method":"m"}', false, false],
  ['{"jsonrpc":"2.0","method":"m","params":{"result":1}}', false, false],
  ['{"jsonrpc":"2.0","x":{"method":1},"id":1,"result":{}}', true, true],
  ['{"jsonrpc":"2.0","x":[],"id":2,"result":{}}', true, false],
  ['{"jsonrpc"}', false, false],
  ['[1]', false, false],
  ['1', false, false],
]

for (const [text, isAny, isToOne] of cases) {
  test(`a message is an answer: ${text}`, () => {
    assert.deepEqual([isAnswer(toLine(text)), isAnswer(toLine(text), one)], [isAny, isToOne])
    for (let cut = 1; cut < text.length; cut++) {
      const long = new LongLine([Buffer.from(text.slice(0, cut))], toLine(text.slice(cut)), undefined)
      assert.deepEqual([isAnswer(long), isAnswer(long, one)], [isAny, isToOne], `cut at ${cut}`)
    }
  })
}
