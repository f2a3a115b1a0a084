// A server that writes one line into a file for each thing that it does, so that a test can compare what was done with what
// was answered.
//
// LEDGER: the file. Its lines are `run N`, and `answered N VALUE` for what a client said.

import { appendFileSync } from 'node:fs'
import { ask, notify, serve, text, tool } from './serve.mjs'

/** One write at the end of the file, which no other process can come between. */
function record(...words) {
  appendFileSync(process.env.LEDGER, `${words.join(' ')}\n`)
}

const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

const tools = {
  add: ({ n }) => text(n),
  slow: async ({ n, ms }, token) => {
    if (token !== undefined)
      notify('notifications/progress', { progressToken: token, progress: 1, message: n })
    await later(ms)
    return text(n)
  },
  ask: async ({ n }) => {
    const { result, error } = await ask('elicitation/create', {
      message: n,
      requestedSchema: { type: 'object', properties: { value: { type: 'string' } } },
    })
    const value = result?.content?.value ?? JSON.stringify(result ?? error)
    record('answered', n, value)
    return text(value)
  },
}

serve({
  name: 'ledger',
  capabilities: { tools: {} },
  requests: {
    'tools/list': () => ({ tools: Object.keys(tools).map((name) => tool(name, name)) }),
    'tools/call': ({ name, arguments: args, _meta }) => {
      record('run', args.n)
      return tools[name](args, _meta?.progressToken)
    },
  },
})
