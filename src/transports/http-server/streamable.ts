// Streamable HTTP: POST, GET and DELETE on one endpoint.
//
// MCP 2025-03-26, 2025-06-18 and 2025-11-25, Transports. A client that keeps no
// session is served too, one request at a time, so that a person with a command
// line needs no handshake.

import { type Accepts, readAccept } from './accept.js'
import { MessageReader } from '../message-reader.js'
import type { Bodies } from './body.js'
import { type Client, Clients } from './clients.js'
import type { HttpEndpoint, HttpRevision, HttpSurroundings } from './endpoint.js'
import { type Incoming, type ReadingParts, type ServeResult, isRefusal, readIncoming } from './incoming.js'
import type { HttpServerLimits } from './limits.js'
import { type Posted, opensSession, requestKeys } from './message.js'
import type { Refusal, Refusals } from './refusal.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import type { RequestHead } from './request-head.js'
import { sendJson } from './reply.js'

export interface StreamableParts {
  readonly limits: HttpServerLimits
  readonly refusals: Refusals
  readonly bodies: Bodies
  readonly around: HttpSurroundings
  /** The revisions that a client may name. */
  readonly revisions: readonly HttpRevision[]
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
    const accepts = this.#accepts(incoming.request.head)
    if (!accepts.json && !accepts.stream)
      return this.#refusals.plain(406, 'Accept must list application/json and text/event-stream')
    const id = incoming.request.head.get('mcp-session-id')
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
    const keys = requestKeys(posted.frames)
    const refusal = this.#refuses(posted, keys, incoming, session)
    if (refusal !== undefined) return { ...refusal, revision: session?.revision }
    if (session !== undefined) return this.#take(posted, keys, incoming, session)
    return this.#open(posted, incoming, endpoint).then((client) => {
      if (client === undefined) return this.#refusals.crowded()
      // What it wanted to reach may have gone while the body came.
      return client.connection.open
        ? this.#take(posted, keys, incoming, client)
        : this.#parts.closed(incoming)
    })
  }

  #open(
    { frames }: Posted,
    { principal, request: { head } }: Incoming,
    endpoint: HttpEndpoint,
  ): Promise<Client | undefined> {
    return this.#clients.open({ endpoint, principal }, opensSession(frames[0]), this.#named(head)?.version)
  }

  /** What is wrong with the messages of this client. */
  #refuses(
    posted: Posted,
    keys: readonly RequestId[],
    { request: { head } }: Incoming,
    client: Client | undefined,
  ): Refusal | undefined {
    const { frames, isBatch } = posted
    const opens = frames.some(opensSession)
    const refusal = isBatch ? this.#refusesBatch(opens, client?.revision ?? this.#named(head)) : undefined
    if (refusal !== undefined) return refusal
    const isDoubled = keys.length > 1 && new Set(keys).size < keys.length
    if (isDoubled || client?.connection.knows(keys) === true)
      return this.#refusals.invalid('a request with this id is being answered already', frameId(posted))
    // Nobody has asked whoever answers so.
    if (client === undefined && frames.some(isAnswer)) return this.#noSessionId()
    return opens ? undefined : this.#refusesVersion(head, client)
  }

  #refusesBatch(opens: boolean, revision: HttpRevision | undefined): Refusal | undefined {
    if (opens) return this.#refusals.invalid('initialize must not be part of a batch')
    if (revision?.batching !== false) return undefined
    return this.#refusals.invalid(`protocol version ${revision.version} has no batches`)
  }

  /** Nearly all requests accept the same. */
  #accepts(head: RequestHead): Accepts {
    const text = head.list('accept')
    if (text !== this.#accepted.text) this.#accepted = { text, accepts: readAccept(text) }
    return this.#accepted.accepts
  }

  /** The revision that a request names by itself. */
  #named(head: RequestHead): HttpRevision | undefined {
    const version = head.get('mcp-protocol-version')
    return version === undefined
      ? undefined
      : this.#parts.revisions.find((revision) => revision.version === version)
  }

  #refusesVersion(head: RequestHead, client: Client | undefined): Refusal | undefined {
    const version = head.get('mcp-protocol-version')
    if (version === undefined || client?.revision.versionHeader === false) return undefined
    if (this.#named(head) !== undefined) return undefined
    const versions = this.#parts.revisions.map((revision) => revision.version).join(', ')
    const why = `Unsupported protocol version: ${version} (supported versions: ${versions})`
    return this.#refusals.plain(400, why)
  }

  #take(
    { frames, isBatch, hold }: Posted,
    keys: readonly RequestId[],
    { response, request: { head } }: Incoming,
    client: Client,
  ): undefined {
    if (keys.length > 0)
      client.connection.post(frames, { response, keys, isBatch, hold, accepts: this.#accepts(head) })
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
    const id = incoming.request.head.get('mcp-session-id')
    if (id === undefined) return this.#noSessionId()
    const client = this.#find(id, incoming, endpoint)
    if (client === undefined) return this.#refusals.noSession()
    return this.#refusesVersion(incoming.request.head, client) ?? client
  }

  #noSessionId(): Refusal {
    return this.#refusals.plain(400, 'Mcp-Session-Id is required')
  }

  #find(id: string, { principal }: Incoming, endpoint: HttpEndpoint): Client | undefined {
    return this.#clients.find(id, { endpoint, principal })
  }
}

function isAnswer({ kind }: Posted['frames'][number]): boolean {
  return kind === 'result' || kind === 'error'
}

function frameId({ frames }: Posted): ReturnType<typeof requestKeys>[number] | undefined {
  const request = frames.find((frame) => frame.kind === 'request')
  return frames.length === 1 ? request?.id : undefined
}
