// Values that a recording chose anew.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import process from 'node:process'
import { fileOf, run } from './support.js'

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
  const { code, out } = await run(file, { rest: server(chosen) })
  assert.equal(code, 0, out)
})
