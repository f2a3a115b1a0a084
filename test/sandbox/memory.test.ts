// A session may have any number of calls: of one that is over nothing stays.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Deferred } from '../../src/runtime/deferred.js'
import { CallOutput } from '../../src/sandbox/call-output.js'
import { Repl } from '../../src/sandbox/repl.js'
import { fakeDriver } from './support/fake-driver.js'

setFlagsFromString('--expose-gc')
const collect: unknown = runInNewContext('gc')

const newOutput = (): CallOutput => new CallOutput(100)

describe('an interpreter', () => {
  test('remembers nothing of code that has ended', async () => {
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

  test('that has ended ends the code that runs, and code that comes later', async () => {
    const exit = { code: 3, signal: undefined }
    const ended = new Deferred<typeof exit>()
    const repl = new Repl(fakeDriver(ended.promise), newOutput, () => 'nonce')
    const running = repl.evaluate('1')
    ended.resolve(exit)
    assert.deepEqual(await running, { kind: 'gone', exit })
    assert.deepEqual(await repl.evaluate('1'), { kind: 'gone', exit })
  })
})
