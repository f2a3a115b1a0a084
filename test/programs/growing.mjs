// A server that has one tool more with each call of `grow`, and says so.

import { notify, serve, text, tool } from './serve.mjs'

const names = ['grow']

serve({
  name: 'growing',
  capabilities: { tools: { listChanged: true }, prompts: { listChanged: true } },
  requests: {
    'tools/list': () => ({ tools: names.map((name) => tool(name, `Says ${name}`)) }),
    'prompts/list': () => ({ prompts: [] }),
    'tools/call': ({ name }) => {
      names.push(`tool-${names.length}`)
      notify('notifications/tools/list_changed')
      return text(name)
    },
  },
})
