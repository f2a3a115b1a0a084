// A server of revision 2026-07-28 that has one of everything, on stdio or over HTTP. FILE gets every message that it was sent.

import { appendFileSync } from 'node:fs'
import { describe, hints, key, refused, serve, text, tool } from './typed-serve.mjs'

const { FILE } = process.env
const levels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']
const numbers = { type: 'array', items: { type: 'integer' } }
const listens = new Map()
let isMore = false
/** How many calls were given up; each one calls the functions in `waiting`. */
let givenUp = 0
const waiting = new Set()

const tellAll = (kind, method, params = {}) => {
  for (const { filter, tell, id } of listens.values()) {
    const isWanted = filter[kind] === true || filter.resourceSubscriptions?.includes(params.uri)
    if (isWanted) tell(method, { ...params, _meta: { [key('subscriptionId')]: id } })
  }
}

const calls = {
  meta: ({ _meta }) => text(Object.keys(_meta).sort().join(' ')),
  capabilities: ({ _meta }) => text(JSON.stringify(_meta[key('clientCapabilities')])),
  list: () => ({ content: [], structuredContent: [1, 2, 3] }),
  untyped: () => ({ resultType: undefined, ...text('no type') }),
  unknown: () => ({ resultType: 'surprise', ...text('another type') }),
  fails: () => ({ ...text('it failed'), isError: true }),
  refuses: ({ arguments: { code, data } }) => {
    throw refused(code, 'as asked', data)
  },
  progress({ _meta }, { tell }) {
    const { progressToken } = _meta
    for (const progress of [1, 2])
      if (progressToken !== undefined) tell('notifications/progress', { progressToken, progress, total: 2 })
    return text('done')
  },
  log({ _meta }, { tell }) {
    const least = levels.indexOf(_meta[key('logLevel')])
    for (const level of ['debug', 'error'])
      if (least >= 0 && levels.indexOf(level) >= least)
        tell('notifications/message', { level, data: `said at ${level}` })
    return text(String(_meta[key('logLevel')]))
  },
  hang({ _meta: { progressToken } }, { tell, signal }) {
    if (progressToken !== undefined) tell('notifications/progress', { progressToken, progress: 1 })
    return new Promise((resolve) => {
      signal.addEventListener('abort', () => {
        givenUp += 1
        for (const wake of waiting) wake()
        resolve(text('given up'))
      })
    })
  },
  /** Waits until `least` calls were given up. */
  async givenUp({ arguments: { least } }) {
    for (;;) {
      if (givenUp >= least) return text(String(givenUp))
      await new Promise((resolve) => waiting.add(resolve))
    }
  },
  change() {
    isMore = !isMore
    tellAll('toolsListChanged', 'notifications/tools/list_changed')
    tellAll('', 'notifications/resources/updated', { uri: 'typed:///a' })
    return text('changed')
  },
}

const heard = (message) => FILE && appendFileSync(FILE, `${JSON.stringify(message)}\n`)

serve(
  {
    'server/discover': () =>
      describe({
        tools: { listChanged: true },
        resources: { subscribe: true },
        prompts: {},
        completions: {},
        logging: {},
      }),
    'tools/list': () => ({
      tools: [
        ...Object.keys(calls).map((name) => tool(name, name === 'list' ? { outputSchema: numbers } : {})),
        ...(isMore ? [tool('more')] : []),
      ],
      ...hints,
    }),
    'tools/call': (params, request) => {
      const call = calls[params.name]
      if (call === undefined) throw refused(-32602, `Unknown tool: ${params.name}`)
      return call(params, request)
    },
    'prompts/list': () => ({ prompts: [{ name: 'p' }], ...hints }),
    'prompts/get': () => ({ messages: [{ role: 'user', content: { type: 'text', text: 'said' } }] }),
    'resources/list': () => ({ resources: [{ name: 'a', uri: 'typed:///a' }], ...hints }),
    'resources/templates/list': () => ({ resourceTemplates: [], ...hints }),
    'resources/read': ({ uri }) => {
      if (uri !== 'typed:///a') throw refused(-32602, 'Resource not found', { uri })
      return { contents: [{ uri, text: 'the content' }], ttlMs: 60_000, cacheScope: 'public' }
    },
    'completion/complete': ({ argument: { value } }) => ({
      completion: { values: [`${value}!`], hasMore: false },
    }),
    'subscriptions/listen': ({ notifications }, { id, tell, signal }) => {
      const uris = notifications.resourceSubscriptions?.filter((uri) => uri === 'typed:///a')
      const filter = { ...notifications, ...(uris && { resourceSubscriptions: uris }) }
      listens.set(signal, { filter, tell, id })
      signal.addEventListener('abort', () => listens.delete(signal))
      tell('notifications/subscriptions/acknowledged', {
        notifications: filter,
        _meta: { [key('subscriptionId')]: id },
      })
      return undefined
    },
  },
  heard,
)
