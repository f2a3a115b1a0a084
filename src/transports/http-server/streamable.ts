// Streamable HTTP: POST, GET and DELETE on one endpoint.
//
// MCP 2025-03-26, 2025-06-18 and 2025-11-25, Transports. A client that keeps no
// session is served too, one request at a time, so that a person with a command
// line needs no handshake.

import type { HttpRequest, RequestHead } from '../http1/server.js'
import type { Accepts } from './access.js'
import type { Bodies, PostedMessage, ReadResult } from './body.js'
import type { ClientConnection } from './client-connection.js'
import type { ClientRegistry } from './client-registry.js'
import type { Owner } from './endpoint.js'
import {
  judge,
  refusesVersion,
  type StatelessJudgement,
  judgeStateless,
  namesStateless,
  sessionIdIn,
  staysOpen,
} from './protocol.js'
import {
  type Refusal,
  isRefusal,
  refuse,
  crowded,
  noSession,
  noSessionId,
  type ServeResult,
} from './refusal.js'

const allow = { allow: 'GET, POST, DELETE, OPTIONS' } as const

/** Serves the clients of all endpoints: those with a session, and those that are gone after one request. */
export class Streamable {
  readonly #clients: ClientRegistry
  readonly #bodies: Bodies
  readonly #gone: (head: RequestHead) => Refusal

  /** `gone` says why a client was not taken, though its endpoint was there when its request began. */
  constructor(clients: ClientRegistry, bodies: Bodies, gone: (head: RequestHead) => Refusal) {
    this.#clients = clients
    this.#bodies = bodies
    this.#gone = gone
  }

  serve(request: HttpRequest, owner: Owner, accepts: Accepts): ServeResult {
    switch (request.head.method) {
      case 'POST':
        return this.#post(request, owner, accepts)
      case 'GET':
      case 'HEAD':
        return this.#noStream(request) ?? this.#get(request, owner, accepts)
      case 'DELETE':
        return this.#noStream(request) ?? this.#delete(request, owner)
      case undefined:
      default:
        return refuse(405, 'Method not allowed', allow)
    }
  }

  #post(request: HttpRequest, owner: Owner, accepts: Accepts): ServeResult {
    const { head, body } = request
    if (!accepts.json && !accepts.stream)
      return refuse(406, 'Accept must list application/json and text/event-stream')
    const id = sessionIdIn(head)
    const client = id === undefined ? undefined : this.#clients.session('session', id, owner)
    const isLost = id !== undefined && client === undefined
    // A body that has come with the head may show that its message needs no session.
    if (isLost && body === undefined) return noSession
    const take = (came: ReadResult): ServeResult => {
      if (came === undefined) return undefined
      if (!isRefusal(came)) return this.#posted(came, request, owner, accepts, isLost ? 'lost' : client)
      return isLost ? noSession : { ...came, revision: client?.revision }
    }
    // Nearly always the body has come with its head: then the message is taken in the same turn.
    const read = this.#bodies.read(request)
    return read instanceof Promise ? read.then(take) : take(read)
  }

  /** `named` is the client of the session that the head names, if it names one. */
  #posted(
    posted: PostedMessage,
    request: HttpRequest,
    owner: Owner,
    accepts: Accepts,
    named: ClientConnection | 'lost' | undefined,
  ): ServeResult {
    const { response } = request
    const stateless = judgeStateless(posted)
    if (stateless !== undefined) return this.#postedAlone(posted, request, owner, accepts, stateless)
    // The session may have ended while the body came.
    if (named === 'lost' || named?.open === false) return noSession
    const judgement = judge(posted, named)
    if (typeof judgement === 'object') return { ...judgement, revision: named?.revision }
    const isOpening = judgement === 'opening'
    if (named !== undefined) return named.post(posted, response, accepts, isOpening)
    const opened =
      judgement === 'alone'
        ? this.#clients.single(owner)
        : this.#clients.openSession('session', owner)?.connection
    if (opened === undefined) return crowded
    const version = judgement === 'alone' ? posted.head.get('mcp-protocol-version') : undefined
    return opened.attachTo(owner, version).then(() =>
      // The endpoint may have been removed while the body came.
      opened.open ? opened.post(posted, response, accepts, isOpening) : this.#gone(posted.head),
    )
  }

  /** A message that belongs to no session, whichever its head names. */
  #postedAlone(
    posted: PostedMessage,
    { response }: HttpRequest,
    owner: Owner,
    accepts: Accepts,
    judgement: StatelessJudgement,
  ): ServeResult {
    if (typeof judgement === 'object') return judgement
    if (judgement === 'ignored') {
      response.send(202, [])
      return undefined
    }
    if (staysOpen(posted)) owner.onStream?.()
    const client = this.#clients.shared(owner)
    if (client === undefined) return crowded
    const serve = (): Refusal | undefined =>
      client.open ? client.post(posted, response, accepts) : this.#gone(posted.head)
    return client.ready === undefined ? serve() : client.ready.then(serve)
  }

  /** A client without a session has nothing to listen to, and nothing to end. */
  #noStream({ head }: HttpRequest): Refusal | undefined {
    return namesStateless(head) ? refuse(405, 'Method not allowed', { allow: 'POST, OPTIONS' }) : undefined
  }

  #get(request: HttpRequest, owner: Owner, accepts: Accepts): Refusal | undefined {
    const { response, head } = request
    if (head.method === 'HEAD' || !accepts.stream) {
      response.sendJson(200, owner.endpoint.status())
      return undefined
    }
    const client = this.#session(request, owner)
    if (isRefusal(client)) return client
    const listening = client.listen(response, head.get('last-event-id'))
    if (listening === 'open') owner.onStream?.()
    if (listening === 'busy') return refuse(409, 'Only one stream of this kind is allowed per session')
    // No Content has a client stop to resume (HTML, server-sent events: processing model).
    if (listening === 'over') response.send(204, [])
    return listening === 'unknown' ? refuse(400, 'The events after this id are not kept') : undefined
  }

  #delete(request: HttpRequest, owner: Owner): Refusal | undefined {
    const client = this.#session(request, owner)
    if (isRefusal(client)) return client
    void client.close()
    request.response.send(200, [])
    return undefined
  }

  #session({ head }: HttpRequest, owner: Owner): ClientConnection | Refusal {
    const id = sessionIdIn(head)
    if (id === undefined) return noSessionId
    const client = this.#clients.session('session', id, owner)
    if (client === undefined) return noSession
    return refusesVersion(head, client) ?? client
  }
}
