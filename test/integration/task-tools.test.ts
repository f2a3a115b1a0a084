// Tools that can only be called as tasks are listed to clients that can have tasks, and to no others.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'

import { at, numberAt, textAt } from './support/json.js'
import { type Act, scripted, simple } from './support/scripted.js'
import type { Scope, Servers } from './support/spawned.js'

const shown = ['s__grow', 's__never', 's__perhaps', 's__odd']
const all = ['s__grow', 's__never', 's__perhaps', 's__always', 's__odd']
const WITH_TASKS = '2025-11-25'

const tool = (name: string, execution: object = {}): object => ({
  name,
  inputSchema: { type: 'object' },
  execution,
})
const says = (text: string): string => JSON.stringify({ content: [{ type: 'text', text }] })

/** A server whose tools can, must and must not be called as tasks; `grow` adds one more that must. */
function actOf(offered: object): Act {
  const tools = [
    tool('grow'),
    tool('never', { taskSupport: 'forbidden' }),
    tool('perhaps', { taskSupport: 'optional' }),
    tool('always', { taskSupport: 'required' }),
    tool('odd', { other: 'required' }),
  ]
  return (method, child, params) => {
    if (child.command === 'o')
      return method === 'tools/list' ? JSON.stringify({ tools: [tool('always')] }) : simple(method, child)
    switch (method) {
      case 'initialize': {
        const capabilities = { tools: { listChanged: true }, ...offered }
        const serverInfo = { name: 's', version: '1' }
        return JSON.stringify({ protocolVersion: at(params, 'protocolVersion'), capabilities, serverInfo })
      }
      case 'tools/list':
        return JSON.stringify({ tools })
      case 'tools/call':
        if (at(params, 'name') !== 'grow') return says(textAt(params, 'name'))
        tools.push(tool('later', { taskSupport: 'required' }))
        child.say('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}')
        return says('grown')
      default:
        return '{}'
    }
  }
}

const TASKS = { tasks: { requests: { tools: { call: {} } } } }

async function stage(t: Scope, servers: Servers = { s: {} }, offered: object = TASKS) {
  const it = await scripted(t, servers, actOf(offered))
  return {
    attach: async () => (await it.attach()).client,
    until: <T>(coming: Promise<T>) => it.runtime.until(coming),
  }
}

test('a tool that must be called as a task is not listed, and who calls it is told why', async (t) => {
  const { attach, until } = await stage(t)
  for (const client of [await attach(), await attach()]) {
    await until(client.open())
    assert.deepEqual(await until(client.toolNames()), shown)
    for (const name of ['s__always', 'always']) {
      const { value } = await until(client.call(name))
      assert.equal(numberAt(value, 'error', 'code'), -32601)
      const why = `Tool '${name}' can only be called as a task, and tasks need a session of revision 2025-11-25`
      assert.equal(textAt(value, 'error', 'message'), why)
    }
    assert.match((await until(client.call('s__perhaps'))).text, /"text":"perhaps"/)
    const { value } = await until(client.call('s__alway'))
    assert.equal(at(value, 'error', 'data', 'nearest'), undefined, 'it is not proposed either')
  }
})

test('clients of both kinds on one process see what each can call', async (t) => {
  const { attach, until } = await stage(t)
  const [before, after] = [await attach(), await attach()]
  await until(before.open())
  await until(after.open({}, WITH_TASKS))
  for (let round = 0; round < 2; round++) {
    assert.deepEqual(await until(before.toolNames()), shown)
    assert.deepEqual(await until(after.toolNames()), all)
  }
})

for (const [why, entry, offered] of [
  ["'s' is shared by clients that it may ask", { isolation: 'shared' }, TASKS],
  ["'s' does not offer tasks", {}, {}],
] as const)
  test(`it is listed to nobody where ${why}`, async (t) => {
    const { attach, until } = await stage(t, { s: entry }, offered)
    const client = await attach()
    await until(client.open({}, WITH_TASKS))
    assert.deepEqual(await until(client.toolNames()), shown)
    const { value } = await until(client.call('s__always'))
    const refusal = `Tool 's__always' can only be called as a task, and ${why}`
    assert.equal(textAt(value, 'error', 'message'), refusal)
  })

test('it takes no name from a tool that can be called', async (t) => {
  const { attach, until } = await stage(t, { s: {}, o: {} })
  const client = await attach()
  await until(client.open())
  assert((await until(client.toolNames())).includes('o__always'))
  assert.equal(at((await until(client.call('always'))).value, 'error'), undefined)
})
