// A server with tasks of revision 2025-11-25, which go on when a tool is called.
//
// A call with `task` begins one. Its id is the text of `id`, or else a number behind the variable TASKS. `finish` ends it,
// and `report` reports its progress. `curious` asks its client during `tasks/result`, and `echo` answers with its own
// line. The list has a page for each task, and one for a task of another client.

import { ask, notify, serve, text, tool } from './serve.mjs'

const prefix = process.env.TASKS ?? 'task-'
const parts = (process.env.TASK_PARTS ?? 'list,cancel').split(',').filter((part) => part !== '')
const tasks = new Map()
let last = 0

const withTasks = (name, taskSupport) => ({
  ...tool(name, `Of tasks: ${taskSupport}`),
  execution: { taskSupport },
})

const date = '2025-11-25T10:30:00Z'
const shown = ({ taskId, status, ttl }) => ({
  taskId,
  status,
  createdAt: date,
  lastUpdatedAt: date,
  ttl,
  'x-odd': '1.0',
})
const related = (taskId) => ({ 'io.modelcontextprotocol/related-task': { taskId } })

function begin({ name, arguments: given = {}, task: { ttl = null }, _meta }) {
  last += 1
  const taskId = given.id ?? `${prefix}${last}`
  const task = { taskId, ttl, name, status: 'working', token: _meta?.progressToken }
  task.ended = new Promise((resolve) => (task.end = resolve))
  tasks.set(taskId, task)
  return { task: shown(task) }
}

function found(taskId) {
  const task = tasks.get(taskId)
  if (task === undefined) throw { code: -32602, message: `no task ${taskId} here` }
  return task
}

function to(task, status) {
  task.status = status
  notify('notifications/tasks/status', shown(task))
  if (status !== 'input_required') task.end()
}

async function resultOf(task) {
  if (task.name === 'curious' && task.status === 'working') {
    to(task, 'input_required')
    const params = {
      message: `For ${task.taskId}?`,
      requestedSchema: { type: 'object', properties: {} },
      _meta: related(task.taskId),
    }
    const { result, error } = await ask('elicitation/create', params)
    task.answer = result?.action ?? `refused: ${error.code}`
    to(task, 'completed')
  }
  await task.ended
  const said = task.name === 'curious' ? task.answer : `${task.name} ${task.taskId}`
  return { ...text(said), _meta: related(task.taskId) }
}

const ordinary = {
  finish: ({ id }) => to(found(id), 'completed'),
  report: ({ id, progress }) =>
    notify('notifications/progress', { progressToken: found(id).token, progress, _meta: related(id) }),
  die: () => process.exit(3),
}

serve({
  name: 'task-server',
  capabilities: {
    tools: {},
    tasks: { ...Object.fromEntries(parts.map((part) => [part, {}])), requests: { tools: { call: {} } } },
  },
  requests: {
    'tools/list': () => ({
      tools: [
        ...Object.keys(ordinary).map((name) => tool(name, 'Ends at once')),
        withTasks('work', 'optional'),
        withTasks('must', 'required'),
        withTasks('curious', 'required'),
        withTasks('echo', 'optional'),
      ],
    }),
    'tools/call': (params, { line }) => {
      const { name, arguments: given, task } = params
      if (name === 'echo') return text(line)
      if (task !== undefined) return begin(params)
      if (name === 'must') throw { code: -32601, message: 'as a task only' }
      ordinary[name]?.(given)
      return text(`${name} done`)
    },
    'tasks/get': ({ taskId }) => shown(found(taskId)),
    'tasks/result': ({ taskId }) => resultOf(found(taskId)),
    'tasks/cancel': ({ taskId }) => {
      to(found(taskId), 'cancelled')
      return shown(found(taskId))
    },
    'tasks/list': ({ cursor = '0' }) => {
      const all = [{ taskId: 'elsewhere', status: 'working', ttl: null }, ...tasks.values()].map(shown)
      const at = Number(cursor)
      return { tasks: all.slice(at, at + 1), ...(at + 1 < all.length && { nextCursor: String(at + 1) }) }
    },
  },
})
