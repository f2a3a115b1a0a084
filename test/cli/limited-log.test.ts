// Many similar lines are replaced by a few and a count.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { LimitedLog } from '../../src/cli/server-event-log.js'
import type { LogRecord } from '../../src/runtime/runtime.js'

function limited() {
  const records: LogRecord[] = []
  let time = 0
  const log = new LimitedLog((record) => void records.push(record), { now: () => time })
  const pass = (): void => {
    time += 60_000
  }
  return { log, pass, messages: () => records.splice(0).map(({ message }) => message) }
}

const line = (message: string): LogRecord => ({ level: 'warn', service: 'a', message })

test('five of a kind are logged within the time, and how many were left out with the first line after it', () => {
  const { log, pass, messages } = limited()
  for (let at = 0; at < 8; at++) log.take('a timeout', line(`call ${at}`))
  log.take('b timeout', line('other'))
  assert.deepEqual(messages(), ['call 0', 'call 1', 'call 2', 'call 3', 'call 4', 'other'])
  pass()
  log.take('a timeout', line('again'))
  assert.deepEqual(messages(), ['left out: 3 more lines like "call 0"', 'again'])
})

test('kinds without end are one kind', () => {
  const { log, messages } = limited()
  for (let at = 0; at < 1000; at++) log.take(`kind ${at}`, line('m'))
  assert.equal(messages().length, 205)
})
