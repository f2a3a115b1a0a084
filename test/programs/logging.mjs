// Logs at every level when its tool is called.

import { notify, serve, text, tool } from './serve.mjs'

const levels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']
let least = 0

serve({
  name: 'logging',
  capabilities: { tools: {}, logging: {} },
  requests: {
    'tools/list': () => ({ tools: [tool('log', 'Logs')] }),
    'tools/call': () => {
      for (const level of levels.slice(least))
        notify('notifications/message', { level, logger: 'test', data: { level } })
      return text('logged')
    },
    'logging/setLevel': ({ level }) => {
      least = levels.indexOf(level)
      return {}
    },
  },
})
