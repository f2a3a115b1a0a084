// A session may have any number of calls: of one that is over nothing stays.

import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { describe, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { CallOutput } from '../../src/sandbox/call-output.js'
import { Repl } from '../../src/sandbox/repl.js'

setFlagsFromString('--expose-gc')
const collect: unknown = runInNewContext('gc')

const newOutput = (): CallOutput => new CallOutput(100)

describe('an interpreter', () => {
  test('remembers nothing of code that has ended', async () => {
    const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
    const outputs: WeakRef<CallOutput>[] = []
    const repl = new Repl(
      { stdin, stdout, stderr, exited: new Promise(() => {}), interrupt: () => {}, kill: () => {} },
      () => {
        const made = newOutput()
        outputs.push(new WeakRef(made))
        return made
      },
      () => 'nonce',
    )
    for (let index = 0; index < 50; index++) {
      const ended = repl.evaluate('1')
      stderr.write('\0nonce\n')
      stdout.write('\0nonce{"ok":true}\n')
      assert.equal((await ended).kind, 'done')
    }
    await new Promise((resolve) => setImmediate(resolve))
    assert(typeof collect === 'function')
    collect()
    const kept = outputs.filter((each) => each.deref() !== undefined).length
    assert(kept < 5, `of ${outputs.length} outputs ${kept} are kept`)
    assert.equal(repl.isOver, false)
  })

  test('that has ended ends the code that runs, and code that comes later', async () => {
    const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
    const exit = { code: 3, signal: undefined }
    const input = new PassThrough()
    const exited = new Promise<typeof exit>((resolve) => input.once('data', () => resolve(exit)))
    const driver = { stdin, stdout, stderr, exited, interrupt: () => {}, kill: () => {} }
    const repl = new Repl(driver, newOutput, () => 'nonce')
    const running = repl.evaluate('1')
    input.write('end')
    assert.deepEqual(await running, { kind: 'gone', exit })
    assert.deepEqual(await repl.evaluate('1'), { kind: 'gone', exit })
  })
})
