// The client of the conformance runs, on stdio, through the proxy.
//
// usage: conformance-client.mjs CLI REVISION URL, with the scenario in MCP_CONFORMANCE_SCENARIO and its context in
// MCP_CONFORMANCE_CONTEXT; starts `CLI --url URL` and speaks REVISION to it.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import { loginPlace } from './conformance-login.mjs'

const [cli, revision, url] = process.argv.slice(2)
const { MCP_CONFORMANCE_SCENARIO: scenario, MCP_CONFORMANCE_CONTEXT: context = '{}' } = process.env
/** Whether every request says by itself what it is of. */
const isTyped = revision >= '2026-07-28'
const capabilities = { elicitation: { form: { applyDefaults: true } }, sampling: {}, roots: {} }
const clientInfo = { name: 'conformance-client', version: '1.0.0' }
const key = (name) => `io.modelcontextprotocol/${name}`
const claim = isTyped && {
  [key('protocolVersion')]: revision,
  [key('clientCapabilities')]: capabilities,
  [key('clientInfo')]: clientInfo,
}

const samples = { string: 'x', integer: 1, number: 1.5, boolean: true, array: [], object: {}, null: null }

/** Arguments that a tool takes. */
const fitting = ({ name, inputSchema: { properties = {} } }) => ({
  name,
  arguments: Object.fromEntries(Object.entries(properties).map(([key, { type }]) => [key, samples[type]])),
})
const each = (tools) => tools.map(fitting)

/** The calls of a scenario after the list. */
const calls = {
  tools_call: () => [{ name: 'add_numbers', arguments: { a: 5, b: 3 } }],
  'elicitation-sep1034-client-defaults': () => [{ name: 'test_client_elicitation_defaults', arguments: {} }],
  'sse-retry': () => [{ name: 'test_reconnection', arguments: {} }],
  /** Sends back the schema that came. */
  'json-schema-2020-12-preservation': (tools) => {
    const { inputSchema } = tools.find(({ name }) => name === 'json_schema_2020_12_tool')
    return [{ name: 'json_schema_echo', arguments: { schema: inputSchema } }]
  },
  'sep-2322-client-request-state': each,
  'http-standard-headers': each,
  'http-invalid-tool-headers': each,
  'http-custom-headers': () => JSON.parse(context).toolCalls,
}

const isLogin = scenario.startsWith('auth/')
/** Scenarios whose login must fail: metadata of another issuer or resource, and an answer of another issuer. */
const refused = /^auth\/(?:iss-(?:normalized|supported-missing|unexpected|wrong-issuer)|.*-mismatch)$/
/** Of 200 ms each. */
const waitsMax = 400
const place = isLogin
  ? loginPlace(scenario, url, JSON.parse(context))
  : { args: ['--url', url], env: process.env, remove: () => undefined }
process.on('exit', place.remove)

/** Accepts a form as it stands: a field has its default (SEP-1034), or any value of its type. */
function accepted({ requestedSchema: { properties } }) {
  const content = Object.entries(properties).map(([name, field]) => [
    name,
    field.default ?? samples[field.type],
  ])
  return { action: 'accept', content: Object.fromEntries(content) }
}

const answerTo = ({ method, params }) => (method === 'elicitation/create' ? accepted(params) : {})

const proxy = spawn(process.execPath, [cli, ...place.args], { stdio: 'pipe', env: place.env })
const exited = once(proxy, 'exit')
const waiting = new Map()
let waits = 0
let hasFailed = false
const send = (message) => proxy.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)

/** Comes again with what it is asked for, as often as that is. */
async function request(method, params = {}) {
  const id = waiting.size + 1
  const answered = new Promise((resolve) => waiting.set(id, resolve))
  send({ id, method, params: { ...params, ...(claim && { _meta: claim }) } })
  const { result, error } = await answered
  if (error !== undefined) {
    // The browser of the person is faster than a person, and slower than a call; so is a start on a busy machine.
    const isEarly = error.data?.reason === 'login-required' || /still starting/.test(error.message)
    if (isEarly && !(hasFailed && refused.test(scenario)) && ++waits < waitsMax) {
      await setTimeout(200)
      return request(method, params)
    }
    throw new Error(`${method}: ${error.message}`)
  }
  if (result.resultType !== 'input_required') return result
  const { inputRequests = {}, requestState } = result
  const answers = Object.entries(inputRequests).map(([name, asked]) => [name, answerTo(asked)])
  const inputResponses = Object.fromEntries(answers)
  return request(method, { ...params, inputResponses, ...(requestState && { requestState }) })
}

createInterface({ input: proxy.stderr }).on('line', (line) => {
  hasFailed ||= line.includes('its login failed')
  console.error(line)
})
createInterface({ input: proxy.stdout }).on('line', (line) => {
  const { id, method, params, ...answer } = JSON.parse(line)
  if (method === undefined) waiting.get(id)?.(answer)
  else if (id !== undefined) send({ id, result: answerTo({ method, params }) })
})

if (!isTyped) {
  await request('initialize', { protocolVersion: revision, capabilities, clientInfo })
  send({ method: 'notifications/initialized' })
}
const { tools } = await request('tools/list')
for (const call of calls[scenario]?.(tools) ?? []) await request('tools/call', call)
if (scenario === 'http-standard-headers') {
  const { resources } = await request('resources/list')
  for (const { uri } of resources) await request('resources/read', { uri })
  const { prompts } = await request('prompts/list')
  for (const { name } of prompts) await request('prompts/get', { name })
}
if (isLogin) {
  await request('tools/call', { name: 'test-tool', arguments: {} })
  // The scenario with two authorization servers changes to the second one after an answer.
  await request('tools/list')
}
proxy.stdin.end()
const [code] = await exited
process.exitCode = code ?? 1
