import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { describe, test } from 'node:test'
import { FirstWords } from '../../src/cli/first-words.js'

const question = '{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{}}\n'
const initialize = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}\n'

const cases: readonly (readonly [title: string, words: string, starts: boolean])[] = [
  ['a handshake', initialize, true],
  ['the beginning of a handshake', initialize.slice(0, 20), true],
  ['the question what there is', question, false],
  ['that question twice', question + question, false],
  ['that question and a handshake', question + initialize, true],
  ['nothing', '', false],
]

async function all(input: PassThrough): Promise<string> {
  let text = ''
  input.on('data', (chunk: Buffer) => (text += chunk.toString()))
  if (!input.readableEnded) await new Promise((resolve) => input.once('end', resolve))
  return text
}

describe('servers are started before anybody reads', () => {
  for (const [title, words, starts] of cases)
    test(`${starts ? 'for' : 'but not for'} ${title}, which is left to the reader`, async () => {
      const input = new PassThrough()
      let calls = 0
      input.end(words)
      const first = new FirstWords(input, () => calls++)
      await first.here()
      first.stop()
      assert.equal(calls, starts ? 1 : 0)
      assert.equal(await all(input), words)
    })

  test('for what comes later too, until somebody reads', async () => {
    const [input, read] = [new PassThrough(), new PassThrough()]
    let calls = 0
    const [first, second] = [input, read].map((stream) => new FirstWords(stream, () => calls++))
    await Promise.all([first?.here(), second?.here()])
    second?.stop()
    input.end(initialize)
    read.end(initialize)
    assert.deepEqual(await Promise.all([later(input), all(read)]), [initialize, initialize])
    assert.equal(calls, 1)
  })
})

/** Read by somebody who comes when something is there. */
async function later(input: PassThrough): Promise<string> {
  await new Promise((resolve) => input.once('readable', resolve))
  return all(input)
}
