// Writes things on stdout that are no messages, before and between its answers.

import { send, serve, text, tool } from './serve.mjs'

send('Loading...')
serve({
  name: 'junk',
  capabilities: { tools: {} },
  requests: {
    'tools/list': () => ({ tools: [tool('speak', 'Says junk and then something')] }),
    'tools/call': () => {
      send('debug: about to answer')
      send('{"jsonrpc":"2.0"')
      send('')
      return text('something')
    },
  },
})
