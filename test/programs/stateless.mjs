// A server of revision 2026-07-28 on stdin and stdout, which takes nothing that its revision does not have.
//
// FILE gets every line that it was sent. MODE is `only` (no handshake), `exits` (ends on everything before `initialize`) or
// `locks` (the same, and LOCK must be free when it starts).

import { appendFileSync, closeSync, openSync, unlinkSync } from 'node:fs'
import { createInterface } from 'node:readline'

const { FILE, LOCK, MODE = 'only' } = process.env
const V = '2026-07-28'
const key = (name) => `io.modelcontextprotocol/${name}`
const hints = { ttlMs: 0, cacheScope: 'private' }
const info = { [key('serverInfo')]: { name: 'stateless', version: '1' } }
const listens = new Map()
let isOpen = false

if (MODE === 'locks') {
  closeSync(openSync(LOCK, 'wx'))
  // Its last words take a while.
  process.on('exit', () => unlinkSync(LOCK))
}

const write = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
const text = (value) => ({ content: [{ type: 'text', text: value }] })
const tool = (name) => ({ name, inputSchema: { type: 'object' } })

/** Everybody who listens for it hears it. */
function tell(kind, method, params) {
  for (const [id, filter] of listens) {
    const isWanted = filter[kind] === true || filter.resourceSubscriptions?.includes(params.uri)
    if (isWanted) write({ method, params: { ...params, _meta: { [key('subscriptionId')]: id } } })
  }
}

const calls = {
  meta: ({ _meta }) => text(JSON.stringify(_meta)),
  log({ _meta, arguments: { level = 'info' } = {} }) {
    const least = _meta[key('logLevel')]
    if (least !== undefined) write({ method: 'notifications/message', params: { level, data: 'said' } })
    return text(String(least))
  },
  change() {
    tell('toolsListChanged', 'notifications/tools/list_changed', {})
    for (const uri of ['it://a', 'it://b']) tell('', 'notifications/resources/updated', { uri })
    return text('changed')
  },
}

const handlers = {
  'server/discover': () => ({
    supportedVersions: [V],
    capabilities: {
      tools: { listChanged: true },
      resources: { subscribe: true, listChanged: true },
      prompts: {},
      logging: {},
    },
    instructions: 'says little',
    ...hints,
  }),
  'tools/list': () => ({ tools: Object.keys(calls).map(tool), ...hints }),
  'prompts/list': () => ({ prompts: [{ name: 'p' }], ...hints }),
  'resources/list': () => ({ resources: [{ name: 'a', uri: 'it://a' }], ...hints }),
  'resources/templates/list': () => ({ resourceTemplates: [], ...hints }),
  'tools/call': (params) => calls[params.name](params),
  'subscriptions/listen'({ notifications }, id) {
    const { resourceSubscriptions: uris, ...lists } = notifications
    const honoured = {
      ...lists,
      ...(uris && { resourceSubscriptions: uris.filter((uri) => uri !== 'it://no') }),
    }
    listens.set(id, honoured)
    const params = { notifications: honoured, _meta: { [key('subscriptionId')]: id } }
    write({ method: 'notifications/subscriptions/acknowledged', params })
    return undefined
  },
}

function request({ id, method, params }) {
  try {
    if (params?._meta?.[key('protocolVersion')] !== V) throw { code: -32602, message: 'it names no revision' }
    if (handlers[method] === undefined) throw { code: -32601, message: `no such method: ${method}` }
    const result = handlers[method](params, id)
    if (result === undefined) return
    write({ id, result: { resultType: 'complete', ...result, _meta: info } })
  } catch ({ code, message, data }) {
    write({ id, error: { code, message, ...(data && { data }) } })
  }
}

/** What a server with a handshake does, which has nothing but one tool. */
function bare({ id, method, params }) {
  if (id === undefined) return
  if (method === 'initialize') {
    const serverInfo = { name: 'stateless', version: '1' }
    write({
      id,
      result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo },
    })
  } else if (method === 'tools/list') write({ id, result: { tools: [tool('old')] } })
  else if (method === 'tools/call') write({ id, result: text('old') })
  else write({ id, error: { code: -32601, message: 'no such method' } })
}

createInterface({ input: process.stdin }).on('line', (line) => {
  if (FILE !== undefined) appendFileSync(FILE, `${line}\n`)
  const message = JSON.parse(line)
  isOpen ||= message.method === 'initialize'
  if (MODE === 'exits' || MODE === 'locks') {
    // A lock is not free immediately.
    return isOpen ? bare(message) : setTimeout(() => process.exit(1), 100)
  }
  if (message.method === 'notifications/cancelled') listens.delete(message.params.requestId)
  else if (message.id !== undefined) request(message)
})
