// A server of revision 2026-07-28 with the extension Tasks, whose tasks go on when a tool is called.
//
// A call of `work` or `curious` begins one where its client has declared the extension. Its id is the text of `id`, or else a
// number behind the variable TASKS; the task `before` was begun in another life. `finish` ends one. `curious` wants to know
// something first. `forged` is answered with a task without a declaration too, `odd` with one that has no id.
// WITHOUT=tasks declares nothing, and does the same.

import { notify, serve, text, tool } from './serve.mjs'

const TASKS = 'io.modelcontextprotocol/tasks'
const key = (name) => `io.modelcontextprotocol/${name}`
const prefix = process.env.TASKS ?? 'task-'
const hints = { ttlMs: 0, cacheScope: 'private' }
const complete = { resultType: 'complete' }
const date = '2026-07-28T10:30:00Z'
const tasks = new Map([['before', { taskId: 'before', status: 'working', ttlMs: null }]])
const listens = new Map()
let last = 0

const shown = (task) => ({ ...task, createdAt: date, lastUpdatedAt: date, 'x-odd': '1.0' })

const declared = ({ _meta }) => _meta[key('clientCapabilities')].extensions?.[TASKS] !== undefined

function needed(params) {
  if (declared(params)) return
  const data = { requiredCapabilities: { extensions: { [TASKS]: {} } } }
  throw { code: -32021, message: 'not declared', data }
}

function begin({ arguments: { id, ttlMs = null } = {} }, more = {}) {
  last += 1
  const taskId = id ?? `${prefix}${last}`
  tasks.set(taskId, { taskId, status: 'working', ttlMs, ...more })
  return { resultType: 'task', ...shown(tasks.get(taskId)) }
}

function to(taskId, status, more) {
  const task = { ...tasks.get(taskId), status, ...more }
  tasks.set(taskId, task)
  for (const [id, wanted] of listens)
    if (wanted.includes(taskId))
      notify('notifications/tasks', { ...shown(task), _meta: { [key('subscriptionId')]: id } })
}

function found(params) {
  needed(params)
  if (!tasks.has(params.taskId)) throw { code: -32602, message: `no task ${params.taskId} here` }
  return tasks.get(params.taskId)
}

const requestedSchema = { type: 'object', properties: { n: { type: 'string' } } }
const question = { method: 'elicitation/create', params: { mode: 'form', message: 'n?', requestedSchema } }

const calls = {
  work: (params) => (declared(params) ? begin(params) : { ...complete, ...text('at once') }),
  curious: (params) => begin(params, { status: 'input_required', inputRequests: { n: question } }),
  forged: (params) => begin(params),
  odd: () => ({ resultType: 'task', status: 'working' }),
  finish({ arguments: { id } }) {
    to(id, 'completed', { result: { ...complete, ...text(`done ${id}`) } })
    return { ...complete, ...text('finished') }
  },
  die: () => process.exit(3),
}

serve({
  name: 'durable-tasks',
  requests: {
    'server/discover': () => ({
      ...complete,
      supportedVersions: ['2026-07-28'],
      capabilities: {
        tools: { listChanged: true },
        ...(process.env.WITHOUT !== 'tasks' && { extensions: { [TASKS]: {} } }),
      },
      ...hints,
    }),
    'tools/list': () => ({
      ...complete,
      tools: Object.keys(calls).map((name) => tool(name, name)),
      ...hints,
    }),
    'tools/call': (params) => calls[params.name](params),
    'tasks/get': (params) => {
      if (params.taskId === 'doom') process.exit(3)
      return { ...complete, ...shown(found(params)) }
    },
    'tasks/update': (params) => {
      const { taskId } = found(params)
      to(taskId, 'completed', { result: { ...complete, ...text(JSON.stringify(params.inputResponses)) } })
      return complete
    },
    'tasks/cancel': (params) => {
      to(found(params).taskId, 'cancelled')
      return complete
    },
    'subscriptions/listen': (params, { id }) => {
      const { taskIds, ...lists } = params.notifications
      if (taskIds !== undefined) needed(params)
      const honoured = taskIds?.filter((taskId) => tasks.has(taskId))
      listens.set(id, honoured ?? [])
      notify('notifications/subscriptions/acknowledged', {
        notifications: { ...lists, ...(honoured && { taskIds: honoured }) },
        _meta: { [key('subscriptionId')]: id },
      })
    },
  },
  notifications: { 'notifications/cancelled': ({ requestId }) => listens.delete(requestId) },
})
