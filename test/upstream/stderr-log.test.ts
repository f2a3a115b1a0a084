// A stack trace of a server is logged once, whichever of its processes says it.

import { strict as assert } from 'node:assert'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { Redactor } from '../../src/text/redactor.js'
import { StackTraces } from '../../src/upstream/process/stack-traces.js'
import { StderrLog } from '../../src/upstream/process/stderr-log.js'

/** What is logged of each of several processes that say these. */
async function logged(...processes: readonly string[]): Promise<string[][]> {
  const traces = new StackTraces()
  const all: string[][] = []
  for (const said of processes) {
    const lines: string[] = []
    const stream = new PassThrough()
    new StderrLog({
      service: 's',
      discretion: new Redactor([]),
      runtime: { now: () => 0 },
      log: ({ message }) => void lines.push(message),
      limits: { lineBytesMax: 1000, linesPerSecondMax: 100 },
      traces,
    }).drain(stream)
    stream.end(said)
    await new Promise((resolve) => stream.once('close', resolve))
    all.push(lines)
  }
  return all
}

const node = (message: string): string =>
  `Error: ${message}\n    at one (a.js:1:2)\n    at two (b.js:3:4) {\n  code: 'X'\n}\n`
const python = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    g()\nKeyError: 1\n'

test('the frames are left out the second time, and counted; the message is not', async () => {
  assert.deepEqual(await logged(node('first'), node('second')), [
    ['Error: first', '    at one (a.js:1:2)', '    at two (b.js:3:4) {', "  code: 'X'", '}'],
    ['Error: second', '(3 lines of a stack trace that was logged before)', '}'],
  ])
})

test('another trace is logged, but for what both have', async () => {
  const other = 'Error: other\n    at two (b.js:3:4) {\n    at three (c.js:5:6)\n'
  assert.deepEqual((await logged(node('first'), other))[1], [
    'Error: other',
    '(1 line of a stack trace that was logged before)',
    '    at three (c.js:5:6)',
  ])
})

test('those of Python too', async () => {
  assert.deepEqual((await logged(python, python))[1], [
    'Traceback (most recent call last):',
    '(2 lines of a stack trace that was logged before)',
    'KeyError: 1',
  ])
})

test('what is no trace is logged each time, indented or not', async () => {
  const said = 'ready\n  on port 1\n'
  const [first, second] = await logged(said, said)
  assert.deepEqual(first, ['ready', '  on port 1'])
  assert.deepEqual(second, first)
})

test('no more than so many lines are remembered', async () => {
  const many = Array.from({ length: 1001 }, (_, at) => `    at f (a.js:${at})`)
  const traces = new StackTraces()
  for (const line of many) assert.equal(traces.isKnown(line), false)
  assert.equal(traces.isKnown(many[1000] ?? ''), true)
  assert.equal(traces.isKnown(many[0] ?? ''), false, 'the oldest has made room')
})
