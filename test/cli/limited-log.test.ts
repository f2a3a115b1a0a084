// Many lines of one kind become a few, and a count.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { LimitedLog } from '../../src/cli/server-event-log.js'
import type { LogRecord } from '../../src/runtime/runtime.js'

/** A log whose timers fire when the test says so. */
function limited() {
  const records: LogRecord[] = []
  const timers = new Set<() => void>()
  const log = new LimitedLog((record) => void records.push(record), {
    setTimer: (_delayMs, fire) => {
      timers.add(fire)
      return { cancel: () => void timers.delete(fire) }
    },
  })
  const pass = (): void => {
    for (const fire of timers) fire()
  }
  return { log, pass, timers, messages: () => records.splice(0).map(({ message }) => message) }
}

const line = (message: string): LogRecord => ({ level: 'warn', service: 'a', message })

test('five of a kind are logged within the time, and how many were left out when it is over', () => {
  const { log, pass, timers, messages } = limited()
  for (let at = 0; at < 8; at++) log.take('a timeout', line(`call ${at}`))
  log.take('b timeout', line('other'))
  assert.deepEqual(messages(), ['call 0', 'call 1', 'call 2', 'call 3', 'call 4', 'other'])
  pass()
  assert.deepEqual(messages(), ['left out: 3 more lines like "call 0"'])
  assert.equal(timers.size, 0)
  log.take('a timeout', line('again'))
  assert.deepEqual(messages(), ['again'])
})

test('what was left out is said at the end too', () => {
  const { log, timers, messages } = limited()
  for (let at = 0; at < 6; at++) log.take('k', line('m'))
  messages()
  log.close()
  assert.deepEqual(messages(), ['left out: 1 more line like "m"'])
  assert.equal(timers.size, 0)
})

test('kinds without end are one kind', () => {
  const { log, timers, messages } = limited()
  for (let at = 0; at < 1000; at++) log.take(`kind ${at}`, line('m'))
  assert.equal(timers.size, 201)
  assert.equal(messages().length, 205)
})
