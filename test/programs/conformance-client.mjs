// The client of the conformance runs: what a scenario wants of one, on stdio, through the proxy.
//
// usage: conformance-client.mjs CLI URL, with the scenario in MCP_CONFORMANCE_SCENARIO; starts `CLI --url URL`.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

const [cli, url] = process.argv.slice(2)

/** What each scenario calls after the list; nothing unless named here. */
const calls = {
  tools_call: () => ({ name: 'add_numbers', arguments: { a: 5, b: 3 } }),
  'elicitation-sep1034-client-defaults': () => ({ name: 'test_client_elicitation_defaults', arguments: {} }),
  'sse-retry': () => ({ name: 'test_reconnection', arguments: {} }),
  /** Sends back the schema that came. */
  'json-schema-2020-12-preservation': (tools) => {
    const { inputSchema } = tools.find(({ name }) => name === 'json_schema_2020_12_tool')
    return { name: 'json_schema_echo', arguments: { schema: inputSchema } }
  },
}

/** Accepts a form as it stands: each field has its default (SEP-1034). */
function accepted({ requestedSchema: { properties } }) {
  const content = Object.entries(properties).map(([name, field]) => [name, field.default])
  return { action: 'accept', content: Object.fromEntries(content) }
}

const proxy = spawn(process.execPath, [cli, '--url', url, '--silent'], {
  stdio: ['pipe', 'pipe', 'inherit'],
})
const exited = once(proxy, 'exit')
const waiting = new Map()
const send = (message) => proxy.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)

async function request(method, params) {
  const id = waiting.size + 1
  const answered = new Promise((resolve) => waiting.set(id, resolve))
  send({ id, method, params })
  const { result, error } = await answered
  if (error !== undefined) throw new Error(`${method}: ${error.message}`)
  return result
}

createInterface({ input: proxy.stdout }).on('line', (line) => {
  const { id, method, params, ...answer } = JSON.parse(line)
  if (method === undefined) waiting.get(id)?.(answer)
  else if (method === 'elicitation/create') send({ id, result: accepted(params) })
  else if (id !== undefined) send({ id, result: {} })
})

await request('initialize', {
  protocolVersion: '2025-11-25',
  capabilities: { elicitation: { form: { applyDefaults: true } } },
  clientInfo: { name: 'conformance-client', version: '1.0.0' },
})
send({ method: 'notifications/initialized' })
const { tools } = await request('tools/list', {})
const call = calls[process.env.MCP_CONFORMANCE_SCENARIO]?.(tools)
if (call !== undefined) await request('tools/call', call)
proxy.stdin.end()
const [code] = await exited
process.exitCode = code ?? 1
