// Answers with a line of as many bytes as it is asked for.

import { serve, text, tool } from './serve.mjs'

serve({
  name: 'huge',
  capabilities: { tools: {} },
  requests: {
    'tools/list': () => ({
      tools: [tool('huge', 'A long text', { length: { type: 'integer' } }, ['length'])],
    }),
    'tools/call': ({ arguments: { length } }) => text('x'.repeat(length)),
  },
})
