// The times that a server and its tools may take, and what happens when they are over.

import { strict as assert } from 'node:assert'
import { before, describe, test } from 'node:test'
import { at, textAt } from './support/json.js'
import { type Act, enter, handshake, scripted, timed } from './support/scripted.js'

const errorOf = (value: unknown): readonly unknown[] => [
  textAt(value, 'error', 'message'),
  at(value, 'error', 'data'),
]

interface Asked {
  readonly method: string
  readonly id: string
  readonly params: unknown
}

const answers: Readonly<Record<string, string>> = {
  initialize: handshake('s', '{"tools":{},"prompts":{},"resources":{}}'),
  'tools/list': '{"tools":[]}',
  'prompts/list': '{"prompts":[{"name":"p"}]}',
  'resources/list': '{"resources":[{"uri":"it://r","name":"r"}]}',
  'resources/templates/list': '{"resourceTemplates":[]}',
}

/** A server that does not answer these methods, and keeps its requests. */
function silent(asked: Asked[], ...unanswered: readonly string[]): Act {
  return (method, child, params) => {
    asked.push({ method, id: child.lastId, params })
    return unanswered.includes(method) ? undefined : (answers[method] ?? '{}')
  }
}

const ofMethod = (asked: readonly Asked[], method: string): Asked[] =>
  asked.filter((each) => each.method === method)

/** The ids of the requests that were cancelled, as the server knows them. */
const cancelledIn = (asked: readonly Asked[]): string[] =>
  ofMethod(asked, 'notifications/cancelled').map(({ params }) => JSON.stringify(at(params, 'requestId')))

describe('each time is one of its own', () => {
  // Otherwise loaded by the first call, while simulated time goes by.
  before(() => import('../../src/mcp/arguments/argument-validator.js'))

  test('a list that takes too long is given up and cancelled, and the other lists are there', async (t) => {
    const asked: Asked[] = []
    const it = await scripted(t, { s: { startTimeout: 2000 } }, silent(asked, 'tools/list'))
    const { client } = await enter(it)
    await it.runtime.pass(2000)
    assert.deepEqual(cancelledIn(asked)[0], ofMethod(asked, 'tools/list')[0]?.id)
    assert(it.log.some(({ message }) => message.includes('tools/list within 2000 ms (startTimeout)')))
    const { heard } = await timed(it, client.request('prompts/list'))
    assert.deepEqual(textAt(heard.value, 'result', 'prompts', 0, 'name'), 's__p')
  })

  test('a read that takes too long is cancelled as a call is', async (t) => {
    const asked: Asked[] = []
    const it = await scripted(t, { s: { timeout: 150 } }, silent(asked, 'resources/read', 'prompts/get'))
    const { client } = await enter(it)
    const read = await timed(it, client.request('resources/read', { uri: 'it://r' }))
    const got = await timed(it, client.request('prompts/get', { name: 's__p' }))
    assert.deepEqual(errorOf(read.heard.value), [
      "'s': no answer or progress for resources/read within 150 ms (timeout)",
      { service: 's', reason: 'timeout', budget: 'timeout', ms: 150 },
    ])
    assert.equal(textAt(got.heard.value, 'error', 'data', 'prompt'), 's__p')
    assert.deepEqual(
      cancelledIn(asked),
      [...ofMethod(asked, 'resources/read'), ...ofMethod(asked, 'prompts/get')].map(({ id }) => id),
    )
  })
})
