// Requests as clients of Streamable HTTP write them.

import type { Random } from './random.js'

/** A port that nobody listens on. */
export const PORT = 3095

/** How one client writes its requests. */
export interface HttpPlan {
  /** It speaks the older transport: events on one response, messages to another path. */
  readonly sse: boolean
  /** It keeps a session; else every request stands for itself. */
  readonly session: boolean
  /** It has a stream open for what belongs to no request. */
  readonly listens: boolean
  /** It asks for the rest of a stream that it lost. */
  readonly resumes: boolean
  readonly accept: string
  /** Bodies have no length that is said before. */
  readonly chunked: boolean
  /** Connections that it keeps for later. */
  readonly idleMax: number
  /** How long it takes before it comes back. */
  readonly againMs: number
  /** Says who it is. */
  readonly token?: string
}

export interface HttpRequest {
  readonly method: 'POST' | 'GET' | 'DELETE'
  /** That of Streamable HTTP where none is given. */
  readonly path?: string
  readonly session: string | undefined
  readonly revision: string | undefined
  readonly lastId?: string | undefined
  readonly body?: string
  /** The end of the body does not come. */
  readonly isCut?: boolean
  /** Lines of its head besides. */
  readonly fields?: readonly string[]
}

export function requestText(request: HttpRequest, plan: HttpPlan, random: Random): string {
  const { method, session, revision, lastId, body } = request
  const path = request.path ?? random.pick(['/mcp', '/api/default/mcp'])
  const head = [
    `${method} ${path} HTTP/1.1`,
    `Host: ${random.pick(['localhost', '127.0.0.1'])}:${PORT}`,
    `Accept: ${method === 'GET' ? 'text/event-stream' : plan.accept}`,
    ...(session === undefined ? [] : [`Mcp-Session-Id: ${session}`]),
    ...(revision === undefined ? [] : [`MCP-Protocol-Version: ${revision}`]),
    ...(plan.token === undefined ? [] : [`Authorization: Bearer ${plan.token}`]),
    ...(request.fields ?? []),
    ...(lastId === undefined ? [] : [`Last-Event-ID: ${lastId}`]),
  ]
  if (body === undefined) return `${head.join('\r\n')}\r\n\r\n`
  head.push('Content-Type: application/json')
  return withBody(head, body, { ...plan, isCut: request.isCut === true })
}

/** More than a body has whose end does not come. */
const MISSING_BYTES = 10

function withBody(
  head: readonly string[],
  body: string,
  { chunked, isCut }: { readonly chunked: boolean; readonly isCut: boolean },
): string {
  const bytes = Buffer.byteLength(body)
  if (!chunked) {
    const length = isCut ? bytes + MISSING_BYTES : bytes
    return `${[...head, `Content-Length: ${length}`].join('\r\n')}\r\n\r\n${body}`
  }
  const end = isCut ? '' : '0\r\n\r\n'
  const chunk = `${bytes.toString(16)}\r\n${body}\r\n`
  return `${[...head, 'Transfer-Encoding: chunked'].join('\r\n')}\r\n\r\n${chunk}${end}`
}
