// What the reference server answers is what a client behind the gateway gets, byte for byte.
//
// The conformance suite asks whether an answer has the right members; here it is compared.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { gatewayTo, referenceUrl, references } from '../integration/support/reference.js'
import { events, handshake, message, send } from '../transports/support/http.js'

const tool = (name: string, args: object = {}): [string, object] => ['tools/call', { name, arguments: args }]
const prompt = (name: string, args: object = {}): [string, object] => [
  'prompts/get',
  { name, arguments: args },
]
const resource = (uri: string): [string, object] => ['resources/read', { uri }]

const requests: [string, object][] = [
  ['tools/list', {}],
  ['prompts/list', {}],
  ['resources/list', {}],
  ['resources/templates/list', {}],
  tool('test_simple_text'),
  tool('test_image_content'),
  tool('test_audio_content'),
  tool('test_embedded_resource'),
  tool('test_multiple_content_types'),
  tool('test_error_handling'),
  tool('json_schema_2020_12_tool', { name: 'é\u2028"', contactMethod: 'phone', phone: '1' }),
  prompt('test_simple_prompt'),
  prompt('test_prompt_with_arguments', { arg1: 'hello', arg2: 'wörld' }),
  prompt('test_prompt_with_embedded_resource', { resourceUri: 'test://example' }),
  prompt('test_prompt_with_image'),
  resource('test://static-text'),
  resource('test://static-binary'),
  resource('test://watched-resource'),
  resource('test://template/123/data'),
  [
    'completion/complete',
    {
      ref: { type: 'ref/prompt', name: 'test_prompt_with_arguments' },
      argument: { name: 'arg1', value: 'par' },
    },
  ],
  ['resources/subscribe', { uri: 'test://watched-resource' }],
  ['resources/unsubscribe', { uri: 'test://watched-resource' }],
  ['logging/setLevel', { level: 'info' }],
  ['ping', {}],
]

/** Every answer of a server, as it came. */
async function answers(port: number, accept: string): Promise<string[]> {
  const headers = { ...(await handshake(port)), accept }
  await send(port, { body: message('notifications/initialized'), headers })
  const all: string[] = []
  for (const [at, [method, params]] of requests.entries()) {
    const { status, body } = await send(port, { body: message(method, at, params), headers })
    assert.equal(status, 200, `${method}: ${body}`)
    all.push(events(body).at(-1)?.data ?? body)
  }
  return all
}

const json = 'application/json, text/event-stream'
const stream = 'text/event-stream, application/json'

describe('what the reference answers, behind the gateway', () => {
  for (const [kind, server] of Object.entries(references))
    test(kind, async (t) => {
      const direct = await answers(Number(new URL(await referenceUrl(t)).port), json)
      const { port } = await gatewayTo(t, await server(t))
      assert.deepEqual(await answers(port, json), direct)
      assert.deepEqual(await answers(port, stream), direct)
    })
})
