// The HTTP front: one listening socket for every endpoint.
//
// Every request passes the guard first, then finds its route and its handler. `#refuse` writes all refusals.

import { buildError } from '../../jsonrpc/build.js'
import { Bodies } from './body.js'
import { ClientRegistry } from './client-registry.js'
import { type HttpEndpoint, type HttpEnvironment, type HttpRoutes, isOpen } from './endpoint.js'
import { McpHandlers } from './mcp-handlers.js'
import { FrontListener } from './front-listener.js'
import {
  type AdmittedHead,
  Guard,
  type GuardRemedies,
  type HttpRules,
  preflightFields,
  readAccept,
  type Sender,
  type SenderVerdict,
  isSender,
  reachable,
  targetOf,
} from './access.js'
import { type ForwardedRequest, ForwardedServing, readForwarded, discardedResponse } from './forwarding.js'
import { OtherInstances } from './other-instances.js'
import { namedRevision, sessionIdIn } from './protocol.js'
import { RareWarnings } from './rare-warnings.js'
import type { HttpRequest } from '../http1/server.js'
import { type Refusal, isRefusal, noSession, refuse, type ServeResult } from './refusal.js'
import { repeat } from '../../runtime/deadline.js'
import { TokenStreams } from './token-streams.js'

export interface HttpFrontOptions extends HttpRules {
  readonly host: string
  /** 0 selects a free port. */
  readonly port: number
  /** Whether another process accepts on the same socket after this one. */
  readonly handsOver?: boolean
  readonly remedies: GuardRemedies
  readonly environment: HttpEnvironment
}

export interface HttpAddress {
  readonly host: string
  readonly port: number
  /** The origin for clients on this machine, as in `http://127.0.0.1:3095`. */
  readonly origin: string
}

/** An HTTP front. It listens once and closes once. */
export class HttpServer {
  readonly #options: HttpFrontOptions
  readonly #listening: FrontListener
  readonly #notices: RareWarnings
  readonly #clients: ClientRegistry
  readonly #handlers: McpHandlers
  readonly #routes: HttpRoutes
  readonly #bodies: Bodies
  readonly #tokenStreams: TokenStreams
  readonly #others: OtherInstances | undefined
  #sweepers: readonly { cancel(): void }[] = []
  #rules: HttpRules
  #port: number
  #guard: Guard

  constructor(options: HttpFrontOptions, routes: HttpRoutes) {
    const { environment } = options
    this.#options = options
    this.#rules = options
    this.#port = options.port
    this.#routes = routes
    this.#notices = new RareWarnings(environment)
    this.#guard = this.#newGuard()
    this.#bodies = new Bodies(environment)
    this.#clients = new ClientRegistry(environment)
    const { peers } = environment
    this.#others = peers && new OtherInstances(peers, environment, this.#clients)
    this.#handlers = new McpHandlers(this.#clients, this.#bodies, this.#others)
    this.#tokenStreams = new TokenStreams(environment)
    peers?.serve({
      opened: (channel) =>
        new ForwardedServing(channel, environment.limits.bodyBytesMax, (request) =>
          this.#handle(request, this.#serveForwarded),
        ),
      onMessage: (bytes) => this.#onMessage(bytes),
    })
    this.#listening = new FrontListener(
      environment,
      () => this.#rules.senderOf !== undefined,
      (request) => this.#handle(request, this.#serve),
    )
  }

  /** @throws the error of the system (`EADDRINUSE`, …) */
  async listen(): Promise<HttpAddress> {
    const { host, environment } = this.#options
    this.#port = await this.#listening.listen(host, this.#port)
    this.#guard = this.#newGuard()
    this.#sweepers = [
      repeat(environment, environment.limits.sweepMs, () => this.#sweep()),
      repeat(environment, environment.limits.lateCheckMs, () => {
        this.#bodies.sweep()
        this.#tokenStreams.sweep()
      }),
    ]
    return { host, port: this.#port, origin: `http://${reachable(host)}:${this.#port}` }
  }

  /** Replaces the rules. Principals whose token was removed or replaced may only finish their calls. */
  change(rules: HttpRules): void {
    const before = this.#rules
    this.#rules = rules
    this.#guard = this.#newGuard()
    if (rules.senderOf === undefined) return
    this.#tokenStreams.sweep(true)
    this.#clients.leave((principal) => {
      const credential = before.credentialOf?.(principal)
      return credential === undefined || rules.credentialOf?.(principal) !== credential
    })
  }

  /** Whether the front ends soon, and every connection ends with its next response. */
  get isDraining(): boolean {
    return this.#listening.isDraining
  }

  get revived(): number {
    return this.#clients.revived
  }

  /**
   * Continues to serve, but ends connections soon. Resolves when another program may take the place of this
   * one: if it accepts on the same socket, after the answers to all requests here.
   */
  drain(): Promise<void> {
    const { handsOver = false } = this.#options
    this.#listening.drain(handsOver)
    return handsOver ? this.#listening.quiet.promise : Promise.resolve()
  }

  /** Accepts no further call. Calls in progress continue. */
  stop(): void {
    void this.drain()
    this.#handlers.isStopping = true
  }

  /** Resolves when the messages that other instances serve now are answered. */
  async answeredElsewhere(): Promise<void> {
    await this.#others?.answered()
  }

  /** Ends every session. Clients have a moment to read the last answers. */
  async close(): Promise<void> {
    this.stop()
    this.#others?.endStreams()
    for (const sweeper of this.#sweepers) sweeper.cancel()
    this.#clients.endAll()
    await this.#listening.close(this.#options.environment.limits.closeWaitMs)
  }

  #sweep(): void {
    this.#clients.sweep()
    this.leave()
  }

  /** Principals whose token has ended may only finish their calls. */
  leave(): void {
    const { credentialOf } = this.#rules
    if (credentialOf !== undefined) this.#clients.leave((principal) => credentialOf(principal) === undefined)
  }

  #newGuard(): Guard {
    return new Guard(this.#rules, { ...this.#options, port: this.#port }, this.#routes, this.#notices)
  }

  #handle<R extends Answerable>(request: R, serve: (request: R) => ServeResult): void {
    const end = (refusal: Refusal | undefined): void => {
      if (refusal !== undefined) this.#refuse(request, refusal)
    }
    const fail = (error: unknown): void => {
      this.#options.environment.failed(error)
      end(refuse(500, 'Internal error'))
    }
    try {
      const served = serve(request)
      if (served instanceof Promise) served.then(end).catch(fail)
      else end(served)
    } catch (error) {
      fail(error)
    }
  }

  readonly #serve = (request: HttpRequest): ServeResult => {
    const { head, response } = request
    const admitted = this.#guard.admit(request)
    if (isRefusal(admitted)) return admitted
    const { fields } = admitted
    if (head.method === 'OPTIONS') {
      response.send(204, preflightFields(this.#rules.cors, fields))
      return undefined
    }
    if (fields.length > 0) response.add(fields)
    const handler = this.#routes.handlerOf?.(admitted.path)
    if (handler !== undefined) return handler(request)
    return this.#identify(request, admitted)
  }

  #identify(request: HttpRequest, admitted: AdmittedHead): ServeResult {
    const guard = this.#guard
    const verdict = guard.sender(admitted, request.wire.socket.remoteAddress)
    if (!(verdict instanceof Promise)) return this.#dispatch(request, admitted, verdict)
    return verdict.then((found) => {
      if (guard === this.#guard) return this.#dispatch(request, admitted, found)
      // The rules changed during the check of the token.
      const again = this.#guard.admit(request)
      return isRefusal(again) ? again : this.#identify(request, again)
    })
  }

  #dispatch(request: HttpRequest, admission: AdmittedHead, verdict: SenderVerdict | undefined): ServeResult {
    const { path, query, accepts } = admission
    const { wire } = request
    const sender = isSender(verdict) ? verdict : undefined
    const route = this.#routes.find(path, sender)
    if (sender === undefined && !isOpen(route))
      return this.#guard.unauthorized(admission, wire.socket.remoteAddress ?? 'an unknown address', verdict)
    if (sender !== undefined && this.#rules.senderOf !== undefined) this.#listening.onAuthenticated(wire)
    if (route.kind === 'nothing') return route.refusal
    if (route.kind === 'page') return this.#page(request, route.body(), route.type)
    const asked = {
      wire,
      head: request.head,
      body: request.body,
      response: request.response,
      accepts,
      query,
      endpoint: route.endpoint,
      sender: sender ?? nobody,
      principal: sender?.principal ?? '',
      isForwarded: false,
      credential: sender?.credential,
      address: admission.forwardedFor ?? wire.socket.remoteAddress,
      onStream: () => this.#lasts(request, path, route.endpoint, sender),
    }
    switch (route.kind) {
      case 'mcp':
        return this.#handlers.streamable(asked)
      case 'events':
        return this.#handlers.events(asked, route.messagePath)
      case 'messages':
        return this.#handlers.message(asked)
    }
  }

  /** Serves a request that another instance has received and admitted. */
  readonly #serveForwarded = (request: ForwardedRequest): ServeResult => {
    const { sender, head } = request
    const { path, query } = targetOf(head.target)
    const route = this.#routes.find(path, sender)
    if (route.kind !== 'mcp') return route.kind === 'nothing' ? route.refusal : noSession
    const { principal, credential } = sender
    const owner = { endpoint: route.endpoint, principal, credential }
    const id = request.isBroadcast ? sessionIdIn(head) : undefined
    if (
      request.isBroadcast &&
      (id === undefined || this.#clients.session('session', id, owner) === undefined)
    )
      return noSession
    const accepts = readAccept(head.fields.all('accept').join(', '))
    return this.#handlers.streamable({ ...request, ...owner, accepts, query, isForwarded: true })
  }

  /** Handles a request that another instance serves, and that every instance with the same session must know. */
  #onMessage(bytes: Buffer): void {
    const read = readForwarded(bytes)
    this.#handle({ ...read, response: discardedResponse(read.head), isBroadcast: true }, this.#serveForwarded)
  }

  /** The response is a stream. It ends with the token of its sender, if that token ends. */
  #lasts(request: HttpRequest, path: string, endpoint: HttpEndpoint, sender: Sender | undefined): void {
    this.#listening.onLastingResponse(request)
    if (sender?.untilMs === undefined) return
    const { head, response, wire } = request
    const { untilMs } = sender
    const examine = async (): Promise<Sender | undefined> => {
      const admitted = this.#guard.admit({ wire, head })
      if (isRefusal(admitted)) return undefined
      const now = await this.#guard.sender(admitted, wire.socket.remoteAddress)
      // The issuer may be unreachable. The token stays valid until `untilMs`.
      if (!isSender(now) && now?.status === 503 && this.#options.environment.wallNow() < untilMs)
        return sender
      if (!isSender(now) || now.principal !== sender.principal) return undefined
      const route = this.#routes.find(path, now)
      return 'endpoint' in route && route.endpoint === endpoint ? now : undefined
    }
    this.#tokenStreams.add({ response, sender, examine })
  }

  #page({ head: { method }, response }: HttpRequest, body: string, type?: string): ServeResult {
    if (method !== 'GET' && method !== 'HEAD')
      return refuse(405, 'Method not allowed', { allow: 'GET, HEAD, OPTIONS' })
    response.sendText(200, body, [], type)
    return undefined
  }

  #refuse({ head, response }: Answerable, refusal: Refusal): void {
    if (response.hasBegun || response.isClosed) return response.cut()
    const revision = refusal.revision ?? namedRevision(head)
    const { status, error, id, headers = {}, body } = refusal
    const text = body ?? buildError(id, error, revision?.orphanId)
    response.sendText(status, text, Object.entries(headers).flat())
  }
}

type Answerable = Pick<HttpRequest, 'head' | 'response'>

/** The sender on a route that needs none. */
const nobody: Sender = { principal: '' }
