// The extension Tasks of 2026-07-28: each task belongs to the principal that began it, and leads to the server that has it.

import { strict as assert } from 'node:assert'
import { before, describe, test } from 'node:test'
import { limits } from '../../src/index.js'
import type { Heard, RawClient } from './support/client.js'
import { at, errorOf, textAt } from './support/json.js'
import { libraryProxy } from './support/library.js'
import { type ServerEntry, nodeProgram } from './support/programs.js'
import { suiteScope } from '../support/scope.js'
import type { Scope, Servers } from './support/spawned.js'
import { claim, metaKey } from './support/claim.js'

const TASKS = 'io.modelcontextprotocol/tasks'
const declares = { extensions: { [TASKS]: {} } }

const server = (env: Readonly<Record<string, string>> = {}, more: ServerEntry = {}): ServerEntry =>
  nodeProgram('durable-tasks.mjs', env, more)

interface Less {
  readonly tasksMax?: number
  readonly statelessMax?: number
}

/** Attaches clients with different principals. */
async function clientsOf(scope: Scope, servers: Servers, less: Less = {}): Promise<() => Promise<RawClient>> {
  const { session, stateless } = limits
  const own = {
    limits: { ...limits, session: { ...session, ...less }, stateless: { ...stateless, ...less } },
  }
  const { attach } = await libraryProxy(scope, servers, own)
  return async () => (await attach()).client
}

const scope = suiteScope()
let attach: () => Promise<RawClient>
before(async () => {
  attach = await clientsOf(scope, {
    a: server({ TASKS: 'a' }),
    b: server({ TASKS: 'b' }),
    mortal: server({ TASKS: 'm' }, { restartDelay: 10 }),
    one: server({ TASKS: 'one' }, { restartDelay: 10, concurrency: 1 }),
    without: server({ WITHOUT: 'tasks' }),
  })
})

const ask = (
  c: RawClient,
  method: string,
  params: object = {},
  capabilities: object = declares,
): Promise<Heard> => c.request(method, { ...params, _meta: claim(capabilities) })

const call = (
  c: RawClient,
  name: string,
  args: object = {},
  capabilities: object = declares,
): Promise<Heard> => ask(c, 'tools/call', { name, arguments: args }, capabilities)

async function begun(c: RawClient, name: string, args: object = {}): Promise<string> {
  const { value } = await call(c, name, args)
  assert.equal(textAt(value, 'result', 'resultType'), 'task')
  return textAt(value, 'result', 'taskId')
}

const about = (c: RawClient, what: string, taskId: string, more: object = {}): Promise<Heard> =>
  ask(c, `tasks/${what}`, { taskId, ...more })

const statusOf = async (c: RawClient, id: string): Promise<string> =>
  textAt((await about(c, 'get', id)).value, 'result', 'status')

const notFound = (id: string): [number, string] => [-32602, `Task '${id}' not found`]

const extensionsOf = async (c: RawClient): Promise<unknown> =>
  at((await ask(c, 'server/discover')).value, 'result', 'capabilities', 'extensions')

describe('a task', () => {
  test('outlasts what is known of its client by what that can be asked', async (t) => {
    const c = await (await clientsOf(t, { s: server() }, { statelessMax: 1 }))()
    const id = await begun(c, 's__work')
    await call(c, 's__work', {}, { ...declares, elicitation: {} })
    assert.equal(await statusOf(c, id), 'working')
  })

  test('is not lost with a process: its server says what it knows of it', async () => {
    const c = await attach()
    const id = await begun(c, 'mortal__work')
    await call(c, 'mortal__die')
    assert.deepEqual(errorOf(await about(c, 'get', id)), [-32602, `no task ${id} here`])
  })

  test('takes no slot for good when its server ends at the question about it', async () => {
    const c = await attach()
    await begun(c, 'one__work', { id: 'doom' })
    assert.match(JSON.stringify((await about(c, 'get', 'doom')).value), /"error"/)
    assert.equal(textAt((await call(c, 'one__work')).value, 'result', 'resultType'), 'task')
  })
})

describe('the extension', () => {
  for (const [title, servers] of [
    ['no server has it', { s: server({ WITHOUT: 'tasks' }) }],
    ['a server has tasks of its session', { s: nodeProgram('task-server.mjs') }],
  ] as const)
    test(`is not declared where ${title}`, async (t) => {
      const c = await (await clientsOf(t, servers))()
      await ask(c, 'tools/list')
      assert.equal(await extensionsOf(c), undefined)
      assert.deepEqual(errorOf(await about(c, 'get', 'x')), notFound('x'))
    })

  test('reaches a server that has it, and no other', async () => {
    const c = await attach()
    assert.equal(textAt((await call(c, 'a__work')).value, 'result', 'resultType'), 'task')
    const { value } = await call(c, 'without__work')
    assert.equal(textAt(value, 'result', 'content', 0, 'text'), 'at once')
  })

  for (const [title, name] of [
    ['of a server that has not declared it', 'without__forged'],
    ['without an id', 'a__odd'],
  ] as const)
    test(`a task ${title} is an invalid answer`, async () => {
      const [code, message] = errorOf(await call(await attach(), name))
      assert.equal(code, -32603)
      assert.match(message, /^'(?:without|a)' has given a result of a type/)
    })

  test('a client of a session has nothing of it', async () => {
    const c = await attach()
    assert.equal(at(await c.open(declares, '2025-11-25'), 'capabilities', 'extensions'), undefined)
    assert.equal(textAt((await c.call('a__work')).value, 'result', 'content', 0, 'text'), 'at once')
    assert.match(errorOf(await c.call('a__forged'))[1], /^'a' has given a result of the type 'task'/)
  })
})

test('tasks of a principal are nothing to another one', async () => {
  const [owner, other] = [await attach(), await attach()]
  const id = await begun(owner, 'a__work')
  for (const what of ['get', 'update', 'cancel'])
    assert.deepEqual(errorOf(await about(other, what, id)), notFound(id))
  assert.deepEqual(errorOf(await about(other, 'get', 'before')), notFound('before'))
  assert.match(
    errorOf(await call(other, 'a__work', { id }))[1],
    /which is the id of a task of 'a' that is not/,
  )
  assert.equal(await statusOf(owner, id), 'working')
  const heard = await ask(other, 'subscriptions/listen', { notifications: { taskIds: [id] } })
  assert.equal(textAt(heard.value, 'result', 'resultType'), 'complete', 'there is nothing to hear')
})

test('tasks of a principal have a limit: one that is over makes room, or the longest unasked', async (t) => {
  const servers = { a: server({ TASKS: 'a' }), b: server({ TASKS: 'b' }) }
  const c = await (await clientsOf(t, servers, { tasksMax: 2 }))()
  await begun(c, 'a__work')
  await begun(c, 'b__work')
  assert.equal(await statusOf(c, 'a1'), 'working')
  await begun(c, 'a__work')
  assert.deepEqual(errorOf(await about(c, 'get', 'b1')), notFound('b1'))
  await about(c, 'cancel', 'a2')
  await begun(c, 'b__work')
  assert.deepEqual([await statusOf(c, 'a1'), await statusOf(c, 'b2')], ['working', 'working'])
})

const listen = (c: RawClient, id: string, taskIds: string[]): void =>
  c.post('subscriptions/listen', { notifications: { taskIds }, _meta: claim(declares) }, id)
const acknowledged = (c: RawClient, id: string): Promise<Heard> =>
  c.notification(
    'notifications/subscriptions/acknowledged',
    (params) => at(params, '_meta', metaKey('subscriptionId')) === id,
  )

const told = (one: RawClient): unknown[] =>
  one.heard.filter(({ value }) => at(value, 'method') === 'notifications/tasks')

test('a listener for tasks is told which of them it hears of, and then of each state', async () => {
  const [c, other] = [await attach(), await attach()]
  const [first, second, third] = [
    await begun(c, 'a__work'),
    await begun(c, 'b__work'),
    await begun(c, 'b__work'),
  ]
  const theirs = await begun(other, 'b__work')
  listen(c, 'all', [first, second, theirs, 'never'])
  listen(other, 'own', [theirs])
  const heard = await acknowledged(c, 'all')
  assert.deepEqual(at(heard.value, 'params', 'notifications'), { taskIds: [first, second] })
  await acknowledged(other, 'own')
  await call(c, 'a__finish', { id: first })
  for (const id of [second, third, theirs]) await call(c, 'b__finish', { id })
  for (const id of [first, second]) {
    const told = await c.notification('notifications/tasks', (params) => at(params, 'taskId') === id)
    assert.equal(at(told.value, 'params', '_meta', metaKey('subscriptionId')), 'all')
    assert.equal(textAt(told.value, 'params', 'result', 'content', 0, 'text'), `done ${id}`)
    assert.match(told.text, /"x-odd":"1.0"/)
  }
  await other.notification('notifications/tasks', (params) => at(params, 'taskId') === theirs)
  assert.deepEqual([told(c).length, told(other).length], [2, 1])
})

test('a listener for tasks hears of those that a server still has after it was started anew', async () => {
  const c = await attach()
  // The client listens once the server has started, since `listen` does not wait for a start.
  await begun(c, 'mortal__work', { id: 'before' })
  listen(c, 'old', ['before'])
  await acknowledged(c, 'old')
  await call(c, 'mortal__die')
  for (let heard = 0; heard === 0;) {
    await call(c, 'mortal__finish', { id: 'before' })
    heard = c.count((value) => at(value, 'method') === 'notifications/tasks')
  }
})
