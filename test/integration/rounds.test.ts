// A server without sessions that asks before it goes on, for clients of both kinds.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { at, listAt, textAt } from './support/json.js'
import { type Act, type Scripted, closed, scripted, stateless, timed } from './support/scripted.js'
import type { Scope } from './support/spawned.js'
import { claim } from './support/claim.js'

const own = claim({ elicitation: {}, sampling: {} })
const form = { method: 'elicitation/create', params: { message: '?', requestedSchema: {} } }
const accepted = { action: 'accept', content: { name: 'x' } }

/** The answers to the first, second, … call; each gets the params. */
type Answers = readonly ((params: unknown) => object)[]

interface Stage {
  readonly it: Scripted
  /** The params of each call. */
  readonly calls: unknown[]
}

async function stage(
  t: Scope,
  answers: Answers,
  servers: readonly string[] = ['s'],
  more: Parameters<typeof scripted>[4] = {},
): Promise<Stage> {
  const calls: unknown[] = []
  const act: Act = (_method, child, params) =>
    child.command === 'nothing'
      ? { error: '{"code":-32602,"message":"Resource not found"}' }
      : JSON.stringify(answers[calls.push(params) - 1]?.(params) ?? {})
  const entries = servers.map((name) => [name, { argumentChecks: 'off', protocol: '2026-07-28' }])
  const it = await scripted(t, Object.fromEntries(entries), stateless(act), {}, more)
  return { it, calls }
}

const asks = (inputRequests: object, requestState?: string) => (): object => ({
  resultType: 'input_required',
  inputRequests,
  ...(requestState !== undefined && { requestState }),
})
const done = (): object => ({ resultType: 'complete', content: [{ type: 'text', text: 'done' }] })
const textOf = (value: unknown): string => textAt(listAt(value, 'result', 'content')[0], 'text')

describe('a client without a session', () => {
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
    test(`behind a front with ${title} ${isSigned ? 'cannot' : 'can'} bring the state of another`, async (t) => {
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

  test('comes back without a state where the server gave none, and to no other server', async (t) => {
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
})

describe('a client with a session', () => {
  test('opened on several lines is declared to its server on one', async (t) => {
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
})
