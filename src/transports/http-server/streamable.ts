// Streamable HTTP: POST, GET and DELETE on one endpoint.
//
// MCP 2025-03-26, 2025-06-18 and 2025-11-25, Transports. A client that keeps no
// session is served too, one request at a time, so that a person with a command
// line needs no handshake.

import { type Accepts, readAccept } from './accept.js'
import { MessageReader } from '../message-reader.js'
import type { Bodies } from './body.js'
import { type Client, Clients } from './clients.js'
import type { HttpEndpoint, HttpSurroundings } from './endpoint.js'
import { type Incoming, type ReadingParts, type ServeResult, isRefusal, readIncoming } from './incoming.js'
import type { Judgement, PostedMessage, RequestJudge } from './judge.js'
import type { HttpServerLimits } from './limits.js'
import { type Posted, requestKeys } from './message.js'
import type { Refusal, Refusals } from './refusal.js'
import type { RequestHead } from './request-head.js'
import { sendJson } from './reply.js'

export interface StreamableParts {
  readonly limits: HttpServerLimits
  readonly refusals: Refusals
  readonly bodies: Bodies
  readonly around: HttpSurroundings
  readonly judge: RequestJudge
  /** Why a client was not taken, though its endpoint was there when its request began. */
  closed(incoming: Incoming): Refusal
}

const allow = { allow: 'GET, POST, DELETE, OPTIONS' } as const

/** Serves the clients of all endpoints. */
export class Streamable {
  readonly #parts: StreamableParts
  readonly #reading: ReadingParts
  readonly #refusals: Refusals
  readonly #clients: Clients
  #accepted = { text: '', accepts: readAccept('') }

  constructor(parts: StreamableParts) {
    this.#parts = parts
    this.#reading = { ...parts, reader: new MessageReader(parts.limits.frame) }
    this.#refusals = parts.refusals
    this.#clients = new Clients(parts.limits, parts.around)
  }

  get clients(): Clients {
    return this.#clients
  }

  serve(incoming: Incoming, endpoint: HttpEndpoint): ServeResult {
    switch (incoming.request.method) {
      case 'POST':
        return this.#post(incoming, endpoint)
      case 'GET':
      case 'HEAD':
        return this.#get(incoming, endpoint)
      case 'DELETE':
        return this.#delete(incoming, endpoint)
      case undefined:
      default:
        return this.#refusals.plain(405, 'Method not allowed', allow)
    }
  }

  #post(incoming: Incoming, endpoint: HttpEndpoint): ServeResult {
    const { head } = incoming.request
    const accepts = this.#accepts(head)
    if (!accepts.json && !accepts.stream)
      return this.#refusals.plain(406, 'Accept must list application/json and text/event-stream')
    const id = this.#parts.judge.sessionId(head)
    const session = id === undefined ? undefined : this.#find(id, incoming, endpoint)
    if (id !== undefined && session === undefined) return this.#refusals.noSession()
    const paused = session?.connection.paused
    if (paused === undefined) return this.#read(incoming, endpoint, session)
    return paused.then(() => this.#read(incoming, endpoint, session))
  }

  /** Nearly always the body has come with its head: then the message is taken in the same turn. */
  #read(incoming: Incoming, endpoint: HttpEndpoint, session: Client | undefined): ServeResult {
    const posted = readIncoming(incoming, this.#reading)
    if (!(posted instanceof Promise)) return this.#posted(posted, incoming, endpoint, session)
    return posted.then((read) => this.#posted(read, incoming, endpoint, session))
  }

  #posted(
    posted: Posted | Refusal | undefined,
    incoming: Incoming,
    endpoint: HttpEndpoint,
    session: Client | undefined,
  ): ServeResult {
    if (posted === undefined) return undefined
    if (isRefusal(posted)) return { ...posted, revision: session?.revision }
    // The session may have ended while the body came.
    if (session?.connection.open === false) return this.#refusals.noSession()
    const message = { ...posted, head: incoming.request.head, keys: requestKeys(posted.frames) }
    const judgement = this.#parts.judge.judge(message, session)
    if (typeof judgement === 'object') return { ...judgement, revision: session?.revision }
    const opens = judgement === 'opening'
    if (session !== undefined) return this.#take(message, opens, incoming, session)
    return this.#open(judgement, incoming, endpoint).then((client) => {
      if (client === undefined) return this.#refusals.crowded()
      // What it wanted to reach may have gone while the body came.
      return client.connection.open
        ? this.#take(message, opens, incoming, client)
        : this.#parts.closed(incoming)
    })
  }

  #open(
    judgement: Exclude<Judgement, Refusal>,
    { principal, request: { head } }: Incoming,
    endpoint: HttpEndpoint,
  ): Promise<Client | undefined> {
    const owner = { endpoint, principal }
    return judgement === 'alone'
      ? this.#clients.openAlone(owner, head.get('mcp-protocol-version'))
      : this.#clients.open(owner)
  }

  /** Nearly all requests accept the same. */
  #accepts(head: RequestHead): Accepts {
    const text = head.list('accept')
    if (text !== this.#accepted.text) this.#accepted = { text, accepts: readAccept(text) }
    return this.#accepted.accepts
  }

  #take(
    { frames, isBatch, hold, head, keys }: PostedMessage,
    opens: boolean,
    { response }: Incoming,
    client: Client,
  ): undefined {
    if (keys.length > 0)
      client.connection.post(frames, { response, keys, isBatch, opens, hold, accepts: this.#accepts(head) })
    else {
      client.connection.take(frames)
      client.done()
      response.send(202, [])
    }
    return undefined
  }

  #get(incoming: Incoming, endpoint: HttpEndpoint): Refusal | undefined {
    const { response, request } = incoming
    const { head } = request
    if (request.method === 'HEAD' || !readAccept(head.list('accept')).stream) {
      sendJson(response, 200, endpoint.status())
      return undefined
    }
    const client = this.#session(incoming, endpoint)
    if (isRefusal(client)) return client
    const listening = client.connection.listen(response, head.get('last-event-id'))
    if (listening === 'busy')
      return this.#refusals.plain(409, 'Only one stream of this kind is allowed per session')
    return listening === 'open'
      ? undefined
      : this.#refusals.plain(400, 'The events after this id are not kept')
  }

  #delete(incoming: Incoming, endpoint: HttpEndpoint): Refusal | undefined {
    const client = this.#session(incoming, endpoint)
    if (isRefusal(client)) return client
    void client.connection.close()
    incoming.response.send(200, [])
    return undefined
  }

  #session(incoming: Incoming, endpoint: HttpEndpoint): Client | Refusal {
    const { head } = incoming.request
    const id = this.#parts.judge.sessionId(head)
    if (id === undefined) return this.#refusals.noSessionId()
    const client = this.#find(id, incoming, endpoint)
    if (client === undefined) return this.#refusals.noSession()
    return this.#parts.judge.refuses(head, client) ?? client
  }

  #find(id: string, { principal }: Incoming, endpoint: HttpEndpoint): Client | undefined {
    return this.#clients.find(id, { endpoint, principal })
  }
}
