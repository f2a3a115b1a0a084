// Tools that can only be called as tasks are listed to clients that can have tasks, and to no others.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import type { RawClient } from './support/client.js'
import { at, listAt, numberAt, textAt } from './support/json.js'
import { libraryProxy } from './support/library.js'
import { itServer, nodeProgram } from './support/programs.js'

const tasks = nodeProgram('task-tools.mjs', {}, {})
const shown = ['grow', 'never', 'perhaps', 'odd']
const all = ['grow', 'never', 'perhaps', 'always', 'odd']
const WITH_TASKS = '2025-11-25'

async function answerOf(client: RawClient, name: string): Promise<string> {
  const [content] = listAt((await client.call(name)).value, 'result', 'content')
  return textAt(content, 'text')
}

test('a tool that must be called as a task is not listed, and who calls it is told why', async (t) => {
  const { attach } = await libraryProxy(t, { s: tasks })
  for (const { client } of [await attach(), await attach()]) {
    await client.open()
    assert.deepEqual(
      await client.toolNames(),
      shown.map((name) => `s__${name}`),
    )
    for (const name of ['s__always', 'always']) {
      const { value } = await client.call(name)
      assert.equal(numberAt(value, 'error', 'code'), -32601)
      const why = `Tool '${name}' can only be called as a task, and tasks need a session of revision 2025-11-25`
      assert.equal(textAt(value, 'error', 'message'), why)
    }
    assert.equal(await answerOf(client, 's__perhaps'), 'perhaps')
    const { value } = await client.call('s__alway')
    assert.equal(at(value, 'error', 'data', 'nearest'), undefined, 'it is not proposed either')
  }
})

test('clients of both kinds on one process see what each can call', async (t) => {
  const { attach } = await libraryProxy(t, { s: tasks })
  const [{ client: before }, { client: after }] = [await attach(), await attach()]
  await before.open()
  await after.open({}, WITH_TASKS)
  for (let round = 0; round < 2; round++) {
    assert.deepEqual(
      await before.toolNames(),
      shown.map((name) => `s__${name}`),
    )
    assert.deepEqual(
      await after.toolNames(),
      all.map((name) => `s__${name}`),
    )
  }
})

for (const [why, entry] of [
  ["'s' is shared by clients that it may ask", { ...tasks, isolation: 'shared' }],
  ["'s' does not offer tasks", nodeProgram('task-tools.mjs', { WITHOUT: 'tasks' }, {})],
] as const)
  test(`it is listed to nobody where ${why}`, async (t) => {
    const { attach } = await libraryProxy(t, { s: entry })
    const { client } = await attach()
    await client.open({}, WITH_TASKS)
    assert.deepEqual(
      await client.toolNames(),
      shown.map((name) => `s__${name}`),
    )
    const { value } = await client.call('s__always')
    assert.equal(
      textAt(value, 'error', 'message'),
      `Tool 's__always' can only be called as a task, and ${why}`,
    )
  })

test('a client that has called before it opened a session keeps what it was told', async (t) => {
  const { attach } = await libraryProxy(t, { s: tasks })
  const { client } = await attach()
  assert.equal((await client.toolNames()).length, shown.length)
  assert.equal(at(await client.open({}, WITH_TASKS), 'capabilities', 'tasks'), undefined)
  assert.equal((await client.toolNames()).length, shown.length)
})

test('it is not listed either when it comes later', async (t) => {
  const { attach } = await libraryProxy(t, { s: tasks })
  const { client } = await attach()
  await client.open()
  await client.toolNames()
  assert.equal(await answerOf(client, 's__grow'), 'grown')
  const refusal = async (): Promise<string> =>
    textAt((await client.call('s__later')).value, 'error', 'message')
  while (!(await refusal()).includes('as a task')) await client.request('ping')
  assert.equal((await client.toolNames()).length, shown.length)
})

test('it takes no name from a tool that can be called', async (t) => {
  const { attach } = await libraryProxy(t, { s: tasks, o: itServer({ IT_TOOLS: 'always' }) })
  const { client } = await attach()
  await client.open()
  assert((await client.toolNames()).includes('o__always'))
  assert.equal(at((await client.call('always', { n: 'x' })).value, 'error'), undefined)
})
