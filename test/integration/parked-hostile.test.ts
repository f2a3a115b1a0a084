// Hostile and excessive requests of clients without a session, while servers ask.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { type Limits, limits } from '../../src/index.js'
import { accepted, codeOf, reasonOf, stage, textOf } from './support/asking.js'
import { at, numberAt } from './support/json.js'
import { closed } from './support/scripted.js'

const withLimits = (pendingInput: Partial<Limits['pendingInput']>): { readonly limits: Limits } => ({
  limits: { ...limits, pendingInput: { ...limits.pendingInput, ...pendingInput } },
})

const nested = (depth: number): object => JSON.parse(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`)

describe('a state', () => {
  test('that is longer than any, no text, or nested as deep as may be, is refused and answers nothing', async (t) => {
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
})

describe('of what waits for clients', () => {
  test('one principal has so many calls, and all have so many', async (t) => {
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

  test('requests, questions and answers of one principal have room together', async (t) => {
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
})
