// How fast output of a machine is read, in time that stands until it is moved.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import {
  BURST_BYTES,
  BYTES_A_SECOND,
  OutputRate,
} from '../../src/sandbox/runtimes/bubblewrap/machine-program.js'

const PART_BYTES = 64 * 1024

test('output passes at once up to the burst, and then at the rate, which all streams of a machine share', async () => {
  let nowMs = 0
  let timers: { readonly dueMs: number; readonly fire: () => void }[] = []
  const rate = new OutputRate({
    now: () => nowMs,
    setTimer: (delayMs, fire) => {
      timers.push({ dueMs: nowMs + delayMs, fire })
      return { cancel: () => undefined }
    },
  })
  let read = 0
  const streams = [rate.stream(), rate.stream()]
  for (const stream of streams) stream.on('data', (chunk: Buffer) => (read += chunk.length))
  /** Both programs write until they have to wait. */
  const flood = async (): Promise<void> => {
    for (let before = -1; before < read;) {
      before = read
      for (const stream of streams) if (!stream.writableNeedDrain) stream.write(Buffer.alloc(PART_BYTES))
      await turn()
    }
  }
  await flood()
  const burst = read
  assert(burst > 0.8 * BURST_BYTES && burst <= BURST_BYTES, `${burst} bytes`)
  for (; nowMs < 1000; nowMs++) {
    const due = timers.filter(({ dueMs }) => dueMs <= nowMs)
    timers = timers.filter(({ dueMs }) => dueMs > nowMs)
    for (const { fire } of due) fire()
    await flood()
  }
  const flooded = read - burst
  assert(flooded > 0.5 * BYTES_A_SECOND && flooded <= 1.1 * BYTES_A_SECOND, `${flooded} bytes in a second`)
})
