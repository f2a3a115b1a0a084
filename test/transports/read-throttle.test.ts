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

const fullRead = Buffer.alloc(64 * 1024)

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('four full reads of a turn are handled, and more in the next', async () => {
  const { input, throttle } = stream()
  for (let i = 0; i < 3; i++) throttle.onRead(fullRead)
  // A read that does not fill the buffer ends the turn by itself.
  for (let i = 0; i < 100; i++) throttle.onRead(Buffer.alloc(1024))
  assert(!input.isPaused())
  throttle.onRead(fullRead)
  assert(input.isPaused())
  await turn()
  assert(!input.isPaused())
})

test('small messages count as work', () => {
  const { input, throttle } = stream()
  throttle.onRead(fullRead, 383)
  assert(!input.isPaused())
  throttle.onRead(Buffer.alloc(16 * 1024), 600)
  assert(input.isPaused())
})

test('a stream that is not to be read stays so', async () => {
  const { input, throttle } = stream()
  for (let i = 0; i < 4; i++) throttle.onRead(fullRead)
  throttle.setReading(false)
  await turn()
  assert(input.isPaused())
  for (let i = 0; i < 4; i++) throttle.onRead(fullRead)
  throttle.setReading(true)
  assert(input.isPaused(), 'it is still the turn of others')
  await turn()
  assert(!input.isPaused())
})
