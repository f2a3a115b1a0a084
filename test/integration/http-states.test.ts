// A state over HTTP whose retry is cancelled by the end of its connection.

import { request } from 'node:http'
import { test } from 'node:test'
import type { WireTap } from '../../src/index.js'
import { message, messageIn } from '../transports/support/http.js'
import { claim } from './support/claim.js'
import { gatewayOf, requestFields, sendStateless } from './support/gateway.js'
import { textAt } from './support/json.js'
import { itServer } from './support/programs.js'
import { until } from './support/waiting.js'

test('a state is used by a retry whose response is closed, which cancels the call at once', async (t) => {
  const lines: string[] = []
  const wire: WireTap['wire'] = ({ hop, direction, bytes }) => {
    if (hop === 'upstream' && direction === 'out') lines.push(Buffer.from(bytes).toString())
  }
  const { port } = await gatewayOf(t, { mcpServers: { s: itServer() } }, { tap: { wire } })
  const args = { method: 'elicitation/create', params: { message: '?', requestedSchema: {} } }
  const params = { name: 's__ask-and-hold', arguments: args, _meta: claim({ elicitation: { form: {} } }) }
  const asked = await sendStateless(port, { method: 'tools/call', params })
  const requestState = textAt(messageIn(asked.body), 'result', 'requestState')
  const headers = {
    ...requestFields('tools/call', params),
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  }
  const inputResponses = { q1: { action: 'accept', content: { name: 'x' } } }
  const retry = request({ port, path: '/mcp', method: 'POST', headers })
  retry.on('error', () => undefined)
  retry.end(message('tools/call', 2, { ...params, requestState, inputResponses }))
  await until(() => lines.some((line) => line.includes('"accept"')))
  retry.destroy()
  await until(() => lines.some((line) => line.includes('notifications/cancelled')))
})
