// Lists of two pages that say how long they hold: HINTED_MS, and half of it; HINTED_SCOPE says for whom.

import { serve, text, tool } from './serve.mjs'

const ttlMs = Number(process.env.HINTED_MS)
const cacheScope = process.env.HINTED_SCOPE ?? 'public'

serve({
  name: 'hinted',
  capabilities: { tools: {} },
  requests: {
    'tools/list': ({ cursor }) =>
      cursor === undefined
        ? { tools: [tool('one', 'Says one')], nextCursor: '2', ttlMs, cacheScope }
        : { tools: [tool('two', 'Says two')], ttlMs: ttlMs / 2, cacheScope: 'public' },
    'tools/call': ({ name }) => text(name),
  },
})
