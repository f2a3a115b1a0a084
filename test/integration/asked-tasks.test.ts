// A client of revision 2025-11-25 that could answer with tasks: no server learns it, and every question is an ordinary one.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { said } from './support/client.js'
import { listAt, numberAt } from './support/json.js'
import { libraryProxy } from './support/library.js'
import { itServer } from './support/programs.js'

const tasks = { list: {}, cancel: {}, requests: { elicitation: { create: {} } } }

test('a client that runs tasks is asked without, and about none', async (t) => {
  const { client } = await (await libraryProxy(t, { s: itServer() })).attach()
  const asked: string[] = []
  client.onRequest = (_method, _params, { text }) => {
    asked.push(text)
    return '{"action":"decline"}'
  }
  await client.open({ elicitation: {}, tasks }, '2025-11-25')
  const ask = async (method: string, params: object): Promise<unknown> =>
    said(await client.call('s__ask', { method, params }))

  const params = { message: 'n?', requestedSchema: { type: 'object', properties: {} }, task: { ttl: 1 } }
  assert.deepEqual(await ask('elicitation/create', params), { result: { action: 'decline' } })
  assert.equal(numberAt(await ask('tasks/get', { taskId: 'x' }), 'error', 'code'), -32601)
  assert.equal(asked.length, 1)
  assert(!asked[0]?.includes('"task"'))
  client.notify('notifications/tasks/status', { taskId: 'x', status: 'completed', ttl: null })
  const lines = listAt(said(await client.call('s__seen')), 'lines').map((line) =>
    Buffer.from(String(line), 'base64').toString(),
  )
  assert(lines.some((line) => line.includes('"initialize"')))
  for (const line of lines) assert.doesNotMatch(line, /"tasks"|tasks\/status/)
})
