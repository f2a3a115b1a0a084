// Ends in the middle of a call.

import { serve, text, tool } from './serve.mjs'

serve({
  name: 'crash',
  capabilities: { tools: {} },
  requests: {
    'tools/list': () => ({ tools: [tool('crash', 'Ends the process'), tool('fine', 'Answers')] }),
    'tools/call': ({ name }) => (name === 'crash' ? process.exit(3) : text('fine')),
  },
})
