// A stream with more input than one turn may handle.

import { strict as assert } from 'node:assert'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { ReadThrottle } from '../../src/runtime/read-throttle.js'

function stream(): { input: Readable; throttle: ReadThrottle } {
  const input = new Readable({ read: () => undefined })
  input.on('data', () => undefined)
  return { input, throttle: new ReadThrottle(input) }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('large messages are read for four reads of a turn, and then in the next', async () => {
  const { input, throttle } = stream()
  for (let i = 0; i < 3; i++) throttle.worked(0)
  assert(!input.isPaused())
  throttle.worked(0)
  assert(input.isPaused())
  await turn()
  assert(!input.isPaused())
})

test('a stream that is not to be read stays so', async () => {
  const { input, throttle } = stream()
  throttle.worked(600)
  throttle.setReading(false)
  await turn()
  assert(input.isPaused())
  throttle.worked(600)
  throttle.setReading(true)
  assert(input.isPaused(), 'it is still the turn of others')
  await turn()
  assert(!input.isPaused())
})
