// What a replay writes: the transcript with `--update`, JUnit XML with `--junit`, and values that a recording chose anew.

import { strict as assert } from 'node:assert'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import process from 'node:process'
import { fileOf, folder, run } from './support.js'

/** A server that answers each request with this expression of `m`, the request. */
const server = (result: string): readonly string[] => [
  process.execPath,
  '-e',
  `require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const m = JSON.parse(line)
    console.log(JSON.stringify({ jsonrpc: '2.0', id: m.id, result: ${result} }))
  })`,
]

const ask = (id: number, params: object = {}): string =>
  JSON.stringify({ dir: 'in', frame: { jsonrpc: '2.0', id, method: 'tools/call', params } })
const expect = (id: number, result: object): string =>
  JSON.stringify({ dir: 'out', frame: { jsonrpc: '2.0', id, result } })

test('--update writes what came, and the transcript passes from then on', async () => {
  const file = fileOf('{"mcps":1}', ask(1), expect(1, { n: 1 }), ask(2), expect(2, { n: 2 }))
  const command = server('{ n: 2 }')
  const { code, out } = await run(file, { command, updates: true })
  assert.equal(code, 1)
  assert.match(out, /updated .*: 1 message\n/)
  assert.equal(readFileSync(file, 'utf8').split('\n')[2], expect(1, { n: 2 }))
  assert.equal((await run(file, { command })).code, 0)
})

test('--junit names what passed and what differs', async () => {
  const passes = fileOf('{"mcps":1}', ask(1), expect(1, { n: 2 }))
  const fails = fileOf('{"mcps":1}', ask(1), expect(1, { n: 3 }))
  const junit = join(folder, 'results.xml')
  await run([passes, fails], { command: server('{ n: 2 }'), junit })
  const xml = readFileSync(junit, 'utf8')
  assert.match(xml, /<testsuite name="mcps-proxy replay" tests="2" failures="1" skipped="0">/)
  assert.match(xml, /<testcase [^>]*\/>\n {2}<testcase [^>]*><failure>FAIL .*differs/s)
})

test('states of questions and ids of tasks are chosen anew by each server, and sent back as they came', async () => {
  const header = '{"mcps":1,"recorded":true,"command":"x"}'
  const file = fileOf(
    header,
    ask(1),
    expect(1, { requestState: 'state-of-then', task: { taskId: 'task-of-then' } }),
    ask(2, { requestState: 'state-of-then', taskId: 'task-of-then' }),
    expect(2, { requestState: 'state-of-then', task: { taskId: 'task-of-then' } }),
  )
  const chosen =
    "{ requestState: m.params.requestState ?? 'state-of-now', task: { taskId: m.params.taskId ?? 'task-of-now' } }"
  const { code, out } = await run(file, { command: server(chosen) })
  assert.equal(code, 0, out)
})
