// Streamable HTTP: POST, GET and DELETE on one endpoint.
//
// MCP 2025-03-26, 2025-06-18 and 2025-11-25, Transports. A client that keeps no
// session is served too, one request at a time, so that a person with a command
// line needs no handshake.

import type { Accepts } from './access.js'
import type { Bodies, PostedMessage, ReadResult } from './body.js'
import { type ConnectionLife, StreamableConnection } from './streamable-connection.js'
import type { HttpEnvironment, Owner } from './endpoint.js'
import { EventBudget, EventStore } from './event-stream.js'
import type { RequestHead, HttpRequest } from '../http1/server.js'
import {
  type Refusal,
  isRefusal,
  refuse,
  crowded,
  noSession,
  noSessionId,
  type ServeResult,
} from './refusal.js'
import {
  judge,
  refusesVersion,
  type StatelessJudgement,
  judgeStateless,
  namesStateless,
  sessionIdIn,
  staysOpen,
} from './protocol.js'
import { HttpSessions } from './sessions.js'

const allow = { allow: 'GET, POST, DELETE, OPTIONS' } as const

/** Serves the clients of all endpoints: those with a session, and those that are gone after one request. */
export class Streamable {
  readonly #environment: HttpEnvironment
  readonly #bodies: Bodies
  readonly #gone: (head: RequestHead) => Refusal
  readonly #sessions: HttpSessions<StreamableConnection>
  readonly #budget: EventBudget
  /**
   * The connections of clients without sessions: one for all requests of a principal at an endpoint, since a request needs
   * nothing of earlier ones and a connection for each would cost more than the request.
   */
  readonly #shared: HttpSessions<StreamableConnection>
  /** Those for one message of a revision with sessions. */
  readonly #single = new Set<StreamableConnection>()

  /** `gone` says why a client was not taken, though its endpoint was there when its request began. */
  constructor(environment: HttpEnvironment, bodies: Bodies, gone: (head: RequestHead) => Refusal) {
    this.#environment = environment
    this.#bodies = bodies
    this.#gone = gone
    const { sessionIdleMs, statelessIdleMs } = environment.limits
    this.#sessions = new HttpSessions(environment, sessionIdleMs, 'streamable-http')
    this.#shared = new HttpSessions(environment, statelessIdleMs)
    this.#budget = new EventBudget(environment.limits.events.totalBytesMax)
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

  sweep(): void {
    this.#sessions.sweep()
    this.#shared.sweep()
  }

  /** Ends the sessions of these principals, once what was asked in them is answered. */
  leave(isGone: (principal: string) => boolean): void {
    this.#sessions.leave(isGone)
    this.#shared.leave(isGone)
  }

  endAll(): void {
    this.#sessions.endAll()
    this.#shared.endAll()
    for (const connection of this.#single) void connection.close()
  }

  #post(request: HttpRequest, owner: Owner, accepts: Accepts): ServeResult {
    const { head, body } = request
    if (!accepts.json && !accepts.stream)
      return refuse(406, 'Accept must list application/json and text/event-stream')
    const id = sessionIdIn(head)
    const client = id === undefined ? undefined : this.#sessions.find(id, owner)
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
    named: StreamableConnection | 'lost' | undefined,
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
    const version = posted.head.get('mcp-protocol-version')
    const opened = judgement === 'alone' ? this.#openSingle(owner, version) : this.#open(owner)
    return opened.then((taken) => {
      if (taken === undefined) return crowded
      // The endpoint may have been removed while the body came.
      return taken.open ? taken.post(posted, response, accepts, isOpening) : this.#gone(posted.head)
    })
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
    const client = this.#sharedOf(owner)
    if (client === undefined) return crowded
    const serve = (): Refusal | undefined =>
      client.open ? client.post(posted, response, accepts) : this.#gone(posted.head)
    return client.ready === undefined ? serve() : client.ready.then(serve)
  }

  /** The connection for requests of this owner; undefined when there are too many. */
  #sharedOf(owner: Owner): StreamableConnection | undefined {
    const key = `${owner.endpoint.name} ${owner.principal}`
    const found = this.#shared.find(key, owner)
    if (found?.open === true && !found.isLeaving) return found
    if (this.#shared.size >= this.#environment.limits.sessionlessMax) return undefined
    const client = this.#newClient({ kind: 'shared' }, () => this.#shared.delete(key, client))
    this.#shared.add(key, owner, client)
    void client.attachTo(owner)
    return client
  }

  /** One for a single message, of the revision that its head names; undefined when there are too many. */
  async #openSingle(owner: Owner, version: string | undefined): Promise<StreamableConnection | undefined> {
    if (this.#single.size >= this.#environment.limits.sessionlessMax) return undefined
    const client = this.#newClient({ kind: 'single' }, () => this.#single.delete(client))
    this.#single.add(client)
    await client.attachTo(owner, version)
    return client
  }

  #newClient(life: ConnectionLife, closed: () => void): StreamableConnection {
    return new StreamableConnection(this.#environment, life, closed)
  }

  /** Attaches a client and opens its session; undefined when there are too many. */
  async #open(owner: Owner): Promise<StreamableConnection | undefined> {
    const id = this.#sessions.admit(owner)
    if (id === undefined) return undefined
    const store = new EventStore(this.#environment.limits.events, this.#budget, this.#environment)
    const client = this.#newClient({ kind: 'session', id, store }, () => this.#sessions.delete(id, client))
    // At once, so that those that come meanwhile count it.
    this.#sessions.add(id, owner, client)
    await client.attachTo(owner)
    return client
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

  #session({ head }: HttpRequest, owner: Owner): StreamableConnection | Refusal {
    const id = sessionIdIn(head)
    if (id === undefined) return noSessionId
    const client = this.#sessions.find(id, owner)
    if (client === undefined) return noSession
    return refusesVersion(head, client) ?? client
  }
}
