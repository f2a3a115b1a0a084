// A stream with more to say than one turn should hear.

import { strict as assert } from 'node:assert'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { ReadThrottle } from '../../src/runtime/read-throttle.js'

const FULL = 64 * 1024

function stream(): { input: Readable; breath: ReadThrottle } {
  const input = new Readable({ read: () => undefined })
  input.on('data', () => undefined)
  return { input, breath: new ReadThrottle(input) }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('large messages are read for four reads of a turn, and then in the next', async () => {
  const { input, breath } = stream()
  for (let i = 0; i < 3; i++) breath.worked(FULL, 0)
  assert(!input.isPaused())
  breath.worked(FULL, 0)
  assert(input.isPaused())
  await turn()
  assert(!input.isPaused())
})

test('many small messages are as much work', () => {
  const { input, breath } = stream()
  breath.worked(FULL, 600)
  assert(input.isPaused())
})

test('a read that brings all there is begins anew', () => {
  const { input, breath } = stream()
  for (let i = 0; i < 10; i++) {
    breath.worked(FULL, 100)
    breath.worked(FULL - 1, 100)
  }
  assert(!input.isPaused())
})

test('a stream that is not to be read stays so', async () => {
  const { input, breath } = stream()
  breath.worked(FULL, 600)
  breath.want(false)
  await turn()
  assert(input.isPaused())
  breath.worked(FULL, 600)
  breath.want(true)
  assert(input.isPaused(), 'it is still taking breath')
  await turn()
  assert(!input.isPaused())
})
