// Tells how far it is.

import { notify, serve, text, tool } from './serve.mjs'

serve({
  name: 'progress',
  capabilities: { tools: {} },
  requests: {
    'tools/list': () => ({ tools: [tool('count', 'Counts', { to: { type: 'integer' } }, ['to'])] }),
    'tools/call': ({ arguments: { to }, _meta: { progressToken } = {} }) => {
      const steps = progressToken === undefined ? 0 : to
      for (let progress = 1; progress <= steps; progress += 1) {
        notify('notifications/progress', { progressToken, progress, total: to })
      }
      return text(`counted to ${to}`)
    },
  },
})
