// Has tools that can, must and must not be called as tasks; `grow` adds one more that must. With WITHOUT=tasks it offers none.

import { notify, serve, text, tool } from './serve.mjs'

const capabilities = {
  tools: { listChanged: true },
  ...(process.env.WITHOUT !== 'tasks' && { tasks: { requests: { tools: { call: {} } } } }),
}
const withTasks = (name, taskSupport) => ({
  ...tool(name, `Of tasks: ${taskSupport}`),
  execution: { taskSupport },
})
const tools = [
  tool('grow', 'Adds a tool'),
  withTasks('never', 'forbidden'),
  withTasks('perhaps', 'optional'),
  withTasks('always', 'required'),
  { ...tool('odd', 'Says nothing about tasks'), execution: { other: 'required' } },
]

serve({
  name: 'task-tools',
  capabilities,
  requests: {
    'tools/list': () => ({ tools }),
    'tools/call': ({ name }) => {
      if (name !== 'grow') return text(name)
      tools.push(withTasks('later', 'required'))
      notify('notifications/tools/list_changed')
      return text('grown')
    },
  },
})
