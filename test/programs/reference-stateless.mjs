// The reference server as revision 2026-07-28 has it, on stdio: no handshake, and questions end the request. The
// client sends the same request again with its answers, and the state has the earlier ones.

import { createHmac, randomBytes } from 'node:crypto'
import { contentRequests } from './reference-contents.mjs'
import { describe, key as metaKey, refused, serve } from './typed-serve.mjs'

const levels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']
const hints = { ttlMs: 60_000, cacheScope: 'public' }
const key = randomBytes(32)

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

/** The capabilities of a client that these methods need. */
const needs = {
  'elicitation/create': 'elicitation',
  'sampling/createMessage': 'sampling',
  'roots/list': 'roots',
}

/** One request, for the tool or prompt that answers it. */
class Round {
  #answers
  #meta
  #tell
  #count = 0
  /** The current questions by key. */
  asked = {}

  constructor({ inputResponses = {}, requestState, _meta }, tell) {
    this.#meta = _meta
    this.#tell = tell
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
    if (this.#meta[metaKey('clientCapabilities')][capability] === undefined)
      throw refused(-32021, `It needs ${capability}`, { requiredCapabilities: { [capability]: {} } })
    this.asked[key] = { method, params }
    return new Promise(() => {})
  }

  declares = (capability) => this.#meta[metaKey('clientCapabilities')][capability] !== undefined

  tell = (method, params = {}) => tellListeners(method, params)

  log = (level, data) => {
    const wanted = this.#meta[metaKey('logLevel')]
    if (wanted !== undefined && levels.indexOf(level) >= levels.indexOf(wanted))
      this.#tell('notifications/message', { level, logger: 'reference', data })
  }

  progress = (progress, total) => {
    const { progressToken } = this.#meta
    if (progressToken !== undefined) this.#tell('notifications/progress', { progressToken, progress, total })
  }
}

/** Runs what may ask; gives its result, or the questions once it waits for nothing but answers. */
async function run(handler, params, { tell }) {
  const round = new Round(params, tell)
  const result = Promise.resolve(handler(params.arguments ?? {}, round))
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
  for (const [id, { filter, tell }] of listens)
    if (filter[kinds[method]] === true)
      tell(method, { ...params, _meta: { [metaKey('subscriptionId')]: id } })
}

const requests = {
  'server/discover': () => ({
    ...describe({
      tools: { listChanged: true },
      prompts: { listChanged: true },
      resources: { subscribe: true },
      logging: {},
      completions: {},
    }),
    instructions: 'Call the tools by their names.',
    ...hints,
    _meta: { [metaKey('serverInfo')]: { name: 'reference', version: '1.0.0' } },
  }),
  ...contentRequests(run, -32602, hints),
  'subscriptions/listen': ({ notifications }, { id, tell, signal }) => {
    listens.set(id, { filter: notifications, tell })
    signal.addEventListener('abort', () => listens.delete(id))
    const _meta = { [metaKey('subscriptionId')]: id }
    tell('notifications/subscriptions/acknowledged', { notifications, _meta })
  },
}

serve(requests)
