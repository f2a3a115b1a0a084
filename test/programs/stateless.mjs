// A server of revision 2026-07-28 on stdin and stdout, which takes nothing that its revision does not have.
//
// FILE gets every message that it was sent. With MODE it has a handshake and one tool, and ends on the question what it
// speaks: `exits`, or `locks`, where LOCK must be free when it starts.

import { appendFileSync, closeSync, openSync, unlinkSync } from 'node:fs'
import { serve as serveSessions } from './serve.mjs'
import { describe, hints, key, serve, text, tool } from './typed-serve.mjs'

const { FILE, LOCK, MODE } = process.env
const heard = (message) => FILE && appendFileSync(FILE, `${JSON.stringify(message)}\n`)
const listens = new Map()

/** Everybody who listens for it hears it. */
function tellAll(kind, method, params) {
  for (const [id, { filter, tell }] of listens) {
    const isWanted = filter[kind] === true || filter.resourceSubscriptions?.includes(params.uri)
    if (isWanted) tell(method, { ...params, _meta: { [key('subscriptionId')]: id } })
  }
}

const calls = {
  meta: ({ _meta }) => text(JSON.stringify(_meta)),
  log({ _meta, arguments: { level = 'info' } = {} }, { tell }) {
    const least = _meta[key('logLevel')]
    if (least !== undefined) tell('notifications/message', { level, data: 'said' })
    return text(String(least))
  },
  change() {
    tellAll('toolsListChanged', 'notifications/tools/list_changed', {})
    for (const uri of ['it://a', 'it://b']) tellAll('', 'notifications/resources/updated', { uri })
    return text('changed')
  },
}

const capabilities = {
  tools: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  prompts: {},
  logging: {},
}

function serveStateless() {
  serve(
    {
      'server/discover': () => describe(capabilities),
      'tools/list': () => ({ tools: Object.keys(calls).map((name) => tool(name)), ...hints }),
      'prompts/list': () => ({ prompts: [], ...hints }),
      'resources/list': () => ({ resources: [{ name: 'a', uri: 'it://a' }], ...hints }),
      'resources/templates/list': () => ({ resourceTemplates: [], ...hints }),
      'tools/call': (params, request) => calls[params.name](params, request),
      'subscriptions/listen'({ notifications }, { id, tell, signal }) {
        const { resourceSubscriptions: uris, ...lists } = notifications
        const known = uris?.filter((uri) => uri !== 'it://no')
        const filter = { ...lists, ...(known && { resourceSubscriptions: known }) }
        listens.set(id, { filter, tell })
        signal.addEventListener('abort', () => listens.delete(id))
        const _meta = { [key('subscriptionId')]: id }
        tell('notifications/subscriptions/acknowledged', { notifications: filter, _meta })
      },
    },
    heard,
  )
}

function serveOld() {
  if (MODE === 'locks') {
    closeSync(openSync(LOCK, 'wx'))
    process.on('exit', () => unlinkSync(LOCK))
  }
  serveSessions({
    name: 'old',
    capabilities: { tools: {} },
    requests: {
      'server/discover'(_params, { line }) {
        heard(JSON.parse(line))
        // Its last words take a while, so that the lock is not free immediately.
        setTimeout(() => process.exit(1), 100)
      },
      'tools/list': () => ({ tools: [tool('old')] }),
      'tools/call': () => text('old'),
    },
  })
}

if (MODE === undefined) serveStateless()
else serveOld()
