// Streamable HTTP: POST, GET and DELETE at one path (MCP 2025-03-26, 2025-06-18 and 2025-11-25, Transports).
// A client without a session may send single requests, so a person with a command line needs no handshake.
//
// HTTP with SSE, the older transport: events on one response, messages to another path, which the first event
// names (MCP 2024-11-05, Transports). The session lasts as long as the event stream.

import { type Bodies, hasRequest, type PostedMessage, type ReadResult } from './body.js'
import type { ClientConnection } from './client-connection.js'
import type { ClientRegistry } from './client-registry.js'
import type { EndpointRequest } from './endpoint.js'
import type { OtherInstances } from './other-instances.js'
import { judge, namesStateless, refusesVersion, sessionIdIn, staysOpen } from './protocol.js'
import {
  crowded,
  isRefusal,
  noSession,
  noSessionId,
  type Refusal,
  refuse,
  type ServeResult,
  frontClosing,
  storeAway,
} from './refusal.js'

export class McpHandlers {
  readonly #clients: ClientRegistry
  readonly #bodies: Bodies
  readonly #others: OtherInstances | undefined
  /** Whether new requests are refused. Messages that calls in progress need, such as answers, are still served. */
  isStopping = false

  constructor(clients: ClientRegistry, bodies: Bodies, others: OtherInstances | undefined) {
    this.#clients = clients
    this.#bodies = bodies
    this.#others = others
  }

  streamable(request: EndpointRequest): ServeResult {
    const { method } = request.head
    if (method === 'POST') return this.#post(request)
    if (method !== 'GET' && method !== 'HEAD' && method !== 'DELETE')
      return refuse(405, 'Method not allowed', { allow: 'GET, POST, DELETE, OPTIONS' })
    // A client without a session has no stream, and no session to end.
    if (namesStateless(request.head)) return refuse(405, 'Method not allowed', { allow: 'POST, OPTIONS' })
    const here = (): ServeResult => (method === 'DELETE' ? this.#delete(request) : this.#get(request))
    return this.#others === undefined ? here() : this.#others.bodiless(request, here)
  }

  /** Opens a session of the older transport and its event stream. */
  async events(request: EndpointRequest, messagePath: string): Promise<Refusal | undefined> {
    const { head, response } = request
    if (head.method !== 'GET') return refuse(405, 'Method not allowed', { allow: 'GET, OPTIONS' })
    if (this.isStopping) return frontClosing
    // The client may have left while its token was checked.
    if (response.isClosed) return undefined
    const opened = this.#clients.openEvents(request)
    if (opened === undefined) return crowded
    const { id, connection } = opened
    connection.openEvents(response)
    request.onStream?.()
    await connection.attachTo(request)
    connection.invite(`${messagePath}?sessionId=${id}`)
    return undefined
  }

  /** Accepts a message with 202. Its answer is an event. */
  async message(request: EndpointRequest): Promise<Refusal | undefined> {
    if (request.head.method !== 'POST') return refuse(405, 'Method not allowed', { allow: 'POST, OPTIONS' })
    const id = new URLSearchParams(request.query).get('sessionId')
    if (id === null) return refuse(400, 'The query must name a sessionId')
    if (this.#clients.session('events', id, request) === undefined) return noSession
    const posted = await this.#bodies.read(request)
    if (posted === undefined || isRefusal(posted)) return posted
    const connection = this.#clients.session('events', id, request)
    if (this.isStopping && (connection === undefined || hasRequest(posted))) return frontClosing
    if (connection === undefined) return noSession
    connection.postEvent(posted)
    request.response.send(202, [])
    return undefined
  }

  #post(request: EndpointRequest): ServeResult {
    const { accepts } = request
    if (!accepts.json && !accepts.stream)
      return refuse(406, 'Accept must list application/json and text/event-stream')
    const take = (came: ReadResult): ServeResult => {
      if (came === undefined) return undefined
      const here = (): ServeResult =>
        this.#withNamed(request, (named) => {
          if (!isRefusal(came)) return this.#posted(came, request, named)
          // The revision of the session decides the form of the error.
          return named === undefined || isRefusal(named)
            ? (named ?? came)
            : { ...came, revision: named.revision }
        })
      if (this.#others === undefined) return here()
      // The message shows which instance must serve it.
      return isRefusal(came) ? came : this.#others.post(request, came, here)
    }
    // A body that arrived with its head is served in the same turn.
    const read = this.#bodies.read(request)
    return read instanceof Promise ? read.then(take) : take(read)
  }

  #withNamed(
    request: EndpointRequest,
    serve: (named: ClientConnection | Refusal | undefined) => ServeResult,
  ): ServeResult {
    const id = sessionIdIn(request.head)
    const named = id === undefined ? undefined : this.#named(id, request)
    return named instanceof Promise ? named.then(serve) : serve(named)
  }

  /** `named` is the client of the session in the head, or why the session is refused. */
  #posted(
    posted: PostedMessage,
    request: EndpointRequest,
    named: ClientConnection | Refusal | undefined,
  ): ServeResult {
    const { response, accepts } = request
    if (this.isStopping && (named === undefined || hasRequest(posted))) return frontClosing
    const judgement = judge(posted, named)
    if (typeof judgement === 'object') return judgement
    if (judgement === 'ignored') {
      response.send(202, [])
      return undefined
    }
    if (judgement === 'stateless' && staysOpen(posted)) request.onStream?.()
    const client =
      judgement === 'stateless'
        ? this.#clients.shared(request)
        : (named ?? this.#opened(judgement, request, posted))
    if (client === undefined) return crowded
    if (isRefusal(client)) return client
    const serve = (): Refusal | undefined =>
      // The endpoint may have been removed while the body arrived.
      client.open ? client.post(posted, response, accepts, judgement === 'opening') : frontClosing
    return client.ready === undefined ? serve() : client.ready.then(serve)
  }

  /** Returns undefined if there are too many clients. */
  #opened(
    judgement: 'opening' | 'session' | 'alone',
    request: EndpointRequest,
    { frames: [frame] }: PostedMessage,
  ): ClientConnection | undefined {
    const isAlone = judgement === 'alone'
    const client = isAlone
      ? this.#clients.single(request)
      : this.#clients.openSession(request, frame?.kind === 'request' ? frame : undefined)
    void client?.attachTo(request, isAlone ? request.head.fields.get('mcp-protocol-version') : undefined)
    return client
  }

  #get(request: EndpointRequest): ServeResult {
    const { response, head } = request
    if (head.method !== 'HEAD' && request.accepts.stream)
      return this.#inSession(request, (client) => this.#listen(request, client))
    response.sendText(200, request.endpoint.status())
    return undefined
  }

  #listen(request: EndpointRequest, client: ClientConnection): Refusal | undefined {
    if (this.isStopping) return frontClosing
    const { response, head } = request
    const listening = client.listen(response, head.fields.get('last-event-id'))
    if (listening === 'open') request.onStream?.()
    if (listening === 'busy') return refuse(409, 'Only one stream of this kind is allowed per session')
    // With No Content, the client stops resuming (HTML, server-sent events: processing model).
    if (listening === 'over') response.send(204, [])
    return listening === 'unknown' ? refuse(400, 'The events after this id are not kept') : undefined
  }

  /** The answer 200 means that the session has ended on every instance. */
  #delete(request: EndpointRequest): ServeResult {
    return this.#inSession(request, (client) =>
      client.endSession().then(
        () => {
          request.response.send(200, [])
          return undefined
        },
        () => storeAway,
      ),
    )
  }

  #inSession(request: EndpointRequest, serve: (client: ClientConnection) => ServeResult): ServeResult {
    return this.#withNamed(request, (named) => {
      if (named === undefined) return noSessionId
      return isRefusal(named) ? named : (refusesVersion(request.head, named) ?? serve(named))
    })
  }

  /** The client of a session, or why it is refused. A session of another process is revived first. */
  #named(
    id: string,
    request: EndpointRequest,
  ): ClientConnection | Refusal | Promise<ClientConnection | Refusal> {
    const named =
      this.#clients.session('session', id, request) ??
      (this.isStopping
        ? frontClosing
        : this.#clients.revive(id, request, request.head.fields.get('mcp-protocol-version')))
    if (isRefusal(named) || named.ready === undefined) return named
    return named.ready.then(() => {
      if (named.open) return named
      if (this.isStopping) return frontClosing
      return this.#others?.isAway === true ? storeAway : noSession
    })
  }
}
