// What a replay writes: the transcript with `--update`, and values that a recording chose anew.

import { strict as assert } from 'node:assert'
import { readFileSync } from 'node:fs'
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

test('--update writes what came, keeps placeholders that fit, and the transcript passes', async () => {
  const file = fileOf(
    '{"mcps":1}',
    ask(1),
    expect(1, { n: 1, at: '$number', gone: '$string', list: [{ a: 1, $rest: 'any' }] }),
    ask(2),
    expect(2, { $rest: 'any' }),
  )
  const command = server("{ at: 5, n: 2, text: '$5', list: [{ a: 2, b: 3 }] }")
  const { code, out } = await run(file, { rest: command, update: true })
  assert.equal(code, 0, out)
  assert.match(out, /updated .*: 1 message\n/)
  const lines = readFileSync(file, 'utf8').split('\n')
  const list = [{ a: 2, $rest: 'any' }]
  assert.equal(lines[2], expect(1, { at: '$number', n: 2, text: '$$5', list }))
  assert.equal(lines[4], expect(2, { $rest: 'any' }))
})

test('--update of what still fails has the exit code 1', async () => {
  const file = fileOf('{"mcps":1}', ask(1), expect(1, { pid: 0 }))
  const { code, out } = await run(file, { rest: server('{ pid: process.pid }'), update: true })
  assert.equal(code, 1, out)
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
  const { code, out } = await run(file, { rest: server(chosen) })
  assert.equal(code, 0, out)
})
