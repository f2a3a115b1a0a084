import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { FrameError } from '../../src/jsonrpc/jsonrpc-errors.js'
import type { LogRecord } from '../../src/runtime/runtime.js'
import { Redactor } from '../../src/text/redactor.js'
import { Noise } from '../../src/upstream/server/noise.js'

const secret = 'sk-live-Q7ZpQ7ZpQ7Zp'

const limits = { linesMax: 5, bytesMax: 1e6 }

function listener() {
  const log: LogRecord[] = []
  const ends: string[] = []
  const clock = { now: 10 }
  const runtime = { now: () => clock.now }
  const tooMuch = (what: string): void => void ends.push(what)
  const redactor = new Redactor([secret])
  const sink = (record: LogRecord): void => void log.push(record)
  const context = { service: 's', redactor, runtime, log: sink }
  const noise = new Noise(context, limits, tooMuch)
  const hear = (): void => noise.message()
  return { noise, hear, log, ends, clock }
}

const error = new FrameError('FRAME_SYNTAX', 'no JSON', 0)
const line = Buffer.from('Loading')

describe('lines that are no messages', () => {
  test('are too much when so many come in a row, and only then', () => {
    const { noise, hear, ends } = listener()
    for (let i = 0; i < 4; i++) noise.line(line, error)
    hear()
    for (let i = 0; i < 3; i++) noise.line(line, error)
    noise.request('roots/list')
    assert.deepEqual(ends, [])
    noise.line(line, error)
    assert.deepEqual(ends, ['wrote 5 lines in a row that are no messages'])
    noise.line(line, error)
    assert.equal(ends.length, 1, 'it is said once')
  })

  test('are told at once, and then once a second with their number', () => {
    const { noise, log, clock } = listener()
    for (let i = 0; i < 3; i++) noise.line(line, error)
    assert.equal(log.length, 1)
    assert.match(log[0]?.message ?? '', /no JSON-RPC message: Loading/)
    clock.now += 1000
    noise.request('roots/list')
    const found = log.map(({ details }) => details?.['lines'])
    assert.deepEqual(found, [1, 3])
  })

  test('are too much when they are very long', () => {
    const { noise, hear, ends } = listener()
    const long = Buffer.alloc(600_000, 'x')
    hear()
    noise.line(long, error)
    hear()
    noise.line(long, error)
    assert.deepEqual(ends, [])
    noise.line(long, error)
    assert.deepEqual(ends, ['wrote 1200000 bytes in a row that are no messages'])
  })
})

test('messages over the limit are dropped, however many, and logged once a second', () => {
  const { noise, log, ends, clock } = listener()
  for (let i = 0; i < 100; i++) {
    noise.oversize(undefined, 1e9)
    clock.now += 100
  }
  assert.deepEqual(ends, [])
  assert.equal(log.length, 10)
})
