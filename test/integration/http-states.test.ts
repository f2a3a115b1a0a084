// States over HTTP in the hands of clients that change them, keep them, or send them where they do not belong.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { resolveConfig } from '../../src/config/config.js'
import { type Gateway, type GatewayOptions, openGateway } from '../../src/gateway/gateway.js'
import { realRuntime } from '../../src/real-runtime.js'
import { message, messageIn, send } from '../transports/support/http.js'
import { at, numberAt, parsed, textAt } from './support/json.js'
import { nodeProgram, root } from './support/programs.js'
import type { Scope } from './support/spawned.js'

const prefix = 'io.modelcontextprotocol'
const version = '2026-07-28'
const capabilities = { elicitation: { form: {} } }
const claim = { [`${prefix}/protocolVersion`]: version, [`${prefix}/clientCapabilities`]: capabilities }
const mine = 'the-token-of-one-client'
const theirs = 'the-token-of-somebody-else'
const stateKey = 'the key of every instance'

const rounds = nodeProgram('rounds.mjs', {}, {})
const asks = nodeProgram('asks.mjs', {}, {})
const servers = { s: rounds, t: rounds, old: asks }

interface InstanceOptions extends GatewayOptions {
  readonly token?: string
  readonly mcpServers?: object
}

async function instance(scope: Scope, options: InstanceOptions = {}): Promise<Gateway> {
  const { token = mine, mcpServers = servers, ...more } = options
  const read = { server: { port: 0, token, stateKey }, mcpServers }
  const config = resolveConfig(read, { source: 'test', folder: root, env: process.env })
  const opened = await openGateway(config, more)
  scope.after(() => opened.close(0))
  return opened
}

interface Asked {
  readonly token?: string
  readonly method?: string
}

async function ask(
  { port }: Gateway,
  params: Readonly<Record<string, unknown>>,
  { token = mine, method = 'tools/call' }: Asked = {},
): Promise<unknown> {
  const headers = {
    authorization: `Bearer ${token}`,
    'mcp-protocol-version': version,
    'mcp-method': method,
    'mcp-name': String(params['name'] ?? params['uri']),
  }
  const { status, body } = await send(port, {
    body: message(method, 1, { _meta: claim, ...params }),
    headers,
  })
  assert.equal(status, 200, body)
  return messageIn(body)
}

const inputResponses = { q1: { action: 'accept', content: { name: 'x' } } }

interface Kind {
  readonly title: string
  /** What is asked first, and with the state again. */
  readonly name: string
  readonly done: string
}

/** What two kinds of states stand for: what a server of the newest revision has said, and a call that waits at an older one. */
const kinds: readonly Kind[] = [
  { title: 'of a server without sessions', name: 's__stateOnly', done: 'again with later "é"' },
  {
    title: 'of a call that waits',
    name: 'old__elicitation',
    done: '{"action":"accept","content":{"name":"x"}}',
  },
]

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

for (const { title, name, done } of kinds)
  describe(`a state ${title}`, () => {
    test('opens as it was given, and neither changed in any letter nor cut anywhere', async (t) => {
      const gateway = await instance(t)
      const requestState = await stateOf(gateway, name)
      for (let place = 0; place < requestState.length; place++) {
        const one = await ask(gateway, { name, inputResponses, requestState: changed(requestState, place) })
        assert.deepEqual(refusal(one), unknown, `changed at ${place}`)
        const cut = await ask(gateway, { name, inputResponses, requestState: requestState.slice(0, place) })
        assert.deepEqual(refusal(cut), unknown, `cut at ${place}`)
      }
      assert.equal(said(await ask(gateway, { name, inputResponses, requestState })), done)
    })

    test('opens for its principal, method and name alone', async (t) => {
      const [one, other] = [await instance(t), await instance(t, { token: theirs })]
      const requestState = await stateOf(one, name)
      const back = { name, inputResponses, requestState }
      const stolen = await ask(other, back, { token: theirs })
      assert.deepEqual(refusal(stolen), unknown, 'by another principal, at an instance with the same key')
      for (const method of ['prompts/get', 'resources/read'])
        assert.deepEqual(refusal(await ask(one, { ...back, uri: name }, { method })), unknown, method)
      for (const wrong of ['s__noState', 't__stateOnly', 'old__sampling'])
        assert.deepEqual(refusal(await ask(one, { ...back, name: wrong })), unknown, wrong)
      assert.equal(said(await ask(one, back)), done)
    })
  })

test('a state of a server opens at every instance until it expires, and leads to no other server', async (t) => {
  let skewMs = 0
  const runtime = { ...realRuntime(), wallNow: () => Date.now() + skewMs }
  const [one, two] = [await instance(t), await instance(t, { runtime })]
  const name = 's__stateOnly'
  const requestState = await stateOf(one, name)
  assert.equal(said(await ask(two, { name, requestState })), 'again with later "é"')
  for (const mcpServers of [{ s: asks }, { other: rounds }]) {
    const three = await instance(t, { mcpServers })
    assert.deepEqual(refusal(await ask(three, { name, requestState })), [-32602, 'state-other-server'])
  }
  skewMs = 3_600_001
  assert.deepEqual(refusal(await ask(two, { name, requestState })), [-32602, 'state-expired'])
  assert.equal(said(await ask(one, { name, requestState })), 'again with later "é"')
})

test('a state of a call that waits opens where the call waits alone, and answers it once', async (t) => {
  const [one, two] = [await instance(t), await instance(t)]
  const name = 'old__elicitation'
  const requestState = await stateOf(one, name)
  const back = { name, inputResponses, requestState }
  assert.deepEqual(refusal(await ask(two, back)), unknown)
  assert.deepEqual(parsed(said(await ask(one, back))), at(inputResponses, 'q1'))
  const declined = { q1: { action: 'decline' } }
  assert.deepEqual(refusal(await ask(one, { ...back, inputResponses: declined })), [-32602, 'state-answered'])
})
