// The reference server as revision 2026-07-28 has it, on stdio: no handshake, and questions end the request. What a
// tool asks is answered by the same request again, with the answers so far in the state.

import { createHmac, randomBytes } from 'node:crypto'
import { createInterface } from 'node:readline'
import {
  promptList,
  promptNamed,
  resourceAt,
  resourceList,
  templateList,
  toolList,
  toolNamed,
} from './reference-contents.mjs'

const version = '2026-07-28'
const prefix = 'io.modelcontextprotocol'
const levels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']
const hints = { ttlMs: 60_000, cacheScope: 'public' }
const key = randomBytes(32)

const refused = (code, message, data) => ({ code, message, data })
const say = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
const sign = (text) => createHmac('sha256', key).update(text).digest('base64url')

function seal(answers) {
  const text = Buffer.from(JSON.stringify(answers)).toString('base64url')
  return `${text}.${sign(text)}`
}

function open(state) {
  const [text, signature] = String(state).split('.')
  if (signature !== sign(text)) throw refused(-32602, 'Invalid requestState')
  return JSON.parse(Buffer.from(text, 'base64url').toString())
}

/** What the methods that servers ask need of a client. */
const needs = {
  'elicitation/create': 'elicitation',
  'sampling/createMessage': 'sampling',
  'roots/list': 'roots',
}

/** One request, for the tool or prompt that answers it. */
class Round {
  #answers
  #meta
  #count = 0
  /** What is asked now, by key. */
  asked = {}

  constructor({ inputResponses = {}, requestState, _meta }) {
    this.#meta = _meta
    this.#answers = { ...(requestState === undefined ? {} : open(requestState)), ...inputResponses }
  }

  get state() {
    return seal(this.#answers)
  }

  /** Answers with what an earlier round has brought; else it is asked, and the tool runs again with the answer. */
  ask = (method, params = {}, key = `question${++this.#count}`) => {
    const result = this.#answers[key]
    if (result !== undefined && typeof result === 'object') return Promise.resolve({ result })
    const capability = needs[method]
    if (this.#meta[`${prefix}/clientCapabilities`][capability] === undefined)
      throw refused(-32021, `It needs ${capability}`, { requiredCapabilities: { [capability]: {} } })
    this.asked[key] = { method, params }
    return new Promise(() => {})
  }

  declares = (capability) => this.#meta[`${prefix}/clientCapabilities`][capability] !== undefined

  tell = (method, params = {}) => tellListeners(method, params)

  log = (level, data) => {
    const wanted = this.#meta[`${prefix}/logLevel`]
    if (wanted !== undefined && levels.indexOf(level) >= levels.indexOf(wanted))
      say({ method: 'notifications/message', params: { level, logger: 'reference', data } })
  }

  progress = (progress, total) => {
    const { progressToken } = this.#meta
    if (progressToken !== undefined)
      say({ method: 'notifications/progress', params: { progressToken, progress, total } })
  }
}

/** Runs what may ask; gives its result, or the questions once it waits for nothing but answers. */
async function run(params, handler) {
  const round = new Round(params)
  const result = Promise.resolve(handler(round))
  for (;;) {
    const done = await Promise.race([
      result.then((value) => ({ value })),
      new Promise((r) => setTimeout(r, 5)),
    ])
    if (done !== undefined) return done.value
    if (Object.keys(round.asked).length > 0)
      return { resultType: 'input_required', inputRequests: round.asked, requestState: round.state }
  }
}

const listens = new Map()
const kinds = {
  'notifications/tools/list_changed': 'toolsListChanged',
  'notifications/prompts/list_changed': 'promptsListChanged',
  'notifications/resources/list_changed': 'resourcesListChanged',
}

function tellListeners(method, params) {
  for (const [id, filter] of listens)
    if (filter[kinds[method]] === true)
      say({ method, params: { ...params, _meta: { [`${prefix}/subscriptionId`]: id } } })
}

const requests = {
  'server/discover': () => ({
    supportedVersions: [version],
    capabilities: {
      tools: { listChanged: true },
      prompts: { listChanged: true },
      resources: { subscribe: true },
      logging: {},
      completions: {},
    },
    instructions: 'Call the tools by their names.',
    ...hints,
    _meta: { [`${prefix}/serverInfo`]: { name: 'reference', version: '1.0.0' } },
  }),
  'tools/list': () => ({ tools: toolList, ...hints }),
  'prompts/list': () => ({ prompts: promptList, ...hints }),
  'resources/list': () => ({ resources: resourceList, ...hints }),
  'resources/templates/list': () => ({ resourceTemplates: templateList, ...hints }),
  'tools/call': (params) => {
    const tool = toolNamed(params.name)
    if (tool === undefined) throw refused(-32602, `Unknown tool: ${params.name}`)
    return run(params, (round) => tool(params.arguments ?? {}, round))
  },
  'prompts/get': (params) => {
    const prompt = promptNamed(params.name)
    if (prompt === undefined) throw refused(-32602, `Unknown prompt: ${params.name}`)
    return run(params, (round) => prompt(params.arguments ?? {}, round))
  },
  'resources/read': ({ uri }) => {
    const found = resourceAt(uri)
    if (found === undefined) throw refused(-32602, 'Resource not found', { uri })
    return { ...found, ...hints }
  },
  'completion/complete': ({ argument: { value } }) => {
    const values = ['paris', 'park', 'party', 'testing'].filter((word) => word.startsWith(value))
    return { completion: { values, total: values.length, hasMore: false } }
  },
  'subscriptions/listen': ({ notifications }, id) => {
    listens.set(id, notifications)
    say({
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications, _meta: { [`${prefix}/subscriptionId`]: id } },
    })
    return undefined
  },
}

function checked(method, params) {
  const meta = params._meta ?? {}
  const wanted = meta[`${prefix}/protocolVersion`]
  if (typeof wanted !== 'string') throw refused(-32602, `Missing _meta ${prefix}/protocolVersion`)
  if (wanted !== version)
    throw refused(-32022, 'Unsupported protocol version', { supported: [version], requested: wanted })
  if (typeof meta[`${prefix}/clientCapabilities`] !== 'object')
    throw refused(-32602, `Missing _meta ${prefix}/clientCapabilities`)
  const handler = requests[method]
  if (handler === undefined) throw refused(-32601, `Method not found: ${method}`)
  return handler
}

async function answer({ id, method, params = {} }) {
  try {
    const result = await checked(method, params)(params, id)
    if (result !== undefined) say({ id, result: { resultType: 'complete', ...result } })
  } catch ({ code = -32603, message, data }) {
    say({ id, error: { code, message, ...(data !== undefined && { data }) } })
  }
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line)
  // Nothing but requests and cancellations is for such a server.
  if (message.id !== undefined && message.method !== undefined) void answer(message)
  else if (message.method === 'notifications/cancelled') listens.delete(message.params.requestId)
  else process.stderr.write(`not for a server of ${version}: ${line}\n`)
})
