// The HTTP front: one listening socket for every endpoint.
//
// Every request passes the guard first, then finds its route, then its handler;
// what a handler refuses is said in one place.

import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { Bodies } from './http-front/body.js'
import { type HttpTimer, repeat } from './http-front/clock.js'
import { type CorsRules, corsHeaders, preflightHeaders } from './http-front/cors.js'
import { Ending } from './http-front/ending.js'
import type { HttpRoutes, HttpSurroundings, HttpTarget } from './http-front/endpoint.js'
import { EventPair } from './http-front/event-pair.js'
import { Guard, targetOf } from './http-front/guard.js'
import { hostRule, reachable } from './http-front/host.js'
import type { Incoming, Served } from './http-front/incoming.js'
import type { HttpLimits } from './http-front/limits.js'
import { listening } from './http-front/listening.js'
import { serverWith } from './http-front/node-server.js'
import { Pipeline } from './http-front/pipeline.js'
import { type Refusal, Refusals, type Wording, closing } from './http-front/refusal.js'
import { refuse, sendJson } from './http-front/reply.js'
import { RequestHead } from './http-front/request-head.js'
import { Strangers } from './http-front/strangers.js'
import { Streamable } from './http-front/streamable.js'

/** Who gets in; may change while the server runs. */
export interface HttpRules {
  /** Names under which clients may reach the server, besides its own. */
  readonly allowedHosts: readonly string[]
  readonly cors: CorsRules
  /** Whose token it is; undefined where none is asked for. */
  readonly principalOf: ((token: string) => string | undefined) | undefined
}

export interface HttpServerOptions extends HttpRules {
  readonly host: string
  /** 0 takes a free one. */
  readonly port: number
  readonly limits: HttpLimits
  readonly wording: Wording
  readonly around: HttpSurroundings
}

/** Where a server listens. */
export interface HttpAddress {
  readonly host: string
  readonly port: number
  /** An address that a client on this machine can use. */
  readonly url: string
}

/** An HTTP front; it listens once and closes once. */
export class HttpServer {
  readonly #options: HttpServerOptions
  readonly #server: Server
  readonly #ending: Ending
  readonly #refusals: Refusals
  readonly #streamable: Streamable
  readonly #pair: EventPair
  readonly #routes: HttpRoutes
  readonly #strangers: Strangers
  readonly #bodies: Bodies
  readonly #pipeline = new Pipeline()
  #sweepers: readonly HttpTimer[] = []
  #rules: HttpRules
  /** Known once the server listens. */
  #port: number | undefined
  #guard: Guard | undefined
  #stopping = false

  constructor(options: HttpServerOptions, routes: HttpRoutes) {
    const { limits, around } = options
    this.#options = options
    this.#rules = options
    this.#routes = routes
    this.#refusals = new Refusals(options.wording)
    this.#bodies = new Bodies(limits, around.now)
    const { revisions } = routes
    const parts = { limits, refusals: this.#refusals, bodies: this.#bodies, around, revisions }
    const closed = ({ request }: Incoming): Refusal => this.#closed(request)
    this.#streamable = new Streamable({ ...parts, closed })
    this.#pair = new EventPair(parts)
    this.#strangers = new Strangers(limits.strangersMax)
    this.#server = serverWith(limits, (request, response) => {
      // Node gives a response its connection when the one before has ended: nearly always at once.
      if (response.socket !== null) this.#handle(request, response)
      else this.#pipeline.add(request, response, () => this.#handle(request, response))
    })
    this.#ending = new Ending(this.#server, around.setTimer)
    this.#server.on('connection', (socket) => {
      if (around.room() === 'none') return void socket.destroy()
      if (this.#rules.principalOf !== undefined) this.#strangers.admit(socket)
    })
  }

  /** @throws the system's error (`EADDRINUSE`, …) when the address cannot be had */
  async listen(): Promise<HttpAddress> {
    const { host, limits, around } = this.#options
    const port = await (around.listen ?? listening)(this.#server, host, this.#options.port)
    this.#sweepers = [
      repeat(around.setTimer, limits.sweepMs, () => this.#streamable.clients.sweep()),
      repeat(around.setTimer, limits.lateCheckMs, () => this.#bodies.sweep()),
    ]
    this.#port = port
    this.#guard = this.#guardAt(port)
    return { host, port, url: `http://${reachable(host)}:${port}` }
  }

  /** From now on other rules hold; where tokens are compared anew, those who are in may only finish. */
  change(rules: HttpRules): void {
    const isSameToken = rules.principalOf === this.#rules.principalOf
    this.#rules = rules
    if (this.#port !== undefined) this.#guard = this.#guardAt(this.#port)
    if (isSameToken) return
    this.#streamable.clients.leaveAll()
    this.#pair.leaveAll()
  }

  /** Takes no new connection and no new request; what is being answered goes on. */
  stop(): void {
    if (this.#stopping) return
    this.#stopping = true
    this.#ending.stop()
  }

  /** Ends every session; clients have a moment to take what was said to them. */
  async close(): Promise<void> {
    this.stop()
    for (const sweeper of this.#sweepers) sweeper.cancel()
    this.#streamable.clients.endAll()
    this.#pair.endAll()
    await this.#ending.close(this.#options.limits.closeWaitMs)
  }

  #guardAt(port: number): Guard {
    const { allowedHosts, principalOf, cors } = this.#rules
    const hasToken = principalOf !== undefined
    const hosts = hostRule({ host: this.#options.host, port, alsoKnownAs: allowedHosts, hasToken })
    return new Guard({ hosts, cors, hasToken, principalOf: principalOf ?? nobody }, this.#refusals)
  }

  #handle(request: IncomingMessage, response: ServerResponse): void {
    // A client that goes away in the middle is no failure of ours.
    response.on('error', ignore)
    request.on('error', ignore)
    const end = (refusal: Refusal | undefined): void => {
      if (refusal !== undefined) this.#refuse(request, response, refusal)
    }
    const fail = (error: unknown): void => {
      this.#options.around.failed(error)
      end(this.#refusals.plain(500, 'Internal error'))
    }
    try {
      const served = this.#serve(request, response)
      if (served instanceof Promise) served.then(end).catch(fail)
      else end(served)
    } catch (error) {
      fail(error)
    }
  }

  #serve(request: IncomingMessage, response: ServerResponse): Served {
    const head = new RequestHead(request.rawHeaders)
    return this.#refuses(request, head) ?? this.#admitted(request, response, head)
  }

  #refuses(request: IncomingMessage, head: RequestHead): Refusal | undefined {
    if (this.#stopping || this.#guard === undefined) return this.#shuttingDown()
    return this.#guard.refuses(request, head)
  }

  #closed({ url }: IncomingMessage): Refusal {
    const target = this.#routes.find(targetOf(url ?? '').path)
    return !this.#stopping && target.kind === 'nothing' ? target.refusal : this.#shuttingDown()
  }

  #shuttingDown(): Refusal {
    return this.#refusals.plain(503, 'Shutting down', { ...closing, 'retry-after': '5' })
  }

  #admitted(request: IncomingMessage, response: ServerResponse, head: RequestHead): Served {
    const { cors } = this.#rules
    const origin = head.get('origin')
    if (origin !== undefined)
      for (const [name, value] of Object.entries(corsHeaders(cors, origin)))
        if (value !== undefined) response.setHeader(name, value)
    if (request.method === 'OPTIONS') return preflight(response, cors, origin)
    const { path, query } = targetOf(request.url ?? '')
    const target = this.#routes.find(path)
    const principal = this.#guard?.principal(head)
    if (principal === undefined && !(target.kind === 'page' && target.open))
      return this.#guard?.unauthorized()
    if (principal !== undefined) this.#strangers.know(request.socket)
    return this.#dispatch({ request, response, head, query, principal: principal ?? '' }, target)
  }

  #dispatch(incoming: Incoming, target: HttpTarget): Served {
    const { request, response } = incoming
    switch (target.kind) {
      case 'mcp':
        return this.#streamable.serve(incoming, target.endpoint)
      case 'events':
        return this.#pair.events(incoming, target.endpoint, target.messagePath)
      case 'messages':
        return this.#pair.messages(incoming, target.endpoint)
      case 'nothing':
        return target.refusal
      case 'page':
        break
    }
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return this.#refusals.plain(405, 'Method not allowed', { allow: 'GET, HEAD, OPTIONS' })
    sendJson(response, 200, target.body())
    return undefined
  }

  #refuse(request: IncomingMessage, response: ServerResponse, refusal: Refusal): void {
    const { limits, around } = this.#options
    const version = new RequestHead(request.rawHeaders).get('mcp-protocol-version')
    const revision = refusal.revision ?? this.#routes.revisions.find((each) => each.version === version)
    refuse(request, response, { ...refusal, revision }, (done) => around.setTimer(limits.refusedBodyMs, done))
  }
}

function ignore(): void {}

function nobody(): undefined {}

function preflight(response: ServerResponse, cors: CorsRules, origin: string | undefined): undefined {
  const isAllowed = origin !== undefined && response.hasHeader('access-control-allow-origin')
  response.writeHead(204, isAllowed ? preflightHeaders(cors) : {})
  response.end()
  return undefined
}
