// Which requests another instance has to serve, or learns of, where several instances share a store.
//
// A session that lives in the memory of a process is served where its id says; an answer where its question was asked; a stream
// where its events are; a request that comes again where its call waits. Everything else is served by the instance to which it
// came. Where the other instance does not run any more, the request is served here as if there were no other.

import { buildBatch, buildError } from '../../jsonrpc/build.js'
import type { Frame } from '../../jsonrpc/frame.js'
import { rawAt } from '../../jsonrpc/text.js'
import { instanceLost } from '../../mcp/error-codes.js'
import { labelOf, labelOfState } from '../../mcp/instance-label.js'
import type { PostedMessage } from './body.js'
import type { ClientRegistry } from './client-registry.js'
import type { EndpointRequest, HttpEnvironment } from './endpoint.js'
import { forward, forwardedBytes } from './forwarding.js'
import type { HttpResponse } from '../http1/server.js'
import type { Peers } from './peers.js'
import { namesStateless, sessionIdIn } from './protocol.js'
import { type Refusal, refuse, type ServeResult, storeAway } from './refusal.js'
import { askedTask, taskName } from './session-tasks.js'

/** Messages that matter to every instance on which their session is open. */
const toldToAll: ReadonlySet<string> = new Set([
  'notifications/initialized',
  'notifications/cancelled',
  'notifications/roots/list_changed',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
])

const NOTHING = new Uint8Array()

export class OtherInstances {
  readonly #peers: Peers
  readonly #environment: HttpEnvironment
  readonly #clients: ClientRegistry
  /** The responses to requests that other instances serve now; those of GET are streams. As many as connections at most. */
  readonly #responses = new Map<HttpResponse, string>()

  constructor(peers: Peers, environment: HttpEnvironment, clients: ClientRegistry) {
    this.#peers = peers
    this.#environment = environment
    this.#clients = clients
  }

  get isAway(): boolean {
    return this.#peers.isAway
  }

  /** Resolves when the messages that others serve now are answered. */
  async answered(): Promise<void> {
    const posts = [...this.#responses].filter(([, method]) => method !== 'GET')
    await Promise.all(posts.map(([response]) => new Promise<void>((done) => response.whenClosed(done))))
  }

  endStreams(): void {
    for (const [response, method] of this.#responses) if (method === 'GET') response.end()
  }

  /** `here` serves the message on this instance. */
  post(asked: EndpointRequest, posted: PostedMessage, here: () => ServeResult): ServeResult {
    const { line, frames } = posted
    const [frame] = frames
    if (frame === undefined || asked.isForwarded) return here()
    const owner = this.#ownerOfSession(asked) ?? this.#other(ownerOfMessage(asked, frame))
    if (owner !== undefined) return this.#forward(owner, asked, line, here, posted)
    const [id, task] = [sessionIdIn(asked.head), askedTask(frame)]
    if (id !== undefined && task !== undefined)
      return this.#aboutTask(taskName(id, task), asked, posted, here)
    if (this.isAway && this.#needsStore(asked, frame)) return storeAway
    if ('method' in frame && toldToAll.has(frame.method)) this.#tellAll(asked, line)
    return here()
  }

  /** Serves a request to listen, or to end the session. */
  bodiless(asked: EndpointRequest, here: () => ServeResult): ServeResult {
    if (asked.isForwarded) return here()
    const holder = this.#ownerOfSession(asked)
    if (holder !== undefined) return this.#forward(holder, asked, NOTHING, here)
    const stream = asked.head.get('last-event-id')
    const owner = this.#other(stream && labelOf(stream))
    if (owner !== undefined) return this.#resume(owner, asked, here)
    if (this.isAway && this.#isElsewhere(asked)) return storeAway
    if (asked.head.method === 'DELETE') this.#tellAll(asked, NOTHING)
    return here()
  }

  /** A task is known where it has begun. */
  async #aboutTask(
    name: string,
    asked: EndpointRequest,
    posted: PostedMessage,
    here: () => ServeResult,
  ): Promise<Refusal | undefined> {
    const holder = this.#other(await this.#peers.holderOf(name).catch(() => undefined))
    return holder === undefined ? here() : this.#forward(holder, asked, posted.line, here, posted)
  }

  /** A session that is not open here, and that lives in the memory of another process. */
  #ownerOfSession(asked: EndpointRequest): string | undefined {
    const id = sessionIdIn(asked.head)
    if (id === undefined || !this.#isElsewhere(asked)) return undefined
    const facts = this.#environment.sessions?.ids.open(id, asked)
    const isBound = facts !== undefined && (facts.isBound || asked.endpoint.isBound())
    return isBound ? this.#other(labelOf(id)) : undefined
  }

  #isElsewhere(asked: EndpointRequest): boolean {
    const id = sessionIdIn(asked.head)
    return id !== undefined && this.#clients.session('session', id, asked) === undefined
  }

  /** No session begins or goes on here whose end other instances could not tell. */
  #needsStore(asked: EndpointRequest, frame: Frame): boolean {
    return (frame.kind === 'request' && frame.method === 'initialize') || this.#isElsewhere(asked)
  }

  #other(label: string | undefined): string | undefined {
    return label === this.#peers.label ? undefined : label
  }

  #tellAll(asked: EndpointRequest, body: Uint8Array): void {
    if (sessionIdIn(asked.head) !== undefined) this.#peers.tellAll(Buffer.concat(forwardedBytes(asked, body)))
  }

  /** A stream whose instance does not answer goes on here, where its client learns that the call was lost. */
  async #resume(
    owner: string,
    asked: EndpointRequest,
    here: () => ServeResult,
  ): Promise<Refusal | undefined> {
    const end = await this.#handOver(owner, asked, NOTHING)
    return end === 'absent' || end === 'lost' ? here() : end
  }

  async #handOver(owner: string, asked: EndpointRequest, body: Uint8Array): ReturnType<typeof forward> {
    const { response, head } = asked
    this.#responses.set(response, head.method)
    response.whenClosed(() => this.#responses.delete(response))
    const end = await forward(this.#peers, owner, asked, body)
    // It is answered here.
    if (end !== undefined) this.#responses.delete(response)
    return end
  }

  async #forward(
    owner: string,
    asked: EndpointRequest,
    body: Uint8Array,
    here: () => ServeResult,
    posted?: PostedMessage,
  ): Promise<Refusal | undefined> {
    const end = await this.#handOver(owner, asked, body)
    if (end === 'absent') return here()
    return end === 'lost' ? lost(posted) : end
  }
}

/** The instance whose question a message answers, or whose call it continues. */
function ownerOfMessage(asked: EndpointRequest, frame: Frame): string | undefined {
  switch (frame.kind) {
    case 'result':
    case 'error':
      return frame.id && labelOf(frame.id)
    case 'notification': {
      if (frame.method !== 'notifications/progress') return undefined
      const token = frame.params.members.span('progressToken')
      return token && labelOf(rawAt(frame.line, token))
    }
    case 'request': {
      // The state is read of clients without a session only, for which it is read anyway.
      if (!namesStateless(asked.head)) return undefined
      const state = frame.params.members.string('requestState')
      return state && labelOfState(state)
    }
  }
}

/** The other instance may have begun to serve it. Each request gets an error; a stream, and a message without an answer, breaks. */
function lost(posted?: PostedMessage): Refusal {
  const error = instanceLost()
  const [first, ...more] = posted?.frames.filter((frame) => frame.kind === 'request') ?? []
  if (first === undefined) return refuse(503, error.message, { 'retry-after': '1' })
  if (more.length === 0) return { status: 200, error, id: first.id }
  const errors = [first, ...more].map(({ id }) => buildError(id, error))
  return { status: 200, error, body: buildBatch(errors).joined.toString() }
}
