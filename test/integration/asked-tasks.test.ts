// Tasks of revision 2025-11-25 that a client runs for servers: each server hears of its own.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { limits } from '../../src/index.js'
import type { RawClient } from './support/client.js'
import { at, listAt, numberAt, parsed, textAt } from './support/json.js'
import { libraryProxy } from './support/library.js'
import { type ServerEntry, nodeProgram } from './support/programs.js'
import type { Scope, Servers } from './support/spawned.js'

const tasks = { list: {}, cancel: {}, requests: { elicitation: { create: {} } } }
const capabilities = { elicitation: {}, tasks }
const server = (more: ServerEntry = {}): ServerEntry => nodeProgram('asks-later.mjs', {}, more)

/** A client that begins a task for each question with one, and answers each request about its tasks. */
class Working {
  readonly client: RawClient
  /** What it was sent, as it was written. */
  readonly asked: string[] = []
  readonly #tasks: string[] = []
  /** Names of the tasks that come next. */
  readonly names: string[] = []

  constructor(client: RawClient) {
    this.client = client
    client.onRequest = (method, params, { text }) => {
      this.asked.push(text)
      const id = textAt(params, 'taskId')
      if (method === 'tasks/list')
        return `{"tasks": [${this.#tasks.map((each) => shown(each)).join(' , ')}] ,"nextCursor":"2"}`
      if (method === 'tasks/result') return `{"action":"accept","content":{"of":"${id}"}}`
      if (method.startsWith('tasks/')) return shown(id)
      if (at(params, 'task') === undefined) return '{"action":"decline"}'
      const name = this.names.shift() ?? `t${this.#tasks.length + 1}`
      this.#tasks.push(name)
      return `{"task":${shown(name)}}`
    }
  }

  /** The server asks; gives what it was answered. */
  async ask(name: string, method: string, params: object): Promise<unknown> {
    const { value } = await this.client.call(`${name}__ask`, { method, params })
    return parsed(textAt(value, 'result', 'content', 0, 'text'))
  }

  /** The server asks for something with a task; gives the id of that. */
  async begin(name: string, more: object = {}): Promise<string> {
    const params = { message: 'n?', requestedSchema: schema, task: { ttl: 60_000 }, ...more }
    return textAt(await this.ask(name, 'elicitation/create', params), 'task', 'taskId')
  }

  async told(name: string): Promise<unknown> {
    const { value } = await this.client.call(`${name}__told`)
    return parsed(textAt(value, 'result', 'content', 0, 'text'))
  }

  status(taskId: string, status: string): void {
    this.client.notify('notifications/tasks/status', { taskId, status, ttl: null })
  }
}

const schema = { type: 'object', properties: {} }
const shown = (id: string): string => `{"taskId":"${id}","status":"working","ttl":1.0}`
const notFound = (id: string): object => ({
  error: { code: -32602, message: `Task '${id}' not found`, data: { taskId: id } },
})

interface Opened {
  readonly declares?: object
  readonly revision?: string
  readonly askedTasksMax?: number
}

async function working(t: Scope, servers: Servers, opened: Opened = {}): Promise<Working> {
  const { declares = capabilities, revision = '2025-11-25', askedTasksMax = 256 } = opened
  const own = { limits: { ...limits, upstream: { ...limits.upstream, askedTasksMax } } }
  const { client } = await (await libraryProxy(t, servers, own)).attach()
  await client.open(declares, revision)
  await client.request('tools/list')
  return new Working(client)
}

describe('a task that a client runs for a server', () => {
  test('is begun, asked about, and has a result, in the bytes of both', async (t) => {
    const w = await working(t, { s: server() })
    assert.equal(await w.begin('s'), 't1')
    assert.match(w.asked[0] ?? '', /"task":\{"ttl":60000\}/)
    assert.deepEqual(await w.ask('s', 'tasks/get', { taskId: 't1' }), parsed(shown('t1')))
    const result = await w.ask('s', 'tasks/result', { taskId: 't1' })
    assert.deepEqual(result, { action: 'accept', content: { of: 't1' } })
    assert.deepEqual(await w.ask('s', 'tasks/cancel', { taskId: 't1' }), parsed(shown('t1')))
  })

  test('is declared to the server as the client has declared it', async (t) => {
    const w = await working(t, { s: server() })
    assert.deepEqual(at(await w.told('s'), 'declared', 'tasks'), tasks)
  })

  test('its status reaches the server, and its progress until it has ended', async (t) => {
    const w = await working(t, { s: server(), o: server() })
    for (const name of ['s', 'o']) await w.begin(name, { _meta: { progressToken: 'mine' } })
    const [first, second] = w.asked.map((text) => at(parsed(text), 'params', '_meta', 'progressToken'))
    assert.notEqual(first, second, 'two servers may have the same token')
    const progress = (progressToken: unknown, value: number): void =>
      w.client.notify('notifications/progress', { progressToken, progress: value })
    progress(second, 1)
    w.status('t2', 'working')
    w.status('t2', 'completed')
    progress(second, 2)
    progress(first, 3)
    w.status('t1', 'failed')
    w.status('never', 'working')
    const heardBy = async (name: string): Promise<unknown[]> =>
      listAt(await w.told(name), 'heard').map((heard) => at(heard, 'status') ?? at(heard, 'progress'))
    assert.deepEqual(await heardBy('o'), [1, 'working', 'completed'])
    assert.deepEqual(await heardBy('s'), [3, 'failed'])
    const [said] = listAt(await w.told('o'), 'heard')
    assert.equal(at(said, 'progressToken'), 'mine')
  })

  test('is nothing to another server of the same client', async (t) => {
    const w = await working(t, { s: server(), o: server() })
    const [first, second] = [await w.begin('s'), await w.begin('o')]
    for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel'])
      assert.deepEqual(await w.ask('o', method, { taskId: first }), notFound(first))
    assert.equal(w.asked.length, 2, 'the client was not asked')
    const third = await w.begin('s')
    const listed = await w.ask('s', 'tasks/list', {})
    assert.deepEqual(
      listAt(listed, 'tasks').map((task) => at(task, 'taskId')),
      [first, third],
    )
    assert.equal(at(listed, 'nextCursor'), '2')
    assert.equal(listAt(await w.ask('o', 'tasks/list', {}), 'tasks').length, 1)
    assert.equal(second, 't2')
  })

  test('is forgotten with the process that has asked', async (t) => {
    const w = await working(t, { s: server({ restartDelay: 10 }) })
    const id = await w.begin('s')
    await w.client.call('s__die')
    assert.deepEqual(await w.ask('s', 'tasks/get', { taskId: id }), notFound(id))
  })

  test('makes room for others when there are many: the one that was asked about longest ago', async (t) => {
    const w = await working(t, { s: server() }, { askedTasksMax: 2 })
    const [first, second] = [await w.begin('s'), await w.begin('s')]
    await w.ask('s', 'tasks/get', { taskId: first })
    await w.begin('s')
    assert.deepEqual(await w.ask('s', 'tasks/get', { taskId: second }), notFound(second))
    assert.equal(textAt(await w.ask('s', 'tasks/get', { taskId: first }), 'taskId'), first)
  })
})

describe('a client that runs tasks', () => {
  const cases: readonly [title: string, servers: Servers, opened: Opened][] = [
    ['shares a process that may ask it', { s: server({ isolation: 'shared' }) }, {}],
    ['is of an older revision', { s: server() }, { revision: '2025-06-18' }],
    ['has not declared it', { s: server() }, { declares: { elicitation: {} } }],
  ]
  for (const [title, servers, opened] of cases)
    test(`and ${title} is asked without, and about none`, async (t) => {
      const w = await working(t, servers, opened)
      assert.equal(at(await w.told('s'), 'declared', 'tasks'), undefined)
      const params = { message: 'n?', requestedSchema: schema, task: { ttl: 1 } }
      assert.deepEqual(await w.ask('s', 'elicitation/create', params), { action: 'decline' })
      assert(w.asked.every((text) => !text.includes('"task"')))
      const refused = await w.ask('s', 'tasks/get', { taskId: 'x' })
      assert.equal(numberAt(refused, 'error', 'code'), -32601)
      w.status('x', 'completed')
      assert.deepEqual(listAt(await w.told('s'), 'heard'), [])
    })
})
