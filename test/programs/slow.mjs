// Takes its time: a tool that never answers, and one that says who was cancelled.

import { serve, text, tool } from './serve.mjs'

const cancelled = []

serve({
  name: 'slow',
  capabilities: { tools: {} },
  requests: {
    'tools/list': () => ({
      tools: [tool('hang', 'Never answers'), tool('cancelled', 'Lists the reasons of cancels')],
    }),
    'tools/call': ({ name }) => (name === 'hang' ? undefined : text(cancelled.join(', '))),
  },
  told: {
    'notifications/cancelled': ({ reason }) => cancelled.push(reason),
  },
})
