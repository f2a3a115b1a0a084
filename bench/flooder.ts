// One client that asks for more than there is, of a proxy over HTTP, until its stdin ends.
//
//   node flooder.js KIND PORT      prints a line once it is at its limit, where it has one
//
// A few requests are out at a time, of which each begins when another one is answered, so that it takes no more of the
// machine than a busy client with ordinary calls does.

import { randomBytes } from 'node:crypto'
import { type Socket, connect } from 'node:net'

import { TOOL, STATELESS_REVISION } from './era-messages.js'
import { type FloodKind, isFloodKind } from './flood-kinds.js'
import { Connection } from './http-client.js'
import { exitWithStdin } from './http-ends.js'

const AT_ONCE = 8
const PREFIX = 'io.modelcontextprotocol'
const LISTENS = 512
/** As many kinds of clients as have all the calls that one may have waiting. */
const ASKING_KINDS = 4
const PARKED = 32 * ASKING_KINDS
const STATE_BYTES = 120
/** Nobody answers a call whose question was refused. */
const ASK_WAIT_MS = 100

interface Said {
  readonly method?: string
  readonly params: Readonly<Record<string, unknown>>
  readonly capabilities?: object
}

let port = 0
let asked = 0

/** The bytes of one request. */
function post({ method = 'tools/call', params, capabilities = {} }: Said): string {
  const id = ++asked
  const _meta = {
    [`${PREFIX}/protocolVersion`]: STATELESS_REVISION,
    [`${PREFIX}/clientCapabilities`]: capabilities,
    [`${PREFIX}/clientInfo`]: { name: `client ${id}`, version: '1' },
  }
  const body = JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta } })
  const { name } = params
  const fields = [
    `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:${port}`,
    'Accept: application/json, text/event-stream\r\nContent-Type: application/json',
    `MCP-Protocol-Version: ${STATELESS_REVISION}\r\nMcp-Method: ${method}`,
    ...(typeof name === 'string' ? [`Mcp-Name: ${name}`] : []),
    `Content-Length: ${Buffer.byteLength(body)}`,
  ]
  return `${fields.join('\r\n')}\r\n\r\n${body}`
}

const echo = { name: TOOL, arguments: { text: 'packages/core/src' } }

/** Capabilities that no request before had, of one of fifty kinds. */
function another(index: number): object {
  const bits = index % 50
  return {
    ...(bits % 5 > 0 && { elicitation: { [bits % 2 === 0 ? 'form' : 'url']: {} } }),
    ...(bits % 3 > 0 && { sampling: bits % 3 === 1 ? {} : { tools: {} } }),
    ...(bits > 24 && { roots: {} }),
    extensions: { [`com.example/${index}`]: {} },
  }
}

function asking(index: number): object {
  const kind = index % ASKING_KINDS
  return {
    elicitation: { form: {} },
    ...(kind % 2 === 1 && { roots: {} }),
    ...(kind > 1 && { sampling: {} }),
  }
}

/** A socket with this request on it, which nobody reads. */
async function unread(request: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  await new Promise((resolve) => socket.once('connect', resolve))
  socket.write(request)
  return socket
}

/** Requests that are answered, on connections that stay. */
async function answered(said: (index: number) => Said): Promise<void> {
  const one = async (): Promise<void> => {
    const connection = await Connection.open(port)
    for (;;) await new Promise((resolve, reject) => connection.send(post(said(asked)), true, resolve, reject))
  }
  await Promise.all(Array.from({ length: AT_ONCE }, one))
}

/** So many requests that stay open; from then on as many at a time as are refused, or closed after a while. */
async function kept(count: number, said: (index: number) => Said, waitMs: number): Promise<void> {
  for (let index = 0; index < count; index += 1) await unread(post(said(index)))
  process.stdout.write('at the limit\n')
  const one = async (): Promise<void> => {
    for (;;) {
      const socket = await unread(post(said(asked)))
      await new Promise((resolve) => {
        socket.once('data', resolve)
        setTimeout(resolve, waitMs)
      })
      socket.destroy()
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, one))
}

const filter = { notifications: { toolsListChanged: true } }

async function flood(kind: FloodKind): Promise<void> {
  switch (kind) {
    case 'ordinary':
      return answered(() => ({ params: echo }))
    case 'sets':
      return answered((index) => ({ method: 'tools/list', params: {}, capabilities: another(index) }))
    case 'listens':
      return kept(LISTENS, () => ({ method: 'subscriptions/listen', params: filter }), ASK_WAIT_MS)
    case 'parked':
      return kept(
        PARKED,
        (index) => ({ params: { name: 'asking__ask', arguments: {} }, capabilities: asking(index) }),
        ASK_WAIT_MS,
      )
    case 'states':
      return answered(() => {
        const requestState = randomBytes(STATE_BYTES).toString('base64url')
        return { params: { ...echo, requestState, inputResponses: {} }, capabilities: asking(0) }
      })
    case 'closed':
      return kept(0, () => ({ params: echo }), 0)
  }
}

exitWithStdin()
const [kind = '', at = ''] = process.argv.slice(2)
if (!isFloodKind(kind)) throw new Error(`no flood '${kind}'`)
port = Number(at)
if (kind !== 'listens' && kind !== 'parked' && kind !== 'closed') process.stdout.write('begun\n')
await flood(kind)
