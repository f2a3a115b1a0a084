import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { LimitedLog, ServerEventLog } from '../../src/cli/server-event-log.js'
import { callEvent } from '../proxy/support/call-event.js'
import { Emitter } from '../../src/events/emitter.js'
import type { CallEvent, ProxyEvents } from '../../src/events/proxy-events.js'
import { Logger } from '../../src/log/log.js'
import type { LogLevel, LogRecord } from '../../src/runtime/runtime.js'

/** The lines of a log at this level, as level and message. */
function eventLogAt(level: LogLevel): { eventLog: ServerEventLog; lines: () => string[] } {
  let written = ''
  const stream = {
    writableLength: 0,
    write: (text: string): boolean => {
      written += text
      return true
    },
  }
  const logger = new Logger({ level, console: { stream, format: 'json' } })
  const lines = (): string[] =>
    written
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line))
      .map(({ level: said, message }) => `${said} ${message}`)
  return { eventLog: new ServerEventLog(logger, { now: () => 0 }), lines }
}

const answered = callEvent()
const failed = callEvent({ outcome: 'error', code: -32000, message: 'no' })

function emit(eventLog: ServerEventLog, events: readonly CallEvent[]): void {
  const source = new Emitter<ProxyEvents>(() => assert.fail('a listener failed'))
  source.add(eventLog.listeners)
  eventLog.watchCalls(source)
  for (const event of events) {
    source.emit('call', event)
    if (event.outcome === 'error') source.emit('failure', event)
  }
}

test('a verbose log has each call once, also one that failed, however many fail', () => {
  const { eventLog, lines } = eventLogAt('debug')
  emit(eventLog, [answered, ...Array.from({ length: 7 }, () => failed)])
  const failure = "warn tools/call 'a' error after 7 ms: no"
  assert.deepEqual(lines(), [
    "debug tools/call 'a' answered after 7 ms",
    ...Array.from({ length: 7 }, () => failure),
  ])
})

const failedStart = {
  state: 'failed',
  schema: 'default',
  server: 's',
  kind: 'stdio',
  pid: 1,
  client: undefined,
  ms: 5,
  reason: 'closed',
  message: 'it has ended',
} as const

test('a server that can never start writes nothing more after its first failed starts', () => {
  const { eventLog, lines } = eventLogAt('info')
  const source = new Emitter<ProxyEvents>(() => assert.fail('a listener failed'))
  source.add(eventLog.listeners)
  for (let count = 0; count < 100; count++) {
    source.emit('server', { ...failedStart, state: 'starting' })
    source.emit('server', failedStart)
    eventLog.sink({ level: 'error', service: 's', message: 'it has ended' })
  }
  const some = lines()
  assert.deepEqual(some.slice(0, 2), ['info starting', 'error it has ended'])
  assert.equal(some.length, 2 * 9 + 1 + 1)
  assert.match(some.at(-1) ?? '', /^error 10 starts in a row have failed.*: it has ended$/)
})

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
