// Asks its client things: roots, sampling, elicitation, and whether it is there.
// ASKS_AT_ONCE: also for roots as soon as it may.

import { ask, notify, serve, text, tool } from './serve.mjs'

const questions = {
  roots: () => ask('roots/list'),
  sampling: () =>
    ask('sampling/createMessage', {
      messages: [{ role: 'user', content: { type: 'text', text: 'Hello?' } }],
      maxTokens: 10,
    }),
  elicitation: () =>
    ask('elicitation/create', {
      message: 'Your name?',
      requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
    }),
  ping: () => ask('ping'),
  unknown: () => ask('no/such'),
}

serve({
  name: 'asks',
  capabilities: { tools: {}, logging: {} },
  requests: {
    'tools/list': () => ({ tools: Object.keys(questions).map((name) => tool(name, `Asks for ${name}`)) }),
    'tools/call': async ({ name }) => {
      const { result, error } = await questions[name]()
      return text(JSON.stringify(result ?? error))
    },
    'logging/setLevel': () => ({}),
  },
  told: {
    'notifications/initialized': () => {
      if (process.env.ASKS_AT_ONCE) void ask('roots/list')
    },
    'notifications/roots/list_changed': () =>
      notify('notifications/message', { level: 'info', data: 'roots changed' }),
  },
})
