// A server without sessions that asks before it goes on, or whose answers its revision does not allow.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { codeOf, textOf } from './support/asking.js'
import { at, textAt } from './support/json.js'
import { type Act, closed, scripted, stateless, timed } from './support/scripted.js'
import type { Scope } from './support/spawned.js'
import { claim } from './support/claim.js'

const own = claim({ elicitation: {}, sampling: {} })
const form = { method: 'elicitation/create', params: { message: '?', requestedSchema: {} } }
const accepted = { action: 'accept', content: { name: 'x' } }

/** The answers to the first, second, … call; each gets the params. `error` is the text of an error. */
type Answers = readonly ((params: unknown) => object | { readonly error: string })[]

/** Servers that answer so; `calls` has the params of each call, and `call` makes one without a session. */
async function stage(
  t: Scope,
  answers: Answers,
  servers: readonly string[] = ['s'],
  more: Parameters<typeof scripted>[4] = {},
) {
  const calls: unknown[] = []
  const act: Act = (_method, child, params) => {
    if (child.command === 'nothing') return { error: '{"code":-32602,"message":"Resource not found"}' }
    const answer = answers[calls.push(params) - 1]?.(params) ?? {}
    return 'error' in answer ? { error: String(answer.error) } : JSON.stringify(answer)
  }
  const entries = servers.map((name) => [name, { argumentChecks: 'off', protocol: '2026-07-28' }])
  const it = await scripted(t, Object.fromEntries(entries), stateless(act), {}, more)
  const { client } = await it.attach()
  const call = async (params: object = {}): Promise<unknown> => {
    const asked = client.request('tools/call', { name: 's__t', ...params, _meta: own })
    return (await timed(it, asked)).heard.value
  }
  return { it, calls, call }
}

const asks = (inputRequests: object, requestState?: string) => (): object => ({
  resultType: 'input_required',
  inputRequests,
  ...(requestState !== undefined && { requestState }),
})
const done = (): object => ({ resultType: 'complete', content: [{ type: 'text', text: 'done' }] })
const tokens = [
  { name: 'ann', sha256: 'a'.repeat(64) },
  { name: 'bob', sha256: 'b'.repeat(64) },
]
const fronts: [title: string, server: object, isSigned: boolean][] = [
  ['one token', { tokens: tokens.slice(1) }, false],
  ['several tokens', { tokens }, true],
  ['a token for everything beside another', { token: 'x', tokens: tokens.slice(1) }, true],
]
for (const [title, server, isSigned] of fronts)
  test(`a stateless client behind a front with ${title} ${isSigned ? 'cannot' : 'can'} bring the state of another`, async (t) => {
    const { it, calls } = await stage(t, [asks({ who: form }, 'own'), done], ['s'], { server })
    const ask = async (principal: string, params: object): Promise<unknown> => {
      const { client } = await it.attach({ principal, isSeveral: true })
      const sent = { name: 's__t', ...params, _meta: own }
      return (await timed(it, client.request('tools/call', sent))).heard.value
    }
    const requestState = textAt(await ask('ann', {}), 'result', 'requestState')
    const answer = await ask('bob', { requestState, inputResponses: { who: accepted } })
    if (isSigned) assert.equal(textAt(answer, 'error', 'data', 'reason'), 'state-unknown')
    assert.equal(calls.length, isSigned ? 1 : 2)
    await closed(it)
  })

test('a stateless client returns without a state that was not given, and to no other server', async (t) => {
  const { it, calls } = await stage(t, [asks({ who: form }), done], ['nothing', 's'])
  const { client } = await it.attach()
  const ask = async (params: object): Promise<unknown> =>
    (await timed(it, client.request('resources/read', { uri: 'x://y', ...params, _meta: own }))).heard.value
  assert.equal(at(await ask({}), 'result', 'requestState'), undefined)
  const read = (): number =>
    it.runtime.children.flatMap(({ heard }) => heard.filter((method) => method === 'resources/read')).length
  const before = read()
  const value = await ask({ inputResponses: { who: accepted } })
  assert.equal(textAt(value, 'error', 'data', 'reason'), 'state-other-server')
  assert.equal(read(), before, 'either server may have asked, so none gets the answers')
  assert.equal(calls.length, 1)
  await closed(it)
})

test('a client with a session opened on several lines is declared to its server on one', async (t) => {
  const { it } = await stage(t, [asks({ who: form }), done])
  const { client } = await it.attach()
  const params = {
    protocolVersion: '2025-06-18',
    capabilities: { elicitation: { form: {} } },
    clientInfo: {},
  }
  const opened = client.answer('i')
  client.send(JSON.stringify({ jsonrpc: '2.0', id: 'i', method: 'initialize', params }, undefined, 2))
  await timed(it, opened)
  client.notify('notifications/initialized')
  client.onRequest = () => JSON.stringify(accepted)
  assert.equal(textOf((await timed(it, client.call('s__t', {}))).heard.value), 'done')
  await closed(it)
})

test('errors about the connection reach no client, and the call is made twice at most', async (t) => {
  for (const [code, want] of [
    [-32020, -32603],
    [-32022, -32603],
    [-32042, -32603],
    [-32099, -32603],
    [-32021, -32021],
  ] as const) {
    const error = `{"code":-1,"code":${code},"message":"m","data":{"supported":["2025-11-25"]}}`
    for (const written of [error, error.replace('"code":-1,', '')]) {
      const { it, calls, call } = await stage(
        t,
        Array(3).fill(() => ({ error: written })),
      )
      assert.equal(codeOf(await call()), want)
      assert(calls.length <= 2, `${calls.length} calls`)
      await closed(it)
    }
  }
})

test('a state of a megabyte goes to its client and back', async (t) => {
  const state = 's'.repeat(1024 * 1024)
  const { it, call } = await stage(t, [asks({ who: form }, state), done])
  const requestState = textAt(await call(), 'result', 'requestState')
  assert(requestState.endsWith(state))
  assert.equal(textOf(await call({ requestState })), 'done')
  await closed(it)
})
