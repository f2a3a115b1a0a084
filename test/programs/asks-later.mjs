// Asks its client for what that may answer later, with a task (revision 2025-11-25).
//
// `ask` sends a question and says what it was answered, `told` says what it was told of its client and by it.

import { ask, serve, text, tool } from './serve.mjs'

const heard = []
let declared

serve({
  name: 'asks-later',
  capabilities: { tools: {} },
  requests: {
    initialize(params) {
      declared = params.capabilities
      return {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'asks-later', version: '1.0.0' },
      }
    },
    'tools/list': () => ({
      tools: [tool('ask', 'Asks'), tool('told', 'Says what it was told'), tool('die', 'Ends')],
    }),
    'tools/call': async ({ name, arguments: { method, params } = {} }) => {
      if (name === 'die') process.exit(3)
      if (name === 'told') return text(JSON.stringify({ declared, heard }))
      const { result, error } = await ask(method, params)
      return text(JSON.stringify(result ?? { error }))
    },
  },
  told: {
    'notifications/tasks/status': (params) => heard.push(params),
    'notifications/progress': (params) => heard.push(params),
  },
})
