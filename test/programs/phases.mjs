// A server that is another one each time it is started.
//
// PHASES is a JSON list, one object for each start, the last one for all after it; FILE counts the starts.
// In a phase:
// - `tools`: names of its tools; all say which start it is, but `die` ends the program, and `ask` asks its client for
//   roots first;
// - `dies`: methods at which the program ends.
// Each line that comes in is added to FILE.

import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

const { FILE, PHASES } = process.env
const said = existsSync(FILE) ? readFileSync(FILE, 'utf8') : ''
const start = said.split('\n').filter((line) => line.startsWith('start ')).length
const phases = JSON.parse(PHASES)
const phase = phases[Math.min(start, phases.length - 1)]
const { tools = ['which', 'die'], dies = [] } = phase

appendFileSync(FILE, `start ${process.pid}\n`)

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
const asked = new Map()

const handlers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: {
      tools: { listChanged: true },
      prompts: {},
      resources: { subscribe: true },
      logging: {},
      completions: {},
    },
    serverInfo: { name: 'phases', version: '1' },
  }),
  ping: () => ({}),
  'tools/list': () => ({ tools: tools.map((name) => ({ name, inputSchema: { type: 'object' } })) }),
  'prompts/list': () => ({ prompts: [{ name: 'p' }] }),
  'prompts/get': () => ({ messages: [{ role: 'user', content: { type: 'text', text: `start ${start}` } }] }),
  'resources/list': () => ({ resources: [{ name: 'r', uri: 'it://r' }] }),
  'resources/templates/list': () => ({ resourceTemplates: [] }),
  'resources/read': ({ uri }) => ({ contents: [{ uri, text: `start ${start}` }] }),
  'resources/subscribe': () => ({}),
  'resources/unsubscribe': () => ({}),
  'logging/setLevel': () => ({}),
  'completion/complete': () => ({ completion: { values: [`start ${start}`] } }),
  'tools/call': async ({ name, arguments: args }) => {
    if (name === 'die') process.exit(3)
    if (name === 'ask') {
      send({ id: `ask-${args?.n}`, method: 'roots/list' })
      const answer = await new Promise((resolve) => asked.set(`ask-${args?.n}`, resolve))
      return { content: [{ type: 'text', text: JSON.stringify(answer.result ?? answer.error) }] }
    }
    return { content: [{ type: 'text', text: JSON.stringify({ start, pid: process.pid }) }] }
  },
}

createInterface({ input: process.stdin }).on('line', async (line) => {
  appendFileSync(FILE, `${line}\n`)
  const { id, method, params, ...rest } = JSON.parse(line)
  if (method === undefined) return asked.get(id)?.(rest)
  if (id === undefined) return
  if (dies.includes(method)) process.exit(4)
  if (method === 'server/discover') return send({ id, error: { code: -32601, message: 'no such method' } })
  const result = await handlers[method]?.(params ?? {})
  if (result !== undefined) send({ id, result })
})
