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
  post(request: EndpointRequest, posted: PostedMessage, here: () => ServeResult): ServeResult {
    const { line, frames } = posted
    const [frame] = frames
    if (frame === undefined || request.isForwarded) return here()
    const owner = this.#ownerOfSession(request) ?? this.#other(ownerOfMessage(request, frame))
    if (owner !== undefined) return this.#forward(owner, request, line, here, posted)
    const [id, task] = [sessionIdIn(request.head), askedTask(frame)]
    if (id !== undefined && task !== undefined)
      return this.#aboutTask(taskName(id, task), request, posted, here)
    if (this.isAway && this.#needsStore(request, frame)) return storeAway
    if ('method' in frame && toldToAll.has(frame.method)) this.#tellAll(request, line)
    return here()
  }

  /** Serves a request to listen, or to end the session. */
  bodiless(request: EndpointRequest, here: () => ServeResult): ServeResult {
    if (request.isForwarded) return here()
    const holder = this.#ownerOfSession(request)
    if (holder !== undefined) return this.#forward(holder, request, NOTHING, here)
    const stream = request.head.get('last-event-id')
    const owner = this.#other(stream && labelOf(stream))
    if (owner !== undefined) return this.#resume(owner, request, here)
    if (this.isAway && this.#isElsewhere(request)) return storeAway
    if (request.head.method === 'DELETE') this.#tellAll(request, NOTHING)
    return here()
  }

  /** A task is known where it has begun. */
  async #aboutTask(
    name: string,
    request: EndpointRequest,
    posted: PostedMessage,
    here: () => ServeResult,
  ): Promise<Refusal | undefined> {
    const holder = this.#other(await this.#peers.holderOf(name).catch(() => undefined))
    return holder === undefined ? here() : this.#forward(holder, request, posted.line, here, posted)
  }

  /** A session that is not open here, and that lives in the memory of another process. */
  #ownerOfSession(request: EndpointRequest): string | undefined {
    const id = sessionIdIn(request.head)
    if (id === undefined || !this.#isElsewhere(request)) return undefined
    const facts = this.#environment.sessions?.ids.open(id, request)
    const isBound = facts !== undefined && (facts.isBound || request.endpoint.isBound())
    return isBound ? this.#other(labelOf(id)) : undefined
  }

  #isElsewhere(request: EndpointRequest): boolean {
    const id = sessionIdIn(request.head)
    return id !== undefined && this.#clients.session('session', id, request) === undefined
  }

  /** No session begins or goes on here whose end other instances could not tell. */
  #needsStore(request: EndpointRequest, frame: Frame): boolean {
    return (frame.kind === 'request' && frame.method === 'initialize') || this.#isElsewhere(request)
  }

  #other(label: string | undefined): string | undefined {
    return label === this.#peers.label ? undefined : label
  }

  #tellAll(request: EndpointRequest, body: Uint8Array): void {
    if (sessionIdIn(request.head) !== undefined)
      this.#peers.tellAll(Buffer.concat(forwardedBytes(request, body)))
  }

  /** A stream whose instance does not answer goes on here, where its client learns that the call was lost. */
  async #resume(
    owner: string,
    request: EndpointRequest,
    here: () => ServeResult,
  ): Promise<Refusal | undefined> {
    const end = await this.#handOver(owner, request, NOTHING)
    return end === 'absent' || end === 'lost' ? here() : end
  }

  async #handOver(owner: string, request: EndpointRequest, body: Uint8Array): ReturnType<typeof forward> {
    const { response, head } = request
    this.#responses.set(response, head.method)
    response.whenClosed(() => this.#responses.delete(response))
    const end = await forward(this.#peers, owner, request, body)
    // It is answered here.
    if (end !== undefined) this.#responses.delete(response)
    return end
  }

  async #forward(
    owner: string,
    request: EndpointRequest,
    body: Uint8Array,
    here: () => ServeResult,
    posted?: PostedMessage,
  ): Promise<Refusal | undefined> {
    const end = await this.#handOver(owner, request, body)
    if (end === 'absent') return here()
    return end === 'lost' ? lost(posted) : end
  }
}

/** The instance whose question a message answers, or whose call it continues. */
function ownerOfMessage(request: EndpointRequest, frame: Frame): string | undefined {
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
      if (!namesStateless(request.head)) return undefined
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
