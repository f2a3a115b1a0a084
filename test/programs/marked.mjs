// One tool, of whose arguments HTTP clients repeat some in header fields.

import { serve, text } from './serve.mjs'

serve({
  name: 'marked',
  capabilities: { tools: {} },
  requests: {
    'tools/list': () => ({
      tools: [
        {
          name: 'marked',
          inputSchema: {
            type: 'object',
            properties: {
              region: { type: ['string', 'null'], 'x-mcp-header': 'Region' },
              size: { type: 'integer', 'x-mcp-header': 'Size' },
              deep: {
                type: 'object',
                properties: { on: { type: 'boolean', 'x-mcp-header': 'On' } },
              },
            },
          },
        },
      ],
    }),
    'tools/call': () => text('called'),
  },
})
