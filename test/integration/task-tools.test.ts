// Tools that can only be called as tasks are not listed: tasks do not pass.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import type { RawClient } from './support/client.js'
import { at, listAt, numberAt, textAt } from './support/json.js'
import { libraryProxy } from './support/library.js'
import { itServer, nodeProgram } from './support/programs.js'

const tasks = nodeProgram('task-tools.mjs', {}, {})
const shown = ['grow', 'never', 'perhaps', 'odd']

async function toolsOf(client: RawClient): Promise<string[]> {
  const { value } = await client.request('tools/list')
  return listAt(value, 'result', 'tools').map((tool) => textAt(tool, 'name'))
}

async function answerOf(client: RawClient, name: string): Promise<string> {
  const [content] = listAt((await client.call(name)).value, 'result', 'content')
  return textAt(content, 'text')
}

test('a tool that must be called as a task is not listed, and who calls it is told why', async (t) => {
  const { attach, log } = await libraryProxy(t, { s: tasks })
  for (const { client } of [await attach(), await attach()]) {
    await client.open()
    assert.deepEqual(
      await toolsOf(client),
      shown.map((name) => `s__${name}`),
    )
    for (const name of ['s__always', 'always']) {
      const { value } = await client.call(name)
      assert.equal(numberAt(value, 'error', 'code'), -32601)
      const why = `Tool '${name}' can only be called as a task, and tasks do not pass this proxy`
      assert.equal(textAt(value, 'error', 'message'), why)
    }
    assert.equal(await answerOf(client, 's__perhaps'), 'perhaps')
    const { value } = await client.call('s__alway')
    assert.equal(at(value, 'error', 'data', 'nearest'), undefined, 'it is not proposed either')
  }
  const lines = log.filter(({ message }) => message.startsWith('not listed: '))
  assert.deepEqual(lines, [
    {
      level: 'info',
      service: 's',
      message: "not listed: 'always' can only be called as a task, and tasks do not pass this proxy",
    },
  ])
})

test('it is not listed either when it comes later, and is logged again', async (t) => {
  const { attach, log } = await libraryProxy(t, { s: tasks })
  const { client } = await attach()
  await client.open()
  await toolsOf(client)
  assert.equal(await answerOf(client, 's__grow'), 'grown')
  const isLogged = (): boolean => log.some(({ message }) => message.includes("'always', 'later'"))
  while (!isLogged()) await client.request('ping')
  assert.equal((await toolsOf(client)).length, shown.length)
})

test('it takes no name from a tool that can be called', async (t) => {
  const { attach } = await libraryProxy(t, { s: tasks, o: itServer({ IT_TOOLS: 'always' }) })
  const { client } = await attach()
  await client.open()
  assert((await toolsOf(client)).includes('o__always'))
  assert.equal(at((await client.call('always', { n: 'x' })).value, 'error'), undefined)
})
