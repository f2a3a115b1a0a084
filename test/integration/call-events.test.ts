// The events of calls: the view, the transport and the caller, and the time of the server in calls that a person confirms.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { type CallEvent, httpServer } from '../../src/index.js'
import { send } from '../transports/support/http.js'
import { libraryProxy } from './support/library.js'
import { nodeProgram } from './support/programs.js'
import { claim } from './support/claim.js'
import { forms } from './support/asking.js'
import { textAt } from './support/json.js'
import { enter, scripted, simple } from './support/scripted.js'

for (const file of ['reference.mjs', 'reference-stateless.mjs'])
  for (const era of ['old', 'new'] as const)
    test(`call events of a client of the ${era} era and ${file}`, async (t) => {
      const rows: unknown[] = []
      const call = (e: CallEvent): void => {
        const sizes = (['arguments', 'result'] as const).map((part) => e.bytes(part)?.length ?? 0)
        const isSized = e.argumentBytes === sizes[0] && e.resultBytes === sizes[1]
        rows.push([e.clientName, e.revision, e.name, e.outcome, e.isToolError, e.code, isSized])
      }
      const { attach } = await libraryProxy(t, { s: nodeProgram(file) }, { on: { call } })
      const { client } = await attach({ principal: 'ci' })
      if (era === 'old') await client.open({}, '2025-11-25')
      const meta = era === 'new' ? { _meta: claim({}, 'new') } : {}
      for (const name of ['s__test_simple_text', 's__test_error_handling', 's__none'])
        await client.request('tools/call', { name, arguments: { é: 1 }, ...meta })
      await client.request('resources/read', { uri: 'test://nothing', ...meta })
      const of = era === 'old' ? ['it', '2025-11-25'] : ['new', '2026-07-28']
      const notFound = file === 'reference.mjs' ? -32002 : -32602
      assert.deepEqual(rows, [
        [...of, 's__test_simple_text', 'answered', false, undefined, true],
        [...of, 's__test_error_handling', 'answered', true, undefined, true],
        [...of, 's__none', 'refused', false, -32601, true],
        [...of, 'test://nothing', 'error', false, notFound, true],
      ])
    })

test('call events name the profile, and the transport of the front', async (t) => {
  const calls: CallEvent[] = []
  const profiles = { review: { tools: { allow: ['s__*'] } } }
  const { proxy, attach } = await libraryProxy(
    t,
    { s: nodeProgram('reference.mjs') },
    { on: { call: (event) => calls.push(event) } },
    { profiles },
  )
  const { client } = await attach({ view: 'profile:review' })
  await client.open()
  await client.call('s__test_simple_text')
  const { port } = await proxy.serve(httpServer({ port: 0 }))
  const body = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s__test_simple_text"}}'
  await send(port, { body })
  const origins = calls.map((event) => [event.view, event.transport, event.principal])
  assert.deepEqual(origins, [
    ['profile:review', 'memory', undefined],
    [undefined, 'http', 'anybody'],
  ])
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
