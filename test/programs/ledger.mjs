// A server that writes one line into a file for each thing that it does, so that a test can compare what was done with what
// was answered.
//
// LEDGER: the file. Its lines are `run N`, `cancelled N`, `progress N`, and `answered N VALUE` for what a client said.

import { appendFileSync } from 'node:fs'
import { ask, notify, serve, text, tool } from './serve.mjs'

const calls = new Map()
const held = new Map()
let kept = ''

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
      _meta: { progressToken: `of ${n}` },
    })
    const value = result?.content?.value ?? JSON.stringify(result ?? error)
    record('answered', n, value)
    return text(value)
  },
  /** Waits for `release`, or for ever. */
  hold: ({ n }) =>
    new Promise((resolve) => {
      held.set(n, () => resolve(text(n)))
    }),
  release: ({ n, of }) => {
    held.get(of)?.()
    return text(n)
  },
  /** Says that a resource has changed. */
  touch: ({ n, uri }) => {
    notify('notifications/resources/updated', { uri })
    return text(n)
  },
  /** Remembers a value in the memory of this process. */
  keep: ({ n, value }) => {
    kept = value
    return text(n)
  },
  kept: () => text(kept),
}

serve({
  name: 'ledger',
  capabilities: { tools: {}, logging: {}, resources: { subscribe: true } },
  requests: {
    'tools/list': () => ({ tools: Object.keys(tools).map((name) => tool(name, name)) }),
    'tools/call': ({ name, arguments: args, _meta }, { id }) => {
      record('run', args.n)
      calls.set(id, args.n)
      return tools[name](args, _meta?.progressToken)
    },
    'resources/list': () => ({ resources: [{ name: 'a', uri: 'ledger://a' }] }),
    'resources/subscribe': ({ uri }) => {
      record('subscribed', uri)
      return {}
    },
    'logging/setLevel': ({ level }) => {
      record('level', level)
      return {}
    },
  },
  told: {
    'notifications/cancelled': ({ requestId }) => record('cancelled', calls.get(requestId)),
    'notifications/progress': ({ progressToken }) => record('progress', progressToken),
  },
})
