// Proxies that do wrong what the checkers of a run must notice.

import { once } from 'node:events'
import { type ClientRequest, type IncomingMessage, createServer, request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { at, numberAt, parsed, textAt } from '../../integration/support/json.js'
import type { Scope } from '../../integration/support/spawned.js'

/** A call is sent twice, is answered without having been sent, or gets the answer of another client. */
export const wrongs = ['repeats', 'invents', 'confuses'] as const

export type Wrong = (typeof wrongs)[number]

/** Every so many calls go wrong. */
const EVERY = 5

/** Forwards to the port, and does wrong to some calls; gives its own port. */
export async function wrongProxy(scope: Scope, wrong: Wrong, port: number): Promise<number> {
  let calls = 0
  let earlier = ''
  const server = createServer((asked, response) => {
    void buffer(asked).then((body) => {
      const call = callIn(body)
      const isWrong = call !== undefined && ++calls % EVERY === 0
      if (isWrong && wrong === 'invents') {
        const result = { content: [{ type: 'text', text: call.n }] }
        response.setHeader('content-type', 'application/json')
        response.end(JSON.stringify({ jsonrpc: '2.0', id: call.id, result }))
        return
      }
      const other = isWrong && wrong === 'confuses' ? body.toString().replaceAll(call.n, earlier) : body
      earlier = call?.n ?? earlier
      const sent = forward(port, asked, other)
      sent.on('response', (answer: IncomingMessage) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(response)
        // While the first is under way, its id is in use.
        if (isWrong && wrong === 'repeats') answer.on('end', () => forward(port, asked, body))
      })
      response.on('close', () => sent.destroy())
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  scope.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return numberAt(server.address(), 'port')
}

/** The id and the number of a call; undefined for every other message. */
function callIn(body: Uint8Array): { readonly id: unknown; readonly n: string } | undefined {
  if (body.length === 0) return undefined
  const message = parsed(Buffer.from(body).toString())
  const n = textAt(message, 'params', 'arguments', 'n')
  return n === '' ? undefined : { id: at(message, 'id'), n }
}

function forward(port: number, asked: IncomingMessage, body: string | Uint8Array): ClientRequest {
  const { 'transfer-encoding': _, 'content-length': __, ...headers } = asked.headers
  const sent = request({
    port,
    host: '127.0.0.1',
    path: asked.url,
    method: asked.method,
    agent: false,
    headers: { ...headers, host: `127.0.0.1:${port}`, 'content-length': Buffer.byteLength(body) },
  })
  sent.on('error', () => undefined)
  sent.on('response', (answer: IncomingMessage) => answer.on('error', () => undefined))
  sent.end(body)
  return sent
}
