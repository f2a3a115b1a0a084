// The older HTTP transport: events on one response, messages to another path.
//
// MCP 2024-11-05, Transports, HTTP with SSE. The first event names the path for
// messages; the session lasts as long as the stream of events.

import type { Message } from '../../jsonrpc/splice.js'
import type { Connection, Reply, Sink } from '../../jsonrpc/connection.js'
import type { TransportError } from '../../jsonrpc/jsonrpc-errors.js'
import type { Bodies, BodyReservation, PostedMessage } from './body.js'
import type { HttpEnvironment, Owner } from './endpoint.js'
import { ClientInbox } from './client-inbox.js'
import { type Refusal, isRefusal, refuse, crowded, noSession } from './refusal.js'
import type { HttpRequest, HttpResponse } from '../http1/server.js'
import { HttpSessions, type RegisteredSession, attach } from './sessions.js'
import { SseWriter, messageEvent, textEvent } from './event-stream.js'

/** The connection of one client: its stream of events, and the messages that it posts. */
class LegacySseConnection implements Connection, RegisteredSession {
  readonly transport = 'sse'
  readonly #ended: () => void
  readonly #writer: SseWriter
  /** The reservations of memory for large requests, until they are answered: as many as a session may have calls at most. */
  readonly #holds = new Set<BodyReservation>()
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

  take({ line, frames, isBatch, hold }: PostedMessage): void {
    const [frame] = frames
    const asks = frames.some(({ kind }) => kind === 'request')
    const reply = asks && hold !== undefined ? this.#replyOf(hold) : undefined
    // The answers to a batch leave in one message.
    if (isBatch || frame === undefined) this.#inbox.message(line, reply)
    else this.#inbox.frame(frame, reply)
  }

  send(message: Message): void {
    const wire = this.#inbox.passingOut(message)
    if (wire !== undefined) this.#writer.write(messageEvent(wire, undefined))
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

  /** The answers do not leave on the responses to their requests, so a request of many bytes has a reply of its own. */
  #replyOf(hold: BodyReservation): Reply {
    hold.begin()
    this.#holds.add(hold)
    const drop = (): void => {
      hold.end()
      this.#holds.delete(hold)
    }
    const answer = (message: Message): void => {
      drop()
      this.send(message)
    }
    return { answer, drop, tell: (message) => this.send(message), isCancelledByClosing: false }
  }

  #end(cause: TransportError | undefined): void {
    this.#inbox.close(cause, () => {
      this.#writer.end()
      for (const hold of this.#holds) hold.end()
      this.#ended()
    })
  }
}

/** Serves the clients of all endpoints that speak the older transport. */
export class LegacySseServer {
  readonly #environment: HttpEnvironment
  readonly #bodies: Bodies
  readonly #sessions: HttpSessions<LegacySseConnection>

  constructor(environment: HttpEnvironment, bodies: Bodies) {
    this.#environment = environment
    this.#bodies = bodies
    this.#sessions = new HttpSessions(environment, Infinity, 'http+sse')
  }

  /** Opens a session and its stream of events. */
  async events(
    { head, response }: HttpRequest,
    owner: Owner,
    messagePath: string,
  ): Promise<Refusal | undefined> {
    if (head.method !== 'GET') return refuse(405, 'Method not allowed', { allow: 'GET, OPTIONS' })
    // The client may have left while its token was examined.
    if (response.isClosed) return undefined
    const id = this.#sessions.admit(owner)
    if (id === undefined) return crowded
    const connection = new LegacySseConnection(response, this.#environment, () =>
      this.#sessions.delete(id, connection),
    )
    this.#sessions.add(id, owner, connection)
    owner.onStream?.()
    await attach(owner, connection)
    connection.invite(`${messagePath}?sessionId=${id}`)
    return undefined
  }

  /** Accepts a message with 202; its answer is sent as an event. */
  async messages(request: HttpRequest, owner: Owner, query: string): Promise<Refusal | undefined> {
    if (request.head.method !== 'POST') return refuse(405, 'Method not allowed', { allow: 'POST, OPTIONS' })
    const id = new URLSearchParams(query).get('sessionId')
    if (id === null) return refuse(400, 'The query must name a sessionId')
    const find = (): LegacySseConnection | undefined => this.#sessions.find(id, owner)
    if (find() === undefined) return noSession
    const posted = await this.#bodies.read(request)
    if (posted === undefined || isRefusal(posted)) return posted
    const connection = find()
    if (connection === undefined) return noSession
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
