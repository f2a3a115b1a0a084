// Changes its tools when it is told to: `node late.mjs [MS]` also answers initialize only after a while.

import { notify, serve, text, tool } from './serve.mjs'

const delayMs = Number(process.argv[2] ?? 0)
const tools = [tool('grow', 'Adds a tool')]

const after = (result) => new Promise((resolve) => setTimeout(resolve, delayMs, result))

serve({
  name: 'late',
  capabilities: { tools: { listChanged: true } },
  requests: {
    initialize: ({ protocolVersion }) =>
      after({
        protocolVersion,
        capabilities: { tools: { listChanged: true } },
        serverInfo: { name: 'late', version: '1.0.0' },
      }),
    'tools/list': () => ({ tools }),
    'tools/call': ({ name }) => {
      if (name !== 'grow') return text(name)
      tools.push(tool('grown', 'Was added'))
      notify('notifications/tools/list_changed')
      return text('grown')
    },
  },
})
