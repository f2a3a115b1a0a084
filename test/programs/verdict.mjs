// A server with a choice of answers to `server/discover`. Its tool lists the methods that this process, or this path, has
// received so far.
//
// usage: verdict.mjs WAY         on stdin and stdout
//        verdict.mjs --http PORT with the way as the path; digits are the status of a refusal without a body

import { createServer } from 'node:http'
import { text as bodyOf } from 'node:stream/consumers'
import { onLines, send } from './serve.mjs'
import { describe, hints, key, refused, text, tool, version } from './typed-serve.mjs'

const older = '2025-11-25'
const hears = tool('heard')

/** The answers to `server/discover`; undefined is none. */
const ways = {
  described: () => ({ result: { resultType: 'complete', ...describe({ tools: {} }) } }),
  unlisted: () => ({ result: { resultType: 'complete', ...describe({ tools: {} }, [older]) } }),
  strange: () => ({ result: {} }),
  refused: () => ({ error: refused(-32601, 'no such method') }),
  early: () => ({ error: refused(-32602, 'before initialize') }),
  odd: () => ({ error: refused(0, 'what?') }),
  /** Refuses once, though it speaks the revision. */
  listed: (times) => (times > 1 ? ways.described() : versions([version])),
  outdated: () => versions([older]),
  unversioned: () => ({ error: refused(-32022, 'no') }),
  foreign: () => versions(['2027-01-01']),
  header: () => ({ error: refused(-32020, 'no') }),
  capability: () => ({ error: refused(-32021, 'no', { requiredCapabilities: { sampling: {} } }) }),
  silent: () => undefined,
}
const versions = (supported) => ({ error: refused(-32022, 'no', { supported, requested: version }) })

/** Whether it has no handshake, once it has described itself. */
const isTyped = (way) => way === 'described' || way === 'listed'

/** Answers of one process, or of one path. */
class Server {
  #way
  #heard = []

  constructor(way) {
    this.#way = way
  }

  /** Undefined for what is not answered. */
  answer({ id, method, params }) {
    this.#heard.push(method)
    if (id === undefined) return undefined
    const said = method === 'server/discover' ? this.#described() : this.#called(method, params)
    return said && { jsonrpc: '2.0', id, ...said }
  }

  #described() {
    return ways[this.#way]?.(this.#heard.filter((method) => method === 'server/discover').length)
  }

  #called(method, params) {
    const typed = isTyped(this.#way) && { resultType: 'complete' }
    const isClaimed = params?._meta?.[key('protocolVersion')] === version
    if (isClaimed !== (typed !== false)) return { error: refused(-32602, 'not of its revision') }
    if (method === 'initialize') {
      const { protocolVersion } = params
      return {
        result: { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'old', version: '1' } },
      }
    }
    if (method === 'tools/list') return { result: { ...typed, tools: [hears], ...(typed && hints) } }
    return { result: { ...typed, ...text(this.#heard.join(' ')) } }
  }
}

function onStdio(way) {
  const server = new Server(way)
  let isOpen = false
  onLines((line) => {
    const message = JSON.parse(line)
    isOpen ||= message.method === 'initialize'
    if (way === 'exits' && !isOpen) return process.exit(1)
    const said = server.answer(message)
    if (said !== undefined) send(said)
  })
}

/** The older of the two transports: answers come on the stream of a GET. */
function pair(servers, request, response, message) {
  if (request.method === 'GET') {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' })
    response.write('event: endpoint\ndata: /pair-messages\n\n')
    servers.set('stream', response)
    return
  }
  if (request.url === '/pair') return response.writeHead(405).end()
  response.writeHead(202).end()
  const said = serverAt(servers, 'pair').answer(message)
  if (said !== undefined) servers.get('stream').write(`event: message\ndata: ${JSON.stringify(said)}\n\n`)
}

function serverAt(servers, way) {
  if (!servers.has(way)) servers.set(way, new Server(way))
  return servers.get(way)
}

function overHttp(port) {
  const servers = new Map()
  const server = createServer(async (request, response) => {
    const way = request.url.slice(1)
    const body = request.method === 'POST' ? await bodyOf(request) : ''
    const message = body === '' ? undefined : JSON.parse(body)
    if (way.startsWith('pair')) return pair(servers, request, response, message)
    if (message === undefined) return response.writeHead(405).end()
    const said = serverAt(servers, way).answer(message)
    if (message.method !== 'server/discover' || ways[way] !== undefined) {
      if (way === 'silent' && said === undefined && message.id !== undefined) return undefined
      if (said === undefined) return response.writeHead(202).end()
      const status = said.error === undefined ? 200 : 400
      return response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(said))
    }
    if (way === 'garbled')
      return response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"json')
    return response.writeHead(Number(way)).end()
  })
  server.listen(port, '127.0.0.1')
}

const [first, port] = process.argv.slice(2)
if (first === '--http') overHttp(Number(port))
else onStdio(first)
