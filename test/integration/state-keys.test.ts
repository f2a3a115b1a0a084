// States of a server of 2026-07-28, in the hands of a proxy that was started after they were given, or runs beside it.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { at, textAt } from './support/json.js'
import { libraryProxy } from './support/library.js'
import type { Heard } from './support/client.js'
import { asRead, itServer, nodeProgram } from './support/programs.js'
import { spawnProxy } from './support/spawned.js'
import { claim } from './support/claim.js'

const own = claim({ elicitation: { form: {} } })
const server = { stateKey: 'the key of both instances' }
const origin = { principal: 'one and the same' }
const call = { name: 's__stateOnly', arguments: {}, _meta: own }

describe('a state of another instance with the same key', () => {
  for (const startupGrace of [0, 10_000])
    test(`opens in the first request of all, with a grace of ${startupGrace} ms`, async (t) => {
      const servers = { other: itServer(), s: nodeProgram('rounds.mjs', {}, {}) }
      const one = await libraryProxy(t, servers, {}, { server })
      const { client } = await one.attach(origin)
      const asked = await client.request('tools/call', call)
      const requestState = textAt(asked.value, 'result', 'requestState')
      await one.proxy.close(0)

      const two = await libraryProxy(t, servers, {}, { server, startupGrace })
      const { client: again } = await two.attach(origin)
      const heard = await again.request('tools/call', { ...call, requestState })
      assert.equal(textAt(heard.value, 'result', 'content', 0, 'text'), 'again with later "é"', heard.text)
    })

  test('is refused where its server has sessions by now', async (t) => {
    const servers = { s: nodeProgram('rounds.mjs', {}, {}) }
    const one = await libraryProxy(t, servers, {}, { server })
    const { client } = await one.attach(origin)
    const asked = await client.request('tools/call', call)
    const requestState = textAt(asked.value, 'result', 'requestState')
    await one.proxy.close(0)
    const old = itServer({ IT_TOOLS: 'stateOnly' })
    const two = await libraryProxy(t, { s: old }, {}, { server })
    const { client: again } = await two.attach(origin)
    const heard = await again.request('tools/call', { ...call, requestState })
    assert.equal(at(heard.value, 'error', 'data', 'reason'), 'state-other-server', heard.text)
  })
})

test('a state is signed with the key that the configuration has now, and opens with that alone', async (t) => {
  const servers = { s: nodeProgram('rounds.mjs', {}, {}) }
  const { proxy, attach } = await libraryProxy(t, servers, {}, { server })
  const { client } = await attach(origin)
  const stateOf = async (): Promise<string> =>
    textAt((await client.request('tools/call', call)).value, 'result', 'requestState')
  const again = (requestState: string): Promise<Heard> =>
    client.request('tools/call', { ...call, requestState })
  const before = await stateOf()
  await proxy.reload(asRead({ server: { stateKey: 'another key of both instances' }, mcpServers: servers }))
  const refused = await again(before)
  assert.equal(at(refused.value, 'error', 'data', 'reason'), 'state-unknown', refused.text)
  const heard = await again(await stateOf())
  assert.equal(textAt(heard.value, 'result', 'content', 0, 'text'), 'again with later "é"', heard.text)
})

test('a state of a client that nobody has let in opens on its own connection alone', async (t) => {
  const servers = { s: nodeProgram('rounds.mjs', {}, {}) }
  const [one, two] = [
    await libraryProxy(t, servers, {}, { server }),
    await libraryProxy(t, servers, {}, { server }),
  ]
  const { client } = await one.attach()
  const asked = await client.request('tools/call', call)
  const requestState = textAt(asked.value, 'result', 'requestState')
  // Each is the first of its instance.
  const { client: other } = await two.attach()
  const stolen = await other.request('tools/call', { ...call, requestState })
  assert.equal(at(stolen.value, 'error', 'data', 'reason'), 'state-unknown', stolen.text)
  const heard = await client.request('tools/call', { ...call, requestState })
  assert.equal(textAt(heard.value, 'result', 'content', 0, 'text'), 'again with later "é"', heard.text)
})

test('a state of a client on stdio opens in its next program', async (t) => {
  const servers = { s: nodeProgram('rounds.mjs', {}, {}) }
  const one = spawnProxy(t, servers, { more: { server } })
  const asked = await one.client.request('tools/call', call)
  const requestState = textAt(asked.value, 'result', 'requestState')
  const two = spawnProxy(t, servers, { more: { server } })
  const heard = await two.client.request('tools/call', { ...call, requestState })
  assert.equal(textAt(heard.value, 'result', 'content', 0, 'text'), 'again with later "é"', heard.text)
})
