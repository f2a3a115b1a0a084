// The common part of the servers in this folder: lines of JSON-RPC on stdin and stdout.
//
// A handler gets the params of a request and answers with a result, or throws `{ code, message, data }`. It also gets the
// line, where a payload has to go back with its own bytes.

const waiting = new Map()
let lastId = 0

/** Calls `onLine` with the bytes of each line on stdin. */
export function onLines(onLine) {
  let parts = []
  process.stdin.on('data', (chunk) => {
    let from = 0
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      onLine(Buffer.concat([...parts, chunk.subarray(from, end)]))
      parts = []
      from = end + 1
    }
    parts.push(chunk.subarray(from))
  })
}

/** Answers requests until stdin ends, and `initialize` when the promise of `start` resolves. */
export function serve({
  name,
  capabilities,
  instructions,
  requests,
  notifications = {},
  serverInfo = { name, version: '1.0.0' },
  start,
}) {
  const opening = {
    initialize: async ({ protocolVersion }) => {
      await start?.()
      return { protocolVersion, capabilities, serverInfo, ...(instructions && { instructions }) }
    },
    ping: () => ({}),
  }
  const handlers = { ...opening, ...requests }
  onLines((bytes) => {
    const line = bytes.toString()
    const message = JSON.parse(line)
    if (message.method === undefined) waiting.get(message.id)?.(message)
    else if (message.id === undefined) notifications[message.method]?.(message.params ?? {})
    else void answer(handlers[message.method], message, line)
  })
}

async function answer(handler, { id, method, params }, line) {
  try {
    if (handler === undefined) throw { code: -32601, message: `Method not found: ${method}` }
    const result = await handler(params ?? {}, { id, line })
    if (result !== undefined) send({ jsonrpc: '2.0', id, result })
  } catch ({ code, message, data }) {
    send({ jsonrpc: '2.0', id, error: { code, message, ...(data !== undefined && { data }) } })
  }
}

/** Writes a message, or bytes that were made by hand. */
export function send(message) {
  process.stdout.write(`${typeof message === 'string' ? message : JSON.stringify(message)}\n`)
}

export function notify(method, params) {
  send({ jsonrpc: '2.0', method, ...(params && { params }) })
}

/** Asks the client; resolves with its whole answer. */
export function ask(method, params) {
  lastId += 1
  const id = `ask-${lastId}`
  const answered = new Promise((resolve) => {
    waiting.set(id, resolve)
  })
  send({ jsonrpc: '2.0', id, method, ...(params && { params }) })
  return answered
}

/** The result of a tool that says one thing. */
export function text(value) {
  return { content: [{ type: 'text', text: value }] }
}

/** A tool that takes the given properties. */
export function tool(name, description, properties = {}, required = []) {
  return { name, description, inputSchema: { type: 'object', properties, required } }
}
