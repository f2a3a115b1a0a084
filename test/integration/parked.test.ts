// Servers that ask during a call, and clients without a session, which come again with the answers.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { type Limits, limits } from '../../src/index.js'
import { settled } from '../upstream/support/fake-runtime.js'
import {
  type Asking,
  accepted,
  codeOf,
  elicitation,
  forms,
  question,
  reasonOf,
  stage,
  textOf,
} from './support/asking.js'
import { claim } from './support/claim.js'
import type { RawClient } from './support/client.js'
import { at, numberAt, textAt } from './support/json.js'
import { closed } from './support/scripted.js'

describe('a server that asks a client without a session', () => {
  test('asks without what only sessions have', async (t) => {
    const url = { mode: 'url', message: '?', url: 'https://a.example/' }
    const { it, begin } = await stage(t, (asking) => {
      asking.rounds = [
        [
          question('sampling/createMessage', {
            messages: [],
            maxTokens: 1,
            task: { ttl: 1 },
            _meta: { a: 1 },
          }),
          question('elicitation/create', { ...url, elicitationId: 'e' }),
        ],
      ]
    })
    const { asked } = await begin({ sampling: {}, elicitation: { url: {} } })
    assert.deepEqual(at(asked, 'inputRequests'), {
      q1: { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } },
      q2: { method: 'elicitation/create', params: url },
    })
    await closed(it)
  })

  test('may finish, or take its question back, before the answer comes', async (t) => {
    for (const isWithdrawn of [false, true]) {
      const { it, server, ask, begin } = await stage(t)
      const { state } = await begin()
      if (isWithdrawn) server.say('{"method":"notifications/cancelled","params":{"requestId":"q0.0"}}')
      server.finish()
      await settled()
      const value = await ask({ name: 's__t', requestState: state, inputResponses: { q1: accepted } })
      assert.deepEqual([textOf(value), server.answers], ['done', []])
      await closed(it)
    }
  })

  test('is refused what its client has not declared, and what is about no call', async (t) => {
    const { it, server, ask } = await stage(t)
    const value = await ask({ name: 's__t' }, { capabilities: { roots: {} } })
    assert.deepEqual([textOf(value), numberAt(server.answers[0], 'error', 'code')], ['done', -32601])
    server.answers.length = 0
    server.say(`${elicitation.slice(0, -1)},"id":"late"}`)
    await settled()
    assert.equal(numberAt(server.answers[0], 'error', 'code'), -32601)
    await closed(it)
  })

  test('fails for want of a capability that the client has not declared, and says which', async (t) => {
    const visit = question('elicitation/create', { mode: 'url', message: '?', url: 'https://a.example/' })
    for (const [asked, capabilities, required] of [
      [elicitation, { roots: {} }, { elicitation: { form: {} } }],
      [elicitation, {}, { elicitation: { form: {} } }],
      [visit, { elicitation: { form: {} } }, { elicitation: { url: {} } }],
      [question('sampling/createMessage', { tools: [] }), { sampling: {} }, { sampling: { tools: {} } }],
    ] as const) {
      const { it, server, ask } = await stage(t, (asking) => {
        asking.rounds = [[asked]]
        asking.result = '{"content":[],"isError":true}'
      })
      const value = await ask({ name: 's__t' }, { capabilities })
      const data = at(value, 'error', 'data')
      assert.deepEqual(data, { requiredCapabilities: required, cause: { content: [], isError: true } })
      assert.equal(codeOf(value), -32021)
      assert.equal(numberAt(server.answers[0], 'error', 'code'), -32601)
      await closed(it)
    }
  })

  test('may want a page visited first: its error has another code and the same data', async (t) => {
    const page = { mode: 'url', message: 'Log in', url: 'https://a.example/', elicitationId: 'e' }
    const { it, server, ask } = await stage(t, (asking) => {
      asking.refusals.push(JSON.stringify({ code: -32042, message: 'no', data: { elicitations: [page] } }))
    })
    const value = await ask({ name: 's__t' }, { capabilities: { elicitation: { url: {} } } })
    assert.deepEqual([codeOf(value), at(value, 'error', 'data')], [-32603, { elicitations: [page] }])
    assert.equal(server.calls.length, 0)
    await closed(it)
  })
})

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

test('after a cancelled call, a process that clients share is left, and the next one asks', async (t) => {
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

const withLimits = (pendingInput: Partial<Limits['pendingInput']>): { readonly limits: Limits } => ({
  limits: { ...limits, pendingInput: { ...limits.pendingInput, ...pendingInput } },
})

const nested = (depth: number): object => JSON.parse(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`)

test('a state that is longer than any, no text, or nested as deep as may be, is refused and answers nothing', async (t) => {
  const { it, server, ask, begin } = await stage(t)
  const { state } = await begin()
  const params = { name: 's__t', inputResponses: { q1: accepted } }
  for (const requestState of ['A'.repeat(70_000), `${state}${'A'.repeat(1_000_000)}`, '='.repeat(70_000)])
    assert.equal(reasonOf(await ask({ ...params, requestState })), 'state-unknown')
  for (const requestState of [1, null, [state], { state }])
    assert.equal(codeOf(await ask({ ...params, requestState })), -32602)
  const tooDeep = await ask({ ...params, requestState: state, inputResponses: { q1: nested(200) } })
  assert.equal(codeOf(tooDeep), -32600)
  assert.deepEqual(server.answers, [])
  const deep = { ...params, requestState: state, inputResponses: { q1: nested(100) } }
  assert.equal(textOf(await ask(deep)), 'done')
  assert.deepEqual(at(server.answers[0], 'result'), nested(100))
  await closed(it)
})

test('of what waits for clients: one principal has so many calls, and all have so many', async (t) => {
  const { it, server, client, ask } = await stage(
    t,
    () => {},
    { s: {} },
    withLimits({ callsMax: 3, callsOfOneMax: 2 }),
  )
  const { client: other } = await it.attach()
  const asked: unknown[] = []
  for (const by of [client, client, client, other, other])
    asked.push(at(await ask({ name: 's__t' }, { client: by }), 'result', 'resultType'))
  const [yes, no] = ['input_required', 'complete']
  assert.deepEqual(asked, [yes, yes, no, yes, no])
  const codes = server.answers.map((answer) => numberAt(answer, 'error', 'code'))
  assert.deepEqual(codes, [-32601, -32601])
  await closed(it)
})

test('of what waits for clients: all messages of one principal have room together', async (t) => {
  const room = withLimits({ heldBytesOfOneMax: 20_000 })
  const { it, server, client, ask } = await stage(t, () => {}, { s: {} }, room)
  const { client: other } = await it.attach()
  const large = { name: 's__t', arguments: { text: 'a'.repeat(8000) } }
  const types: unknown[] = []
  const states: string[] = []
  for (const by of [client, client, client, other]) {
    const { result } = Object(await ask(large, { client: by }))
    types.push(at(result, 'resultType'))
    states.push(String(at(result, 'requestState')))
  }
  const yes = 'input_required'
  assert.deepEqual(types, [yes, yes, 'complete', yes])
  assert.equal(numberAt(server.answers[0], 'error', 'code'), -32601)
  const back = { ...large, requestState: states[3] }
  const long = { q1: { action: 'accept', content: { name: 'b'.repeat(20_000) } } }
  const refused = await ask({ ...back, inputResponses: long }, { client: other })
  assert.deepEqual([codeOf(refused), reasonOf(refused)], [-32603, 'overloaded'])
  const value = await ask({ ...back, inputResponses: { q1: accepted } }, { client: other })
  assert.equal(textOf(value), 'done', 'it may come again with less')
  await closed(it)
})
