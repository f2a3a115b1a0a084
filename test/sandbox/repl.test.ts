// The streams of an interpreter, and what stays of calls that are over, of which a session may have any number.

import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { describe, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Deferred } from '../../src/runtime/deferred.js'
import { CallOutput } from '../../src/sandbox/call-output.js'
import { MarkedStream, Repl } from '../../src/sandbox/repl.js'
import { fakeDriver } from './support/fake-driver.js'

setFlagsFromString('--expose-gc')
const collect: unknown = runInNewContext('gc')

const newOutput = (): CallOutput => new CallOutput(100)

test('an interpreter remembers nothing of code that has ended', async () => {
  const driver = fakeDriver()
  const outputs: WeakRef<CallOutput>[] = []
  const remembered = (): CallOutput => {
    const made = newOutput()
    outputs.push(new WeakRef(made))
    return made
  }
  const repl = new Repl(driver, remembered, () => 'nonce')
  for (let index = 0; index < 50; index++) {
    const ended = repl.evaluate('1')
    driver.stderr.write('\0nonce\n')
    driver.stdout.write('\0nonce{"ok":true}\n')
    assert.equal((await ended).kind, 'done')
  }
  await new Promise((resolve) => setImmediate(resolve))
  assert(typeof collect === 'function')
  collect()
  const kept = outputs.filter((each) => each.deref() !== undefined).length
  assert(kept < 5, `of ${outputs.length} outputs ${kept} are kept`)
  assert.equal(repl.isOver, false)
})

test('an interpreter that has ended ends the code that runs, and code that comes later', async () => {
  const exit = { code: 3, signal: undefined }
  const ended = new Deferred<typeof exit>()
  const repl = new Repl(fakeDriver(ended.promise), newOutput, () => 'nonce')
  const running = repl.evaluate('1')
  ended.resolve(exit)
  assert.deepEqual(await running, { kind: 'gone', exit })
  assert.deepEqual(await repl.evaluate('1'), { kind: 'gone', exit })
})

/** The results for bytes in pieces of this size: the output before the mark, the line, and the output behind it. */
async function readAs(size: number, bytes: Buffer, nonce: string): Promise<string[]> {
  const source = new PassThrough()
  const outputs = ['', '']
  let at = 0
  const marked = new MarkedStream(source, (chunk) => (outputs[at] += chunk.toString('latin1')))
  const line = marked.until(nonce, () => (at = 1))
  for (let from = 0; from < bytes.length; from += size) source.write(bytes.subarray(from, from + size))
  const found = await line
  source.end()
  await new Promise((resolve) => source.once('end', resolve))
  return [outputs[0] ?? '', found, outputs[1] ?? '']
}

describe('a stream with marks', () => {
  const cases: readonly (readonly [string, string, readonly string[]])[] = [
    ['output, mark and line', 'hello\n\0abcd{"ok":true}\n', ['hello\n', '{"ok":true}', '']],
    ['a mark with an empty line', 'hello\0abcd\n', ['hello', '', '']],
    ['output behind the line', 'a\0abcd{}\nlater', ['a', '{}', 'later']],
    ['marks of others', '\0abce\0abc\0\0abcd{}\n', ['\0abce\0abc\0', '{}', '']],
    ['no output', '\0abcd{}\n', ['', '{}', '']],
  ]
  for (const [title, text, want] of cases)
    test(`with ${title}, in pieces of any size`, async () => {
      for (const size of [1, 2, 3, 7, 65_536])
        assert.deepEqual(await readAs(size, Buffer.from(text), 'abcd'), want, `size ${size}`)
    })

  test('ends a line that never ends', async () => {
    const [, line, rest] = await readAs(65_536, Buffer.from(`\0abcd${'x'.repeat(3_000_000)}`), 'abcd')
    assert.equal(line, '')
    assert((rest ?? '').length < 3_000_000)
  })

  test('gives what may have been a mark when the stream ends', async () => {
    const source = new PassThrough()
    let output = ''
    const marked = new MarkedStream(source, (chunk) => (output += chunk.toString()))
    void marked.until('abcd', () => {})
    source.end('end\0ab')
    await new Promise((resolve) => source.once('close', resolve))
    assert.equal(output, 'end\0ab')
  })
})
