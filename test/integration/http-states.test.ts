// States over HTTP in the hands of clients that change them, keep them, or send them where they do not belong.

import { strict as assert } from 'node:assert'
import { request } from 'node:http'
import { describe, test } from 'node:test'
import type { WireTap } from '../../src/index.js'
import type { Gateway, GatewayOptions } from '../../src/gateway/gateway.js'
import { message, messageIn, send } from '../transports/support/http.js'
import { numberAt, textAt } from './support/json.js'
import { itServer, nodeProgram } from './support/programs.js'
import type { Scope } from './support/spawned.js'
import { until } from './support/waiting.js'
import { claim } from './support/claim.js'
import { bearer, gatewayConfig, gatewayOf, requestFields } from './support/gateway.js'

const own = claim({ elicitation: { form: {} } })
const mine = 'the-token-of-one-client'
const theirs = 'the-token-of-somebody-else'

const rounds = nodeProgram('rounds.mjs', {}, {})
const asks = nodeProgram('asks.mjs', {}, {})
const servers = { s: rounds, t: rounds, old: asks }

const configOf = (token = mine, mcpServers: object = servers): { server: object; mcpServers: object } => ({
  server: { token },
  mcpServers,
})

const instance = (scope: Scope, mcpServers?: object, options?: GatewayOptions): Promise<Gateway> =>
  gatewayOf(scope, configOf(mine, mcpServers), options)

interface Asked {
  readonly token?: string
  readonly method?: string
}

function headersOf(
  params: Readonly<Record<string, unknown>>,
  { token = mine, method = 'tools/call' }: Asked = {},
): Record<string, string> {
  return {
    ...bearer(token),
    ...requestFields(method, params),
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  }
}

async function ask(
  { port }: Gateway,
  params: Readonly<Record<string, unknown>>,
  { token = mine, method = 'tools/call' }: Asked = {},
): Promise<unknown> {
  const headers = headersOf(params, { token, method })
  const { status, body } = await send(port, {
    body: message(method, 1, { _meta: own, ...params }),
    headers,
  })
  assert.equal(status, 200, body)
  return messageIn(body)
}

const inputResponses = { q1: { action: 'accept', content: { name: 'x' } } }

async function stateOf(gateway: Gateway, name: string): Promise<string> {
  const asked = await ask(gateway, { name })
  assert.equal(textAt(asked, 'result', 'resultType'), 'input_required', JSON.stringify(asked))
  return textAt(asked, 'result', 'requestState')
}

const said = (value: unknown): string => textAt(value, 'result', 'content', 0, 'text')

const refusal = (value: unknown): readonly unknown[] => [
  numberAt(value, 'error', 'code'),
  textAt(value, 'error', 'data', 'reason'),
]
const unknown = [-32602, 'state-unknown']

/** In Base64 for URLs every other letter is another six bits. */
function changed(state: string, place: number): string {
  const other = state[place] === 'A' ? 'B' : 'A'
  return `${state.slice(0, place)}${other}${state.slice(place + 1)}`
}

const name = 'old__elicitation'
const done = '{"action":"accept","content":{"name":"x"}}'

describe('a state of a call that waits', () => {
  test('opens as it was given, and neither changed in any letter nor cut anywhere', async (t) => {
    const gateway = await instance(t)
    const requestState = await stateOf(gateway, name)
    for (let place = 0; place < requestState.length; place++) {
      const one = await ask(gateway, { name, inputResponses, requestState: changed(requestState, place) })
      assert.equal(numberAt(one, 'error', 'code'), -32602, `changed at ${place}`)
      const cut = await ask(gateway, { name, inputResponses, requestState: requestState.slice(0, place) })
      assert.equal(numberAt(cut, 'error', 'code'), -32602, `cut at ${place}`)
    }
    assert.equal(said(await ask(gateway, { name, inputResponses, requestState })), done)
  })

  test('opens for its method and name alone, once, where the call waits', async (t) => {
    const [one, other] = [await instance(t), await instance(t)]
    const requestState = await stateOf(one, name)
    const back = { name, inputResponses, requestState }
    assert.deepEqual(refusal(await ask(other, back)), unknown, 'at another instance')
    for (const method of ['prompts/get', 'resources/read'])
      assert.deepEqual(refusal(await ask(one, { ...back, uri: name }, { method })), unknown, method)
    for (const wrong of ['s__noState', 't__stateOnly', 'old__sampling'])
      assert.deepEqual(
        refusal(await ask(one, { ...back, name: wrong })),
        [-32602, 'state-other-request'],
        wrong,
      )
    assert.equal(said(await ask(one, back)), done)
    assert.deepEqual(refusal(await ask(one, back)), unknown, 'it was used')
  })

  test('is used by a retry whose response is closed, which cancels the call at once', async (t) => {
    const lines: string[] = []
    const wire: WireTap['wire'] = ({ hop, direction, bytes }) => {
      if (hop === 'upstream' && direction === 'out') lines.push(Buffer.from(bytes).toString())
    }
    const gateway = await instance(t, { s: itServer() }, { tap: { wire } })
    const args = { method: 'elicitation/create', params: { message: '?', requestedSchema: {} } }
    const params = { name: 's__ask-and-hold', arguments: args }
    const requestState = textAt(await ask(gateway, params), 'result', 'requestState')
    const retry = request({ port: gateway.port, path: '/mcp', method: 'POST', headers: headersOf(params) })
    retry.on('error', () => undefined)
    retry.end(message('tools/call', 2, { _meta: own, ...params, requestState, inputResponses }))
    await until(() => lines.some((line) => line.includes('"accept"')))
    retry.destroy()
    await until(() => lines.some((line) => line.includes('notifications/cancelled')))
  })

  test('is of nobody any more once the token is another one', async (t) => {
    const gateway = await instance(t)
    const requestState = await stateOf(gateway, name)
    await gateway.reload(gatewayConfig(configOf(theirs)))
    const stolen = await ask(gateway, { name, inputResponses, requestState }, { token: theirs })
    assert.deepEqual(refusal(stolen), unknown)
  })
})

test('a state of a server of 2026-07-28 passes as the server wrote it, at every instance, and to no older server', async (t) => {
  const [one, two] = [await instance(t), await instance(t)]
  const requestState = await stateOf(one, 's__stateOnly')
  assert.equal(requestState, 'later "é"')
  assert.equal(said(await ask(two, { name: 's__stateOnly', requestState })), 'again with later "é"')
  const three = await instance(t, { s: asks })
  assert.deepEqual(refusal(await ask(three, { name: 's__elicitation', requestState })), [
    -32602,
    'state-other-server',
  ])
})
