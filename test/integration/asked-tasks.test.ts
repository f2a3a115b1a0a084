// A client of revision 2025-11-25 that could answer with tasks: no server learns it, and every question is an ordinary one.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { at, listAt, numberAt, parsed, textAt } from './support/json.js'
import { libraryProxy } from './support/library.js'
import { type ServerEntry, nodeProgram } from './support/programs.js'

const tasks = { list: {}, cancel: {}, requests: { elicitation: { create: {} } } }
const schema = { type: 'object', properties: {} }

const cases: readonly [title: string, more: ServerEntry][] = [
  ['alone uses a process', {}],
  ['shares a process that may ask it', { isolation: 'shared' }],
]

for (const [title, more] of cases)
  test(`a client that runs tasks and ${title} is asked without, and about none`, async (t) => {
    const servers = { s: nodeProgram('asks-later.mjs', {}, more) }
    const { client } = await (await libraryProxy(t, servers)).attach()
    const asked: string[] = []
    client.onRequest = (_method, _params, { text }) => {
      asked.push(text)
      return '{"action":"decline"}'
    }
    await client.open({ elicitation: {}, tasks }, '2025-11-25')
    const call = async (name: string, given: object = {}): Promise<unknown> =>
      parsed(textAt((await client.call(name, given)).value, 'result', 'content', 0, 'text'))
    const ask = (method: string, params: object): Promise<unknown> => call('s__ask', { method, params })

    assert.equal(at(await call('s__told'), 'declared', 'tasks'), undefined)
    const params = { message: 'n?', requestedSchema: schema, task: { ttl: 1 } }
    assert.deepEqual(await ask('elicitation/create', params), { action: 'decline' })
    assert.equal(asked.length, 1)
    assert(!asked[0]?.includes('"task"'))
    assert.equal(numberAt(await ask('tasks/get', { taskId: 'x' }), 'error', 'code'), -32601)
    assert.equal(asked.length, 1)
    client.notify('notifications/tasks/status', { taskId: 'x', status: 'completed', ttl: null })
    assert.deepEqual(listAt(await call('s__told'), 'heard'), [])
  })
