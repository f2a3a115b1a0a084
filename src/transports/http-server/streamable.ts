// Streamable HTTP: POST, GET and DELETE on one endpoint.
//
// MCP 2025-03-26, 2025-06-18 and 2025-11-25, Transports. A client that keeps no
// session is served too, one request at a time, so that a person with a command
// line needs no handshake.

import { Waits } from '../../runtime/waits.js'
import { type Accepts, readAccept } from './accept.js'
import type { PostedMessage, ReadResult } from './body.js'
import { StreamableConnection } from './connection.js'
import type { HttpEndpoint, Owner, RequestJudge, StatelessJudgement } from './endpoint.js'
import type { PairParts } from './event-pair.js'
import { EventStore } from './event-store.js'
import { type Refusal, isRefusal } from './refusal.js'
import type { RequestHead } from './request-head.js'
import type { Incoming, ServeResult } from './request.js'
import { HttpSessions, attach } from './sessions.js'
import { StatelessClients } from './stateless-clients.js'

export interface StreamableParts extends PairParts {
  readonly judge: RequestJudge
  /** Why a client was not taken, though its endpoint was there when its request began. */
  closed(incoming: Incoming): Refusal
}

/** A POST, and the client of the session that it names. */
interface Asked {
  readonly incoming: Incoming
  readonly endpoint: HttpEndpoint
  readonly accepts: Accepts
  readonly client: StreamableConnection | undefined
  /** Whether there is no such session as it names. */
  readonly isLost: boolean
}

const allow = { allow: 'GET, POST, DELETE, OPTIONS' } as const

/** Serves the clients of all endpoints: those with a session, and those that are gone after one request. */
export class Streamable {
  readonly #parts: StreamableParts
  readonly #sessions: HttpSessions<StreamableConnection>
  /** Of the events that may be asked for again. */
  readonly #budget = { bytes: 0 }
  readonly #waits: Waits
  readonly #stateless: StatelessClients
  /** Clients without a session that are being served. */
  readonly #passing = new Set<StreamableConnection>()
  #accepted = { text: '', accepts: readAccept('') }

  constructor(parts: StreamableParts) {
    const { limits, around } = parts
    this.#parts = parts
    this.#sessions = new HttpSessions(parts, 'streamable-http')
    this.#waits = new Waits(limits.answerWaitMs, around)
    this.#stateless = new StatelessClients(parts, this.#waits)
  }

  serve(incoming: Incoming, endpoint: HttpEndpoint): ServeResult {
    switch (incoming.head.method) {
      case 'POST':
        return this.#post(incoming, endpoint)
      case 'GET':
      case 'HEAD':
        return this.#noStream(incoming) ?? this.#get(incoming, endpoint)
      case 'DELETE':
        return this.#noStream(incoming) ?? this.#delete(incoming, endpoint)
      case undefined:
      default:
        return this.#parts.refusals.plain(405, 'Method not allowed', allow)
    }
  }

  sweep(): void {
    this.#sessions.sweep()
    this.#stateless.sweep()
  }

  /** Ends the sessions of these principals, once what was asked in them is answered. */
  leave(isGone: (principal: string) => boolean): void {
    this.#sessions.leave(isGone)
    this.#stateless.leave(isGone)
  }

  endAll(): void {
    this.#waits.stop()
    this.#sessions.endAll()
    this.#stateless.endAll()
    for (const client of this.#passing) void client.close()
  }

  #post(incoming: Incoming, endpoint: HttpEndpoint): ServeResult {
    const { judge, refusals } = this.#parts
    const { head } = incoming
    const accepts = this.#accepts(head)
    if (!accepts.json && !accepts.stream)
      return refusals.plain(406, 'Accept must list application/json and text/event-stream')
    const id = judge.sessionId(head)
    const client =
      id === undefined ? undefined : this.#sessions.find(id, { endpoint, principal: incoming.principal })
    const isLost = id !== undefined && client === undefined
    // Only a message that is there already may say that it belongs to no session.
    if (isLost && incoming.body === undefined) return refusals.noSession()
    const asked = { incoming, endpoint, accepts, client, isLost }
    const paused = client?.paused
    return paused === undefined ? this.#read(asked) : paused.then(() => this.#read(asked))
  }

  /** Nearly always the body has come with its head: then the message is taken in the same turn. */
  #read(asked: Asked): ServeResult {
    const read = this.#parts.bodies.read(asked.incoming)
    return read instanceof Promise
      ? read.then((came) => this.#posted(came, asked))
      : this.#posted(read, asked)
  }

  #posted(read: ReadResult, asked: Asked): ServeResult {
    const { incoming, endpoint, accepts, client, isLost } = asked
    if (read === undefined) return undefined
    const stateless = isRefusal(read) ? undefined : this.#parts.judge.judgeStateless(read)
    if (stateless === undefined && isLost) return this.#parts.refusals.noSession()
    if (isRefusal(read)) return { ...read, revision: client?.revision }
    if (stateless !== undefined) return this.#postedAlone(read, asked, stateless)
    // The session may have ended while the body came.
    if (client?.open === false) return this.#parts.refusals.noSession()
    const judgement = this.#parts.judge.judge(read, client)
    if (typeof judgement === 'object') return { ...judgement, revision: client?.revision }
    const { response } = incoming
    const { frames, keys, isBatch, hold } = read
    const message = { keys, isBatch, hold }
    const post = { message, response, opens: judgement === 'opening', accepts }
    if (client !== undefined) return client.post(post, frames)
    const owner = { endpoint, principal: incoming.principal }
    const opened = judgement === 'alone' ? this.#openAlone(owner, read.head) : this.#open(owner)
    return opened.then((taken) => {
      if (taken === undefined) return this.#parts.refusals.crowded()
      // What it wanted to reach may have gone while the body came.
      return taken.open ? taken.post(post, frames) : this.#parts.closed(incoming)
    })
  }

  /** A message that belongs to no session, whichever its head names. */
  #postedAlone(
    { frames, keys, isBatch, hold, head }: PostedMessage,
    { incoming, endpoint, accepts }: Asked,
    judgement: StatelessJudgement,
  ): ServeResult {
    const { response, principal } = incoming
    if (typeof judgement === 'object') return judgement
    if (judgement === 'ignored') {
      response.send(202, [])
      return undefined
    }
    const found = this.#stateless.find({ endpoint, principal }, keys)
    if (found === undefined) return this.#parts.refusals.crowded()
    const { judge } = this.#parts
    const post = {
      message: { keys, isBatch, hold },
      response,
      opens: false,
      accepts,
      field: (name: string) => head.get(name),
      statusOf: (code: number) => judge.statusOf(code),
    }
    const serve = (client: StreamableConnection): Refusal | undefined =>
      client.open ? client.post(post, frames) : this.#parts.closed(incoming)
    return found instanceof Promise ? found.then(serve) : serve(found)
  }

  /** Attaches a client and opens its session; undefined when there are too many. */
  async #open(owner: Owner): Promise<StreamableConnection | undefined> {
    const id = this.#sessions.admit(owner)
    if (id === undefined) return undefined
    const { limits, around } = this.#parts
    const store = new EventStore(limits.events, this.#budget, around)
    const closed = (): void => this.#sessions.delete(id)
    const session = { id, store }
    const client = new StreamableConnection({ limits, around, waits: this.#waits, session, closed })
    client.attached = await attach(owner, client)
    if (client.open) this.#sessions.add(id, owner, client)
    return client
  }

  /** The same for one message, without a session. */
  async #openAlone(owner: Owner, head: RequestHead): Promise<StreamableConnection | undefined> {
    const { limits, around } = this.#parts
    if (this.#passing.size >= limits.sessionlessMax) return undefined
    const closed = (): void => void this.#passing.delete(client)
    const parts = { limits, around, waits: this.#waits, session: undefined, closed }
    const client: StreamableConnection = new StreamableConnection(parts)
    this.#passing.add(client)
    client.attached = await attach(owner, client, head.get('mcp-protocol-version'))
    return client
  }

  /** Nearly all requests accept the same. */
  #accepts(head: RequestHead): Accepts {
    const text = head.list('accept')
    if (text !== this.#accepted.text) this.#accepted = { text, accepts: readAccept(text) }
    return this.#accepted.accepts
  }

  /** A client without a session has nothing to listen to, and nothing to end. */
  #noStream({ head }: Incoming): Refusal | undefined {
    const { judge, refusals } = this.#parts
    return judge.isStateless(head)
      ? refusals.plain(405, 'Method not allowed', { allow: 'POST, OPTIONS' })
      : undefined
  }

  #get(incoming: Incoming, endpoint: HttpEndpoint): Refusal | undefined {
    const { response, head } = incoming
    if (head.method === 'HEAD' || !readAccept(head.list('accept')).stream) {
      response.sendJson(200, endpoint.status())
      return undefined
    }
    const client = this.#session(incoming, endpoint)
    if (isRefusal(client)) return client
    const { refusals } = this.#parts
    const listening = client.listen(response, head.get('last-event-id'))
    if (listening === 'busy')
      return refusals.plain(409, 'Only one stream of this kind is allowed per session')
    // No Content has a client stop to resume (HTML, server-sent events: processing model).
    if (listening === 'over') response.send(204, [])
    return listening === 'unknown' ? refusals.plain(400, 'The events after this id are not kept') : undefined
  }

  #delete(incoming: Incoming, endpoint: HttpEndpoint): Refusal | undefined {
    const client = this.#session(incoming, endpoint)
    if (isRefusal(client)) return client
    void client.close()
    incoming.response.send(200, [])
    return undefined
  }

  #session(incoming: Incoming, endpoint: HttpEndpoint): StreamableConnection | Refusal {
    const { judge, refusals } = this.#parts
    const id = judge.sessionId(incoming.head)
    if (id === undefined) return refusals.noSessionId()
    const client = this.#sessions.find(id, { endpoint, principal: incoming.principal })
    if (client === undefined) return refusals.noSession()
    return judge.refuses(incoming.head, client) ?? client
  }
}
