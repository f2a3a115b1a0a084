// States of a server of 2026-07-28, in the hands of a proxy that was started after they were given, or runs beside it.

import { strict as assert } from 'node:assert'
import { before, describe, test } from 'node:test'
import { at, textAt } from './support/json.js'
import { libraryProxy } from './support/library.js'
import type { Heard, RawClient } from './support/client.js'
import { asRead, itServer, nodeProgram } from './support/programs.js'
import { spawnProxy } from './support/spawned.js'
import { suiteScope } from '../support/scope.js'
import { claim } from './support/claim.js'

const own = claim({ elicitation: { form: {} } })
const server = { stateKey: 'the key of both instances' }
const origin = { principal: 'one and the same' }
const call = { name: 's__stateOnly', arguments: {}, _meta: own }

const stateOf = async (client: RawClient): Promise<string> =>
  textAt((await client.request('tools/call', call)).value, 'result', 'requestState')

const again = (client: RawClient, requestState: string): Promise<Heard> =>
  client.request('tools/call', { ...call, requestState })

function assertOpened({ value, text }: Heard): void {
  assert.equal(textAt(value, 'result', 'content', 0, 'text'), 'again with later "é"', text)
}

function assertRefused({ value, text }: Heard, reason: string): void {
  assert.equal(at(value, 'error', 'data', 'reason'), reason, text)
}

const servers = { s: nodeProgram('rounds.mjs') }

describe('a state of another instance with the same key', () => {
  const scope = suiteScope()
  let state = ''
  before(async () => {
    const one = await libraryProxy(scope, servers, {}, { server })
    state = await stateOf((await one.attach(origin)).client)
    await one.proxy.close(0)
  })

  for (const startupGrace of [0, 10_000])
    test(`opens in the first request of all, with a grace of ${startupGrace} ms`, async (t) => {
      const two = await libraryProxy(t, { other: itServer(), ...servers }, {}, { server, startupGrace })
      assertOpened(await again((await two.attach(origin)).client, state))
    })

  test('is refused where its server has sessions by now', async (t) => {
    const old = itServer({ IT_TOOLS: 'stateOnly' })
    const two = await libraryProxy(t, { s: old }, {}, { server })
    assertRefused(await again((await two.attach(origin)).client, state), 'state-other-server')
  })
})

test('a state is signed with the key that the configuration has now, and opens with that alone', async (t) => {
  const { proxy, attach } = await libraryProxy(t, servers, {}, { server })
  const { client } = await attach(origin)
  const before = await stateOf(client)
  await proxy.reload(asRead({ server: { stateKey: 'another key of both instances' }, mcpServers: servers }))
  assertRefused(await again(client, before), 'state-unknown')
  assertOpened(await again(client, await stateOf(client)))
})

test('a state of a client that nobody has let in opens on its own connection alone', async (t) => {
  const one = await libraryProxy(t, servers, {}, { server })
  const two = await libraryProxy(t, servers, {}, { server })
  const { client } = await one.attach()
  const state = await stateOf(client)
  // Each is the first of its instance.
  assertRefused(await again((await two.attach()).client, state), 'state-unknown')
  assertOpened(await again(client, state))
})

test('a state of a client on stdio opens in its next program', async (t) => {
  const state = await stateOf(spawnProxy(t, servers, { more: { server } }).client)
  assertOpened(await again(spawnProxy(t, servers, { more: { server } }).client, state))
})
