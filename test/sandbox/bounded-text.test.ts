import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { BoundedText } from '../../src/sandbox/call-output.js'

function pushed(bytesMax: number, ...chunks: readonly (string | Buffer)[]): BoundedText {
  const text = new BoundedText(bytesMax)
  for (const chunk of chunks) text.push(Buffer.from(chunk))
  return text
}

describe('output of which the beginning and the end are kept', () => {
  test('is whole up to its limit, however it comes', () => {
    for (const chunks of [['abcdefgh'], ['abc', 'defgh'], ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']]) {
      const text = pushed(8, ...chunks)
      assert.deepEqual([text.text(), text.isCut, text.bytes], ['abcdefgh', false, 8])
    }
  })

  test('one byte beyond its limit says how much is missing', () => {
    const text = pushed(8, 'abc', 'def', 'ghi')
    assert.equal(text.isCut, true)
    assert.equal(text.text(), 'abcd\n[... 1 bytes are left out here ...]\nfghi')
  })

  // A4, A7: a slice of a read keeps the whole read, so that a program that writes single bytes held a read for each.
  test('holds none of the reads that it was given', async () => {
    setFlagsFromString('--expose-gc')
    const collect: unknown = runInNewContext('gc')
    const text = new BoundedText(1024)
    const reads: WeakRef<ArrayBufferLike>[] = []
    for (let at = 0; at < 100; at++) {
      const read = Buffer.alloc(65_536, 'y')
      reads.push(new WeakRef(read.buffer))
      text.push(read.subarray(0, 1))
    }
    await new Promise((resolve) => setImmediate(resolve))
    assert(typeof collect === 'function')
    collect()
    const held = reads.filter((each) => each.deref() !== undefined).length
    assert(held < 5, `${held} of ${reads.length} reads are held`)
    assert.equal(text.text(), 'y'.repeat(100))
  })

  test('cuts no character in two', () => {
    for (let shift = 0; shift < 4; shift++) {
      const text = pushed(16, 'x'.repeat(shift), '\u{1f600}'.repeat(20)).text()
      assert.doesNotMatch(text, /\ufffd/)
    }
  })
})
