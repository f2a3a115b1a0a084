// Which clients without a session are distinguished, which one is dropped for a new one, and how long the tasks of a
// principal are kept.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { limits as defaults } from '../../../src/limits.js'
import { Task, type TaskSource } from '../../../src/calls/task.js'
import { numericId } from '../../../src/jsonrpc/request-id.js'
import type { StatelessContext } from '../../../src/mcp/client-context.js'
import { noCapabilities } from '../../../src/mcp/capabilities.js'
import { latestStateless } from '../../../src/mcp/revisions.js'
import type { ClientDirectory } from '../../../src/proxy/clients/client-directory.js'
import type { StatelessClient } from '../../../src/proxy/clients/stateless-client.js'
import { CatalogView } from '../../../src/proxy/routing/views.js'
import { callOf } from '../../upstream/support/calls.js'
import { FakeClock } from '../../upstream/support/fake-clock.js'
import { type Stage, stageOf } from '../support/stage.js'

const ignore = (): void => {}
const everything = new CatalogView('')

const directory = (statelessMax: number): Stage => stageOf([], statelessMax)

const asks = (name: string): StatelessContext['capabilities'] => ({
  json: `{"${name}":{}}`,
  names: new Set([name]),
})

const from = (principal: string, capabilities = noCapabilities): StatelessContext => ({
  principal,
  isSeveral: false,
  revision: latestStateless,
  capabilities,
  info: undefined,
})

function begin({ tasks }: StatelessClient, id: string, dropped: string[], isOver = false): void {
  const source: TaskSource = {
    service: 's',
    find: () => undefined,
    send: ignore,
    list: () => Promise.resolve([]),
    forget: (task) => void dropped.push(task.id),
  }
  const state = { id, isDurable: true, status: isOver ? 'cancelled' : undefined, ttlMs: Infinity }
  const task = new Task(callOf('1', 0), state, numericId(1), source, new FakeClock())
  assert.equal(tasks.keep(task), undefined)
}

function found(clients: ClientDirectory, context: StatelessContext): StatelessClient {
  const client = clients.stateless(context, everything)
  assert(client !== undefined)
  return client
}

describe('a client without a session', () => {
  test('is one by its principal, its name and what it can be asked', () => {
    const { clients } = directory(4)
    const one = found(clients, from('a'))
    assert.equal(found(clients, from('a', { json: '{"x":{}}', names: new Set(['x']) })), one)
    assert.notEqual(found(clients, from('b')), one)
    assert.notEqual(found(clients, { ...from('a'), info: { name: 'other', version: '1' } }), one)
    assert.notEqual(found(clients, from('a', asks('sampling'))), one)
  })

  test('makes room for one of its principal that comes under many names, before others do', () => {
    const { clients } = directory(3)
    const other = found(clients, from('b'))
    for (const name of ['x', 'y', 'z', 'v', 'w'])
      found(clients, { ...from('a'), info: { name, version: '1' } })
    assert(!other.hasLeft)
  })

  test('makes room when it has been idle for longest', () => {
    const { clients } = directory(2)
    const [first, second] = [found(clients, from('a')), found(clients, from('b'))]
    assert(found(clients, from('c')) !== undefined)
    assert.deepEqual([first.hasLeft, second.hasLeft], [true, false])
  })

  test('is one of a few of its principal that can be asked something', () => {
    const { clients } = directory(4)
    const [first, other] = [found(clients, from('a', asks('sampling'))), found(clients, from('b'))]
    found(clients, from('a', asks('elicitation')))
    assert.deepEqual([first.hasLeft, other.hasLeft], [true, false])
  })
})

test('the tasks of a principal are the same for all of its clients, and go with the last of them', () => {
  const { clients } = directory(1)
  const dropped: string[] = []
  const first = found(clients, from('a', asks('sampling')))
  begin(first, 'one', dropped)
  const second = found(clients, from('a'))
  assert.equal(second.tasks, first.tasks)
  assert.deepEqual([first.hasLeft, dropped], [true, []])
  found(clients, from('b'))
  assert.deepEqual(dropped, ['one'])
})

for (const [title, isOver, wanted] of [
  ['keep an idle client while one runs', false, false],
  ['keep nobody when all are over', true, true],
] as const)
  test(`the tasks of a principal ${title}`, async () => {
    const { clients, runtime } = directory(4)
    const client = found(clients, from('a'))
    begin(client, 'one', [], isOver)
    await runtime.pass(2 * defaults.stateless.statelessIdleMs, 10_000)
    assert.equal(client.hasLeft, wanted)
  })
