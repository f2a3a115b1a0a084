// Servers that ask during a call, and clients without a session, which come again with the answers.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { accepted, codeOf, elicitation, question, stage, textOf } from './support/asking.js'
import { at, numberAt } from './support/json.js'
import { closed } from './support/scripted.js'
import { settled } from '../upstream/support/fake-runtime.js'

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
      assert.equal(textOf(value), 'done')
      assert.deepEqual(server.answers, [])
      await closed(it)
    }
  })

  test('is refused what its client has not declared, and what is about no call', async (t) => {
    const { it, server, ask } = await stage(t)
    const value = await ask({ name: 's__t' }, { capabilities: { roots: {} } })
    assert.equal(textOf(value), 'done')
    assert.equal(numberAt(server.answers[0], 'error', 'code'), -32601)
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
      assert.deepEqual(at(value, 'error', 'data'), {
        requiredCapabilities: required,
        cause: { content: [], isError: true },
      })
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
