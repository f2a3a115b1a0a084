// A search service that wants a key: `node search.mjs SERVICE`, with Z_AI_API_KEY in its environment.

import { serve, text } from './serve.mjs'

const service = process.argv[2] ?? 'search'

serve({
  name: 'search',
  capabilities: { tools: {} },
  requests: {
    'tools/list': () => ({
      tools: [
        {
          name: 'web_search',
          description: 'Search the web',
          inputSchema: {
            type: 'object',
            properties: {
              query: { type: 'string', description: 'What to search for' },
              num_results: { type: 'integer', minimum: 1, maximum: 20 },
            },
            required: ['query'],
          },
        },
      ],
    }),
    'tools/call': ({ arguments: { query, num_results: count = 1 } = {} }) => {
      if (query === undefined) {
        const message = "Invalid params: Missing required parameter 'query'"
        throw { code: -32602, message, data: { parameter: 'query' } }
      }
      if (!process.env.Z_AI_API_KEY) {
        const message = 'Authentication failed: Invalid or missing Z_AI_API_KEY'
        throw { code: -32603, message, data: { service } }
      }
      return text(Array.from({ length: count }, (_, at) => `${at + 1}. ${query}`).join('\n'))
    },
  },
})
