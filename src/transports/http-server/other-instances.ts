// Decides which requests another instance serves or learns of, if several instances share a store.
//
// A session that lives in the memory of a process is served by that process. An answer goes to the instance
// that asked, a stream to the instance with its events, and a repeated request to the instance where its call
// waits. The receiving instance serves all others, and those whose instance no longer runs.

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

/** Messages that every instance with the same session must know. */
const broadcastMethods: ReadonlySet<string> = new Set([
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
  /** The responses that other instances write now; those of GET are streams. Limited by the connections. */
  readonly #responses = new Map<HttpResponse, string>()

  constructor(peers: Peers, environment: HttpEnvironment, clients: ClientRegistry) {
    this.#peers = peers
    this.#environment = environment
    this.#clients = clients
  }

  get isAway(): boolean {
    return this.#peers.isAway
  }

  /** Resolves when the messages that other instances serve now are answered. */
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
    if ('method' in frame && broadcastMethods.has(frame.method)) this.#broadcast(request, line)
    return here()
  }

  /** Serves a request that listens, or that ends the session. */
  bodiless(request: EndpointRequest, here: () => ServeResult): ServeResult {
    if (request.isForwarded) return here()
    const holder = this.#ownerOfSession(request)
    if (holder !== undefined) return this.#forward(holder, request, NOTHING, here)
    const stream = request.head.fields.get('last-event-id')
    const owner = this.#other(stream && labelOf(stream))
    if (owner !== undefined) return this.#resume(owner, request, here)
    if (this.isAway && this.#isElsewhere(request)) return storeAway
    if (request.head.method === 'DELETE') this.#broadcast(request, NOTHING)
    return here()
  }

  /** Only the instance where a task began knows the task. */
  async #aboutTask(
    name: string,
    request: EndpointRequest,
    posted: PostedMessage,
    here: () => ServeResult,
  ): Promise<Refusal | undefined> {
    const holder = this.#other(await this.#peers.holderOf(name).catch(() => undefined))
    return holder === undefined ? here() : this.#forward(holder, request, posted.line, here, posted)
  }

  /** The instance of a session that is not open here and lives in the memory of another process. */
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

  /** Whether the request needs the store: without it, this instance cannot learn that a session has ended. */
  #needsStore(request: EndpointRequest, frame: Frame): boolean {
    return (frame.kind === 'request' && frame.method === 'initialize') || this.#isElsewhere(request)
  }

  #other(label: string | undefined): string | undefined {
    return label === this.#peers.label ? undefined : label
  }

  #broadcast(request: EndpointRequest, body: Uint8Array): void {
    if (sessionIdIn(request.head) !== undefined)
      this.#peers.broadcast(Buffer.concat(forwardedBytes(request, body)))
  }

  /** If the instance of a stream does not answer, the stream continues here with the error of a lost call. */
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
    // This instance answers the request.
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

/** The instance whose request a message answers, or whose call it continues. */
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
      // Reads the state only for clients without a session, whose requests the proxy parses anyway.
      if (!namesStateless(request.head)) return undefined
      const state = frame.params.members.string('requestState')
      return state && labelOfState(state)
    }
  }
}

/** The other instance may have begun the request. Each request gets an error; a stream or notification gets 503. */
function lost(posted?: PostedMessage): Refusal {
  const error = instanceLost()
  const [first, ...more] = posted?.frames.filter((frame) => frame.kind === 'request') ?? []
  if (first === undefined) return refuse(503, error.message, { 'retry-after': '1' })
  if (more.length === 0) return { status: 200, error, id: first.id }
  const errors = [first, ...more].map(({ id }) => buildError(id, error))
  return { status: 200, error, body: buildBatch(errors).joined.toString() }
}
