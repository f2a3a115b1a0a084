// Tasks of revision 2025-11-25: each belongs to the client that began it, and leads to the server that has it.

import { strict as assert } from 'node:assert'
import { before, describe, test } from 'node:test'
import { limits } from '../../src/index.js'
import { type Heard, type RawClient, said } from './support/client.js'
import { at, errorOf, listAt, numberAt, textAt } from './support/json.js'
import { libraryProxy } from './support/library.js'
import { type ServerEntry, itServer, nodeProgram } from './support/programs.js'
import { handshake, scripted, simple } from './support/scripted.js'
import { suiteScope } from '../support/scope.js'
import type { Scope, Servers } from './support/spawned.js'
import { HANG_MS } from './support/waiting.js'

const REVISION = '2025-11-25'
/** A client with this capability does not share its processes. */
const ASKABLE = { elicitation: {} }

const server = (env: Readonly<Record<string, string>> = {}, more: ServerEntry = {}): ServerEntry => ({
  ...nodeProgram('task-server.mjs', env, more),
})

type Proxied = Awaited<ReturnType<typeof proxied>>

async function proxied(t: Scope, servers: Servers, tasksMax = limits.session.tasksMax) {
  const session = { ...limits.session, tasksMax }
  // `initialize` waits for what the servers offer, also on a busy machine.
  const own = { limits: { ...limits, initializeGraceMs: HANG_MS, session } }
  const { attach, log } = await libraryProxy(t, servers, own)
  return {
    open: async (capabilities = {}, revision = REVISION) => {
      const { client } = await attach()
      await client.open(capabilities, revision)
      await client.request('tools/list')
      return client
    },
    messages: () => log.map(({ message }) => message),
  }
}

/** Begins a task; gives the whole answer. */
function begin(client: RawClient, name: string, args: unknown = {}, meta?: unknown): Promise<Heard> {
  const more = meta === undefined ? {} : { _meta: meta }
  return client.request('tools/call', { name, arguments: args, task: { ttl: 60_000 }, ...more })
}

const begun = async (client: RawClient, name: string, args: unknown = {}, meta?: unknown): Promise<string> =>
  textAt((await begin(client, name, args, meta)).value, 'result', 'task', 'taskId')

const about = (client: RawClient, what: string, taskId: string): Promise<Heard> =>
  client.request(`tasks/${what}`, { taskId })

const statusOf = async (client: RawClient, taskId: string): Promise<string> =>
  textAt((await about(client, 'get', taskId)).value, 'result', 'status')

const idsOf = ({ value }: Heard): string[] =>
  listAt(value, 'result', 'tasks').map((task) => textAt(task, 'taskId'))

const textOf = ({ value }: Heard): string => textAt(value, 'result', 'content', 0, 'text')

const notFound = (id: string): [number, string] => [-32602, `Task '${id}' not found`]

/** A call that wants a task reaches the server without, and a tool that needs one refuses. */
async function cut(client: RawClient, name: string): Promise<void> {
  const params = `{"name":"${name}", "task":{"ttl":1.0} ,"arguments":{"n":1.0}}`
  client.send(`{"jsonrpc":"2.0","id":"echo","method":"tools/call","params":${params}}`)
  assert.match(textOf(await client.answer('echo')), /"params":\{"name":"echo" ?,"arguments":\{"n":1.0\}\}\}$/)
  assert.match(errorOf(await client.call(name.replace('echo', 'must')))[1], /can only be called as a task/)
}

const scope = suiteScope()
let proxy: Proxied
const open: Proxied['open'] = (...args) => proxy.open(...args)
before(async () => {
  proxy = await proxied(scope, {
    a: server({ TASKS: 'a' }),
    b: server({ TASKS: 'b' }),
    c: server({ TASK_PARTS: '' }),
    one: server({ TASKS: 'one' }, { concurrency: 1 }),
    shared: server({}, { isolation: 'shared' }),
  })
})

describe('a task', () => {
  test('of a client with a process of its own is asked about, takes no slot while its result is waited for, and ends', async () => {
    const client = await open(ASKABLE)
    const answer = await begin(client, 'one__work')
    assert.match(answer.text, /"task":\{"taskId":"one1","status":"working",.*"x-odd":"1.0"\}/)
    assert.equal(await statusOf(client, 'one1'), 'working')
    const result = about(client, 'result', 'one1')
    await client.call('one__finish', { id: 'one1' })
    assert.equal(textOf(await result), 'work one1')
    const status = await client.notification('notifications/tasks/status')
    assert.equal(textAt(status.value, 'params', 'status'), 'completed')
    assert.equal(await statusOf(client, 'one1'), 'completed')
  })

  test('is cancelled, which a cancelled tasks/result is not', async () => {
    const client = await open(ASKABLE)
    const id = await begun(client, 'a__must')
    const asked = client.nextId()
    client.post('tasks/result', { taskId: id }, asked)
    client.notify('notifications/cancelled', { requestId: asked })
    assert.equal(await statusOf(client, id), 'working')
    assert.equal(textAt((await about(client, 'cancel', id)).value, 'result', 'status'), 'cancelled')
    assert.equal(client.answersTo(asked), 0)
  })

  test('asks its client while the result is waited for', async () => {
    const client = await open(ASKABLE)
    const asked: unknown[] = []
    client.onRequest = (_method, params) => {
      asked.push(params)
      return '{"action":"decline"}'
    }
    const id = await begun(client, 'a__curious')
    await begun(client, 'b__work')
    assert.equal(textOf(await about(client, 'result', id)), 'decline')
    assert.equal(textAt(asked[0], '_meta', 'io.modelcontextprotocol/related-task', 'taskId'), id)
  })

  test('tells of its progress behind the answer to its call, under the token of its client', async () => {
    const both = [await open(), await open()] as const
    const ids = await Promise.all(
      both.map((client) => begun(client, 'a__work', {}, { progressToken: 'mine' })),
    )
    for (const [nth, client] of both.entries()) {
      const id = ids[nth] ?? ''
      await client.call('a__report', { id, progress: nth + 1 })
      const { value } = await client.notification('notifications/progress')
      assert.equal(textAt(value, 'params', 'progressToken'), 'mine')
      assert.equal(numberAt(value, 'params', 'progress'), nth + 1)
      await client.call('a__finish', { id })
      await client.call('a__report', { id, progress: 9 })
      await client.request('ping')
      const reports = client.count((heard) => at(heard, 'method') === 'notifications/progress')
      assert.equal(reports, 1)
    }
  })

  test('is lost with its process, and who asks for it is told so', async () => {
    const client = await open(ASKABLE)
    const id = await begun(client, 'a__work')
    const result = about(client, 'result', id)
    const died = await client.call('a__die')
    assert.equal(textAt((await result).value, 'error', 'data', 'reason'), 'exited')
    assert.equal(textAt(died.value, 'error', 'data', 'reason'), 'exited')
    // The next process counts anew, and its task is another one of the same name.
    const lost = await about(client, 'get', id)
    assert.deepEqual(errorOf(lost), [-32603, `Task '${id}' is lost: 'a' exited with code 3`])
    assert.equal(textAt(lost.value, 'error', 'data', 'reason'), 'exited')
    assert.deepEqual(idsOf(await client.request('tasks/list')), [])
    assert.equal(await begun(client, 'a__work'), id)
    assert.equal(await statusOf(client, id), 'working')
  })
})

test('several servers have their tasks in one list, without those of others', async () => {
  const client = await open()
  const other = await open()
  assert.deepEqual(idsOf(await client.request('tasks/list')), [])
  const ids = new Map<string, string>()
  for (const name of ['a__work', 'b__must', 'c__work', 'a__must']) ids.set(name, await begun(client, name))
  const theirs = await begun(other, 'a__work')
  // The third server has no list.
  const listed = await client.request('tasks/list')
  const must = ids.get('b__must') ?? ''
  assert.deepEqual(idsOf(listed), [ids.get('a__work'), ids.get('a__must'), must])
  assert.match(listed.text, /"x-odd":"1.0"/)
  assert.deepEqual(idsOf(await other.request('tasks/list')), [theirs])
  await client.call('b__finish', { id: must })
  assert.equal(textOf(await about(client, 'result', must)), `must ${must}`)
  assert.equal(at((await client.request('tasks/list', { cursor: '1' })).value, 'error', 'code'), -32602)
})

test('of tasks of two servers with one id, the later call fails, and its task is cancelled', async () => {
  const client = await open()
  assert.equal(await begun(client, 'a__work', { id: 'same' }), 'same')
  const again = await begin(client, 'b__work', { id: 'same' })
  const why = "'b' calls the task 'same', which is the id of a task of 'a' that is not over"
  assert.deepEqual(errorOf(again), [-32603, why])
  assert.equal(at(again.value, 'error', 'data', 'reason'), 'invalid-answer')
  assert.equal(await statusOf(client, 'same'), 'working')
  // The server reports that the second task is cancelled, and no client has it.
  const other = await open()
  await other.call('b__finish', { id: 'same' })
  const said = proxy.messages().filter((message) => message.startsWith('notifications/tasks/status is about'))
  assert.equal(said.length, 2)
  await client.call('a__finish', { id: 'same' })
  assert.equal(textOf(await about(client, 'result', 'same')), 'work same')
  assert.equal(await begun(client, 'b__work', { id: 'same' }), 'same', 'the first one is over')
  assert.deepEqual(errorOf(await about(other, 'get', 'same')), notFound('same'))
  const statuses = client.heard.filter(({ value }) => at(value, 'method') === 'notifications/tasks/status')
  assert.equal(statuses.length, 1)
})

describe('the tasks of one client', () => {
  test('are nothing to another one on the same process', async () => {
    const [owner, other] = [await open(), await open()]
    const id = await begun(owner, 'a__work')
    for (const what of ['get', 'result', 'cancel'])
      assert.deepEqual(errorOf(await about(other, what, id)), notFound(id))
    assert.deepEqual(errorOf(await about(owner, 'get', 'elsewhere')), notFound('elsewhere'))
    assert.equal(at((await owner.request('tasks/get')).value, 'error', 'data', 'parameter'), 'taskId')
    await owner.call('a__finish', { id })
    await other.request('ping')
    await owner.notification('notifications/tasks/status')
    const statuses = other.count((value) => at(value, 'method') === 'notifications/tasks/status')
    assert.equal(statuses, 0)
  })

  test('are cancelled when it leaves a process that others use', async () => {
    const [leaving, staying] = [await open(), await open()]
    const id = await begun(leaving, 'a__work')
    const ended = leaving.answer('bye')
    leaving.send('{"jsonrpc":"2.0","id":"bye","method":"shutdown"}')
    await ended
    leaving.notify('exit')
    // It is over for its server, so that the id is free again.
    for (;;) {
      const answer = await begin(staying, 'a__work', { id })
      if (at(answer.value, 'result') !== undefined) break
    }
    assert.equal(await statusOf(staying, id), 'working')
  })

  test('have a limit; what is over makes room', async (t) => {
    const { open } = await proxied(t, { s: server() }, 2)
    const client = await open()
    const first = await begun(client, 's__work')
    const second = await begun(client, 's__work')
    const refused = await begin(client, 's__work')
    const why = 'Too many tasks: 2 are not over; fetch their results, or cancel some'
    assert.deepEqual(errorOf(refused), [-32603, why])
    assert.equal(at(refused.value, 'error', 'data', 'reason'), 'overloaded')
    await about(client, 'cancel', first)
    assert.equal(await begun(client, 's__work'), 'task-3', 'the refused call did not reach the server')
    assert.deepEqual(errorOf(await about(client, 'get', first)), notFound(first))
    assert.deepEqual(idsOf(await client.request('tasks/list')), [second, 'task-3'])
  })

  test('have ids of a limited length', async () => {
    const client = await open()
    const { taskIdLengthMax } = limits.session
    const longest = (await begun(client, 'a__work', { id: 'x'.repeat(taskIdLengthMax) })).length
    assert.equal(longest, taskIdLengthMax)
    const refused = await begin(client, 'a__work', { id: 'x'.repeat(taskIdLengthMax + 1) })
    assert.match(errorOf(refused)[1], /by an id of 1025 characters; the limit is 1024/)
  })
})

describe('tasks are offered', () => {
  const all = '{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}'
  const some = '{"requests":{"tools":{"call":{}}}}'
  const cases: [title: string, servers: Servers, want: string | undefined, revision: string][] = [
    ['as far as the server has them', { some: {} }, some, REVISION],
    ['as far as any has them', { some: {}, all: {} }, all, REVISION],
    ['not to a client of another revision', { all: {} }, undefined, '2025-06-18'],
    ['not where clients share what may ask them', { all: { isolation: 'shared' } }, undefined, REVISION],
    ['not by a server without tasks', { none: {} }, undefined, REVISION],
  ]
  const offers: Readonly<Record<string, string>> = { some: `,"tasks":${some}`, all: `,"tasks":${all}` }
  for (const [title, servers, wanted, revision] of cases)
    test(title, async (t) => {
      const it = await scripted(t, servers, (method, child) =>
        method === 'initialize'
          ? handshake('s', `{"tools":{}${offers[child.command] ?? ''}}`).replace('2025-06-18', REVISION)
          : simple(method, child),
      )
      const { client } = await it.attach()
      const opened = await it.runtime.until(client.open({}, revision))
      assert.equal(JSON.stringify(at(opened, 'capabilities', 'tasks')), wanted)
    })

  test('who cannot have a task wants none, as far as the server sees', async () => {
    const clients = [await open({}, '2025-06-18'), await open(ASKABLE, '2025-06-18')]
    for (const client of clients) {
      await cut(client, 'a__echo')
      assert.deepEqual(errorOf(await about(client, 'get', 'x')), [-32601, "Method 'tasks/get' not found"])
      assert.deepEqual(errorOf(await client.request('tasks/list')), [-32601, "Method 'tasks/list' not found"])
    }
    await cut(await open(), 'shared__echo')
  })

  test('and a call with one reaches the server in the bytes of the client, but for its id', async () => {
    const client = await open(ASKABLE)
    client.send(
      '{"jsonrpc":"2.0","id":"echo","method":"tools/call","params":{"name":"a__echo", "task":{"ttl":1.0}}}',
    )
    const sent = textOf(await client.answer('echo'))
    assert.match(
      sent,
      /^\{"jsonrpc":"2.0","id":\d+,"method":"tools\/call","params":\{"name":"echo", "task":\{"ttl":1.0\}\}\}$/,
    )
  })
})

test('a client that runs tasks is asked without, and about none', async (t) => {
  const { client } = await (await libraryProxy(t, { s: itServer() })).attach()
  const tasks = { list: {}, cancel: {}, requests: { elicitation: { create: {} } } }
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
