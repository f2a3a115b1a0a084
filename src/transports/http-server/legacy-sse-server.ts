// The older HTTP transport: events on one response, messages to another path.
//
// MCP 2024-11-05, Transports, HTTP with SSE. The first event names the path for
// messages; the session lasts as long as the stream of events.

import type { Connection, MessageHead, Sink } from '../../jsonrpc/connection.js'
import type { TransportError } from '../../jsonrpc/jsonrpc-errors.js'
import type { Outgoing } from '../../jsonrpc/fast/splice-parts.js'
import { type RequestId, canonical } from '../../jsonrpc/request-id.js'
import { SplicedLine } from '../../jsonrpc/splice.js'
import type { Bodies, BodyReservation, PostedMessage } from './body.js'
import type { HttpEnvironment, Owner } from './endpoint.js'
import { ClientInbox, cancelledBy } from './client-inbox.js'
import { type Refusal, type Refusals, isRefusal } from './refusal.js'
import type { HttpRequest } from './request-head.js'
import type { HttpResponse } from './response.js'
import { HttpSessions, type Kept, attach } from './sessions.js'
import { SseWriter, messageEvent, textEvent } from './event-stream.js'

/** The connection of one client: its stream of events, and the messages that it posts. */
class LegacySseConnection implements Connection, Kept {
  readonly transport = 'sse'
  readonly #ended: () => void
  readonly #writer: SseWriter
  readonly #holds = new Holds()
  readonly #inbox: ClientInbox

  constructor(response: HttpResponse, environment: HttpEnvironment, ended: () => void) {
    this.#ended = ended
    this.#inbox = new ClientInbox(environment.limits, (cause) => this.#end(cause))
    this.#writer = new SseWriter(response, [], environment, {
      drained: () => this.#inbox.measure(this.backlogBytes),
      gone: () => this.#end(undefined),
    })
  }

  /** Always true: the client listens for as long as the connection exists. */
  get busy(): boolean {
    return true
  }

  get congested(): boolean {
    return this.#inbox.congested
  }

  get backlogBytes(): number {
    return this.#writer.backlogBytes
  }

  /** Sends the event that names the path for messages. */
  invite(path: string): void {
    this.#writer.write([textEvent('endpoint', path)])
  }

  start(sink: Sink): void {
    this.#inbox.start(sink)
  }

  take(posted: PostedMessage): void {
    this.#holds.took(posted)
    const [frame] = posted.frames
    // The answers to a batch leave in one message.
    if (posted.isBatch || frame === undefined) this.#inbox.message(posted.line)
    else this.#inbox.frame(frame, undefined)
  }

  send(message: Outgoing, head: MessageHead): void {
    const wire = message instanceof SplicedLine ? message.joined : message
    this.#holds.said(head)
    if (this.#inbox.passesOut(wire)) this.#writer.write(messageEvent(wire, undefined))
    this.#inbox.measure(this.backlogBytes)
  }

  /** A client is never stopped. */
  read(): void {}

  close(): Promise<void> {
    this.#end(undefined)
    return Promise.resolve()
  }

  leave(): void {
    this.#inbox.ended()
  }

  #end(cause: TransportError | undefined): void {
    this.#inbox.close(cause, () => {
      this.#writer.end()
      this.#holds.clear()
      this.#ended()
    })
  }
}

/**
 * The reservations of memory for the large requests of one client, until they are answered.
 *
 * The answers do not leave on the responses to the requests. There are at most as many reservations as a session may have calls.
 */
class Holds {
  readonly #holds = new Map<RequestId, Pick<PostedMessage, 'isBatch'> & { readonly hold: BodyReservation }>()

  /** The client has posted a message. */
  took({ frames, keys: [key], hold, isBatch }: PostedMessage): void {
    if (this.#holds.size > 0) for (const frame of frames) this.#end(cancelledBy(frame))
    if (hold === undefined || key === undefined) return
    this.#end(key)
    hold.begin()
    this.#holds.set(key, { hold, isBatch })
  }

  /** The proxy sends a message, which may answer a request. */
  said({ kind, about }: MessageHead): void {
    if (this.#holds.size === 0) return
    // The answers to a batch leave in one message, which does not say what batch it answers, so this ends the reservations of all
    // batches. A batch that still runs soon ends too.
    if (kind === 'batch') for (const [key, { isBatch }] of this.#holds) if (isBatch) this.#end(key)
    if (kind === 'result' || kind === 'error') this.#end(about && canonical(about))
  }

  /** The session has ended. */
  clear(): void {
    for (const key of this.#holds.keys()) this.#end(key)
  }

  #end(key: RequestId | undefined): void {
    if (key === undefined) return
    this.#holds.get(key)?.hold.end()
    this.#holds.delete(key)
  }
}

/** Serves the clients of all endpoints that speak the older transport. */
export class LegacySseServer {
  readonly #environment: HttpEnvironment
  readonly #refusals: Refusals
  readonly #bodies: Bodies
  readonly #sessions: HttpSessions<LegacySseConnection>

  constructor(environment: HttpEnvironment, refusals: Refusals, bodies: Bodies) {
    this.#environment = environment
    this.#refusals = refusals
    this.#bodies = bodies
    this.#sessions = new HttpSessions(environment, 'http+sse')
  }

  /** Opens a session and its stream of events. */
  async events(
    { head, response }: HttpRequest,
    owner: Owner,
    messagePath: string,
  ): Promise<Refusal | undefined> {
    if (head.method !== 'GET')
      return this.#refusals.plain(405, 'Method not allowed', { allow: 'GET, OPTIONS' })
    // The client may have left while its token was examined.
    if (response.isClosed) return undefined
    const id = this.#sessions.admit(owner)
    if (id === undefined) return this.#refusals.crowded()
    const connection = new LegacySseConnection(response, this.#environment, () => this.#sessions.delete(id))
    this.#sessions.add(id, owner, connection)
    owner.onStream?.()
    await attach(owner, connection)
    connection.invite(`${messagePath}?sessionId=${id}`)
    return undefined
  }

  /** Accepts a message with 202; its answer is sent as an event. */
  async messages(request: HttpRequest, owner: Owner, query: string): Promise<Refusal | undefined> {
    if (request.head.method !== 'POST')
      return this.#refusals.plain(405, 'Method not allowed', { allow: 'POST, OPTIONS' })
    const id = new URLSearchParams(query).get('sessionId')
    if (id === null) return this.#refusals.plain(400, 'The query must name a sessionId')
    const find = (): LegacySseConnection | undefined => this.#sessions.find(id, owner)
    if (find() === undefined) return this.#refusals.noSession()
    const posted = await this.#bodies.read(request)
    if (posted === undefined || isRefusal(posted)) return posted
    const connection = find()
    if (connection === undefined) return this.#refusals.noSession()
    connection.take(posted)
    request.response.send(202, [])
    return undefined
  }

  leave(isGone: (principal: string) => boolean): void {
    this.#sessions.leave(isGone)
  }

  endAll(): void {
    this.#sessions.endAll()
  }
}
