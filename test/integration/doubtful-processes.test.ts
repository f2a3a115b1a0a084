// A process at work on a call that was given up may still ask about it: a call of a client without a session has another one.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { limits } from '../../src/index.js'
import { type FakeChild, settled } from '../upstream/support/fake-runtime.js'
import { type Stage, claim, elicitation, forms, stage } from './support/asking.js'
import { numberAt } from './support/json.js'
import { closed } from './support/scripted.js'
import type { Scope } from './support/spawned.js'

interface Doubtful extends Stage {
  readonly send: (id: string) => void
  /** The same; gives the process that has it. */
  readonly childOf: (id: string) => Promise<FakeChild>
  readonly cancel: (id: string) => Promise<void>
  /** The process asks something. */
  readonly question: (id: string, child: FakeChild) => Promise<void>
}

function silence(asking: Stage['server']): void {
  asking.rounds = []
  asking.finishes = false
}

/** A server that neither asks nor answers before the test says so, and heeds no cancel. */
async function doubtful(t: Scope, bounds: Partial<typeof limits.upstream> = {}): Promise<Doubtful> {
  const options = { limits: { ...limits, upstream: { ...limits.upstream, ...bounds } } }
  const it = await stage(t, silence, { s: {} }, options)
  const { server, client } = it
  const { runtime } = it.it
  const send = (id: string): void => {
    const params = { name: 's__t', _meta: claim(forms) }
    client.send(JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params }))
  }
  const childOf = async (id: string): Promise<FakeChild> => {
    const before = server.calls.length
    send(id)
    for (let ms = 0; server.calls.length === before && ms < 10_000; ms += 10) await runtime.pass(10, 10)
    assert.equal(server.calls.length, before + 1)
    assert(server.child !== undefined)
    return server.child
  }
  const cancel = async (id: string): Promise<void> => {
    client.notify('notifications/cancelled', { requestId: id })
    await settled()
  }
  const question = async (id: string, child: FakeChild): Promise<void> => {
    child.answered = (message) => void server.answers.push(message)
    server.say(`${elicitation.slice(0, -1)},"id":"${id}"}`, child)
    await runtime.pass(100, 10)
  }
  return { ...it, send, childOf, cancel, question }
}

describe('a process that may still be at work on a call which was given up', () => {
  test('asks nobody: the next call has another one, until that one is answered', async (t) => {
    const { it, server, client, childOf, cancel, question } = await doubtful(t)
    const first = await childOf('given up')
    const given = first.lastId
    await cancel('given up')
    const second = await childOf('other')
    assert.notEqual(second, first)
    await question('late', first)
    assert.equal(numberAt(server.answers[0], 'error', 'code'), -32601)
    assert.equal(client.answersTo('other'), 0)
    await question('own', second)
    assert.equal(client.answersTo('other'), 1)
    server.finish(first, given)
    await settled()
    assert.equal(await childOf('third'), first, 'it is done with that call')
    await closed(it)
  })

  test('is started anew for the next call where no other may be started', async (t) => {
    for (const bounds of [{ processesMax: 2 }, { guestProcessesMax: 1 }]) {
      const { it, client, childOf, cancel, question } = await doubtful(t, bounds)
      const first = await childOf('given up')
      await cancel('given up')
      const second = await childOf('other')
      assert.notEqual(second, first)
      assert(first.stdin.destroyed, 'it has ended')
      await question('own', second)
      assert.equal(client.answersTo('other'), 1)
      await closed(it)
    }
  })

  test('is started anew for a call that waits for it', async (t) => {
    const { it, server, client, send, childOf, cancel, question } = await doubtful(t, {
      guestProcessesMax: 1,
    })
    const first = await childOf('given up')
    send('waits')
    await it.runtime.pass(100, 10)
    assert.equal(server.calls.length, 1)
    await cancel('given up')
    await it.runtime.pass(5000, 10)
    const second = server.child
    assert(second !== undefined && second !== first)
    assert.equal(server.calls.length, 2)
    await question('own', second)
    assert.equal(client.answersTo('waits'), 1)
    await closed(it)
  })

  test('serves on where nobody calls, and what it answers late is dropped', async (t) => {
    const { it, server, client, childOf, cancel } = await doubtful(t)
    const first = await childOf('given up')
    await cancel('given up')
    await it.runtime.pass(10_000, 100)
    server.finish()
    await settled()
    assert.equal(client.answersTo('given up'), 0)
    assert.equal(await childOf('next'), first)
    await closed(it)
  })
})
