// Servers that ask for roots right after the handshake, and calls that come before they have them.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { type FakeChild, settled } from '../upstream/support/fake-runtime.js'
import { at, listAt, textAt } from './support/json.js'
import { type Act, type Scripted, closed, enter, scripted, simple } from './support/scripted.js'
import type { Scope } from './support/spawned.js'

const roots = '{"roots":[{"uri":"file:///own"}]}'

/** Says what it knows of the roots of its client when it is called. */
class Reminder {
  asks = true
  /** Processes that were called. */
  readonly pids = new Set<number>()
  readonly #known = new Map<FakeChild, string>()

  readonly act: Act = (method, child) => {
    if (method === 'notifications/initialized' && this.asks) this.#ask(child)
    if (method !== 'tools/call') return simple(method, child)
    this.pids.add(child.pid)
    return `{"content":[{"type":"text","text":"${this.#known.get(child) ?? 'nothing'}"}]}`
  }

  #ask(child: FakeChild): void {
    child.answered = (message) => {
      this.#known.set(child, textAt(message, 'result', 'roots', 0, 'uri') || 'refused')
    }
    child.say('{"jsonrpc":"2.0","id":"r","method":"roots/list"}')
  }
}

async function stage(t: Scope): Promise<{ it: Scripted; server: Reminder }> {
  const server = new Reminder()
  return { it: await scripted(t, { s: {} }, server.act), server }
}

const textOf = (value: unknown): string => textAt(listAt(value, 'result', 'content')[0], 'text')

describe('the first call of a client whose server asks for roots as soon as it may', () => {
  test('is sent once the client has answered', async (t) => {
    const { it, server } = await stage(t)
    const { client } = await enter(it, { roots: {} })
    const call = client.call('s__t')
    await it.runtime.pass(1000, 10)
    const [question] = client.heard.filter(({ value }) => at(value, 'method') === 'roots/list')
    assert(question !== undefined, 'the client is asked')
    assert.equal(client.heard.filter(({ value }) => at(value, 'result', 'content') !== undefined).length, 0)
    client.send(`{"jsonrpc":"2.0","id":${JSON.stringify(at(question.value, 'id'))},"result":${roots}}`)
    await it.runtime.pass(240, 10)
    assert.equal(server.pids.size, 0, 'the server has a moment for the answer')
    await it.runtime.pass(20, 10)
    assert.equal(textOf((await call).value), 'file:///own')
    await closed(it)
  })

  test('is sent all the same when the client does not answer within 5 s', async (t) => {
    const { it } = await stage(t)
    const { client } = await enter(it, { roots: {} })
    const call = client.call('s__t')
    await it.runtime.pass(6000, 100)
    assert.equal(textOf((await call).value), 'nothing')
    await closed(it)
  })

  test('waits for 250 ms where the server asks nothing, and the next call does not', async (t) => {
    const { it, server } = await stage(t)
    server.asks = false
    const { client } = await enter(it, { roots: {} })
    const first = client.call('s__t')
    await it.runtime.pass(240, 10)
    assert.equal(server.pids.size, 0)
    await it.runtime.pass(20, 10)
    await first
    const second = client.call('s__t')
    await settled()
    assert.equal(textOf((await second).value), 'nothing')
    await closed(it)
  })
})
