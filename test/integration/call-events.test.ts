// The events of calls in all combinations of client and server: the caller, the bytes on the wire, and the outcome.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { type CallEvent, httpServer } from '../../src/index.js'
import { send } from '../transports/support/http.js'
import { libraryProxy } from './support/library.js'
import { type ServerEntry, program } from './support/programs.js'
import { claim } from './support/claim.js'
import { forms } from './support/asking.js'
import { textAt } from './support/json.js'
import { enter, scripted, simple } from './support/scripted.js'

/** An event with the texts of its messages. */
interface Seen {
  readonly event: CallEvent
  readonly texts: readonly string[]
}

function seen(into: Seen[]): (event: CallEvent) => void {
  return (event) => {
    const texts = (['arguments', 'result'] as const).map((part) =>
      Buffer.from(event.bytes(part) ?? '').toString(),
    )
    into.push({ event, texts })
  }
}

const server = (file: string): ServerEntry => ({ command: process.execPath, args: [program(file)] })

describe('call events', () => {
  for (const file of ['reference.mjs', 'reference-stateless.mjs'])
    for (const era of ['old', 'new'] as const)
      test(`of a client of the ${era} era and ${file}`, async (t) => {
        const calls: Seen[] = []
        const { attach } = await libraryProxy(t, { s: server(file) }, { on: { call: seen(calls) } })
        const { client } = await attach({ principal: 'ci' })
        const { client: other } = await attach({ principal: 'laptop' })
        if (era === 'old') await client.open({}, '2025-11-25')
        await other.request('no/method')
        const meta = era === 'new' ? { _meta: claim({}, 'new') } : {}
        for (const name of ['s__test_simple_text', 's__test_error_handling', 's__none'])
          await client.request('tools/call', { name, arguments: { é: 1 }, ...meta })
        await client.request('resources/read', { uri: 'test://nothing', ...meta })

        const rows = calls.map(({ event: e }) => [
          e.principal,
          e.clientName,
          e.revision,
          e.name,
          e.outcome,
          e.isToolError,
        ])
        const name = era === 'old' ? 'it' : 'new'
        const revision = era === 'old' ? '2025-11-25' : '2026-07-28'
        assert.deepEqual(rows, [
          ['laptop', undefined, '2025-03-26', undefined, 'refused', false],
          ['ci', name, revision, 's__test_simple_text', 'answered', false],
          ['ci', name, revision, 's__test_error_handling', 'answered', true],
          ['ci', name, revision, 's__none', 'refused', false],
          ['ci', name, revision, 'test://nothing', 'error', false],
        ])
        for (const { event, texts } of calls) {
          const [args = '', result = ''] = texts
          assert.deepEqual(
            [event.argumentBytes, event.resultBytes],
            texts.map((text) => Buffer.byteLength(text)),
          )
          assert.equal(args, event.method === 'tools/call' ? '{"é":1}' : '')
          assert.equal(result === '', event.outcome !== 'answered')
          assert.equal(event.transport, 'memory')
          assert.equal(event.serverMs !== undefined, event.server !== undefined)
          assert((event.serverMs ?? 0) <= event.ms)
        }
      })

  test('name the profile, and the transport of the front', async (t) => {
    const calls: Seen[] = []
    const profiles = { review: { tools: { allow: ['s__*'] } } }
    const { proxy, attach } = await libraryProxy(
      t,
      { s: server('reference.mjs') },
      { on: { call: seen(calls) } },
      { profiles },
    )
    const { client } = await attach({ view: 'profile:review' })
    await client.open()
    await client.call('s__test_simple_text')
    const { port } = await proxy.serve(httpServer({ port: 0 }))
    const body = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s__test_simple_text"}}'
    await send(port, { body })
    const origins = calls.map(({ event }) => [event.view, event.transport, event.principal])
    assert.deepEqual(origins, [
      ['profile:review', 'memory', undefined],
      [undefined, 'http', 'anybody'],
    ])
  })
})

test('a call to which its user has agreed shows the time of its server, also when its client gives it up', async (t) => {
  const calls: CallEvent[] = []
  const answers = ['{"content":[]}', undefined]
  const it = await scripted(
    t,
    { s: { confirm: ['*'] } },
    (method, child) => (method === 'tools/call' ? answers.shift() : simple(method, child)),
    { on: { call: (event) => calls.push(event) } },
  )
  await enter(it)
  const { client } = await it.attach()
  const params = { name: 's__t', _meta: claim(forms) }
  for (const id of ['answered', 'cancelled']) {
    const { value } = await it.runtime.until(client.request('tools/call', params))
    const requestState = textAt(value, 'result', 'requestState')
    const again = { ...params, requestState, inputResponses: { q1: { action: 'accept' } } }
    client.post('tools/call', again, id)
    await it.runtime.pass(1000)
    client.notify('notifications/cancelled', { requestId: id })
    await it.runtime.pass(1000)
  }
  const ends = calls.map((e) => [e.outcome, e.server, e.isAsked, e.isConfirmed, e.serverMs !== undefined])
  assert.deepEqual(ends, [
    ['answered', 's', true, false, false],
    ['answered', 's', false, true, true],
    ['answered', 's', true, false, false],
    ['cancelled', 's', false, true, true],
  ])
})
