// The server of the conformance runs: everything that the 2025-11-25 scenarios ask for, with nothing in
// between but JSON.parse. On stdio, or with `--http PORT` over Streamable HTTP on loopback; 0 takes a free
// port, and the address is the first line of stdout.

import { contentRequests } from './reference-contents.mjs'
import { listen } from './reference-http.mjs'
import { onLines, send } from './serve.mjs'

const revisions = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']
const levels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']

const refused = (code, message, data) => ({ code, message, data })

/** One client, from `initialize` on. */
class Session {
  #waiting = new Map()
  #subscribed = new Set()
  #level = 'debug'
  #lastId = 0

  #requests = {
    initialize: ({ protocolVersion }) => ({
      protocolVersion: revisions.includes(protocolVersion) ? protocolVersion : revisions[0],
      capabilities: {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { subscribe: true },
        logging: {},
        completions: {},
      },
      serverInfo: { name: 'reference', version: '1.0.0' },
      instructions: 'Call the tools by their names.',
    }),
    ping: () => ({}),
    'logging/setLevel': ({ level }) => {
      if (!levels.includes(level)) throw refused(-32602, `Unknown level: ${level}`)
      this.#level = level
      return {}
    },
    ...contentRequests(
      (run, { arguments: args = {}, _meta }, send) => run(args, this.#call(send, _meta?.progressToken)),
      -32002,
    ),
    'resources/subscribe': ({ uri }) => {
      this.#subscribed.add(uri)
      return {}
    },
    'resources/unsubscribe': ({ uri }) => {
      this.#subscribed.delete(uri)
      return {}
    },
  }

  /** Takes a message; a request is answered on `send`, which gets everything about it before that. */
  async receive({ id, method, params, ...answer }, send) {
    if (method === undefined) this.#waiting.get(id)?.(answer)
    else if (id !== undefined) await this.#answer(id, method, params ?? {}, send)
  }

  async #answer(id, method, params, send) {
    try {
      const handler = this.#requests[method]
      if (handler === undefined) throw refused(-32601, `Method not found: ${method}`)
      send({ jsonrpc: '2.0', id, result: await handler(params, send) })
    } catch ({ code = -32603, message, data }) {
      send({ jsonrpc: '2.0', id, error: { code, message, ...(data !== undefined && { data }) } })
    }
  }

  /** The functions that a tool can call before its result. */
  #call(send, progressToken) {
    const tell = (method, params) => send({ jsonrpc: '2.0', method, params })
    return {
      tell,
      ask: (method, params) => this.#ask(send, method, params),
      log: (level, data) => {
        if (levels.indexOf(level) < levels.indexOf(this.#level)) return
        tell('notifications/message', { level, logger: 'reference', data })
      },
      progress: (progress, total) => {
        if (progressToken !== undefined) tell('notifications/progress', { progressToken, progress, total })
      },
    }
  }

  #ask(send, method, params) {
    this.#lastId += 1
    const id = `ask-${this.#lastId}`
    const answered = new Promise((resolve) => this.#waiting.set(id, resolve))
    send({ jsonrpc: '2.0', id, method, ...(params && { params }) })
    return answered.finally(() => this.#waiting.delete(id))
  }
}

if (process.argv[2] === '--http') {
  const url = await listen(Number(process.argv[3] ?? 0), () => new Session())
  process.stdout.write(`${url}\n`)
} else {
  const session = new Session()
  onLines((line) => void session.receive(JSON.parse(line), send))
}
