// Questions to a client of 2026-07-28 after the cancel of a call that the server has not answered.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { type Asking, accepted, forms, stage, textOf } from './support/asking.js'
import { claim } from './support/claim.js'
import { at, textAt } from './support/json.js'
import type { RawClient } from './support/client.js'
import { closed } from './support/scripted.js'
import { settled } from '../upstream/support/fake-runtime.js'

/** Cancels a call that the server does not answer. */
async function giveUp(server: Asking, client: RawClient, capabilities: object): Promise<void> {
  const { rounds } = server
  Object.assign(server, { rounds: [], finishes: false })
  void client.request('tools/call', { name: 's__t', _meta: claim(capabilities) }, 'lost').catch(() => {})
  await settled()
  client.notify('notifications/cancelled', { requestId: 'lost' })
  await settled()
  Object.assign(server, { rounds, finishes: true })
}

const shared = { principal: 'everybody', isSeveral: true }

describe('after a cancelled call', () => {
  test('a process that clients share is left, and the next one asks', async (t) => {
    const { it, server, ask } = await stage(t)
    const [{ client: one }, { client: two }] = [await it.attach(shared), await it.attach(shared)]
    await ask({}, { method: 'tools/list', client: one })
    await giveUp(server, one, forms)
    const left = server.child
    const asked = at(await ask({ name: 's__t' }, { client: two }), 'result')
    assert.equal(textAt(asked, 'resultType'), 'input_required')
    assert.notEqual(server.child, left)
    assert.equal(left?.stdin.destroyed, true, 'no call runs there, so it has ended')
    const requestState = textAt(asked, 'requestState')
    const answers = { name: 's__t', requestState, inputResponses: { q1: accepted } }
    assert.equal(textOf(await ask(answers, { client: two })), 'done')
    await closed(it)
  })
})
