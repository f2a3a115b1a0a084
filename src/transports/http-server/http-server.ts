// The HTTP front: one listening socket for every endpoint.
//
// Every request passes the guard first, then finds its route, then its handler;
// what a handler refuses is said in one place.

import { Bodies } from './body.js'
import { type HttpTimer, repeat } from './clock.js'
import { type CorsRules, allows, corsHeaderFields, preflightFields } from './cors.js'
import type { HttpRoutes, HttpSurroundings, HttpRoute } from './endpoint.js'
import { EventPair } from './event-pair.js'
import { Guard, type GuardRemedies, type Principal, type PrincipalOf, targetOf } from './guard.js'
import { hostRule, reachable } from './host.js'
import type { Incoming, ServeResult } from './incoming.js'
import type { RequestJudge } from './judge.js'
import type { HttpServerLimits } from './limits.js'
import { FrontListener } from './front-listener.js'
import { RareWarnings } from './rare-warnings.js'
import { type Refusal, Refusals, type Wording, closing } from './refusal.js'
import { refuse, sendJson } from './reply.js'
import type { HttpRequest } from './request.js'
import type { HttpResponse } from './response.js'
import type { Fields } from './status-line.js'
import { Streamable } from './streamable.js'

/** The access rules; they may change while the server runs. */
export interface HttpRules {
  /** Names under which clients may reach the server, besides its own. */
  readonly allowedHosts: readonly string[]
  readonly cors: CorsRules
  /** Whose token it is; undefined where none is asked for. */
  readonly principalOf: PrincipalOf | undefined
}

export interface HttpFrontParts extends HttpRules {
  readonly host: string
  /** 0 takes a free one. */
  readonly port: number
  readonly limits: HttpServerLimits
  readonly wording: Wording
  readonly remedies: GuardRemedies
  /** Makes what decides how requests are served; it refuses with these words. */
  readonly judge: (refusals: Refusals) => RequestJudge
  readonly around: HttpSurroundings
}

/** Where a server listens. */
export interface HttpAddress {
  readonly host: string
  readonly port: number
  /** What a client on this machine can use, as in `http://127.0.0.1:3095`. */
  readonly origin: string
}

/** An HTTP front; it listens once and closes once. */
export class HttpServer {
  readonly #options: HttpFrontParts
  readonly #listening: FrontListener
  readonly #refusals: Refusals
  readonly #notices: RareWarnings<'page' | 'name'>
  readonly #streamable: Streamable
  readonly #pair: EventPair
  readonly #routes: HttpRoutes
  readonly #bodies: Bodies
  #sweepers: readonly HttpTimer[] = []
  #rules: HttpRules
  /** Known once the server listens. */
  #port: number | undefined
  #guard: Guard | undefined

  constructor(options: HttpFrontParts, routes: HttpRoutes) {
    const { limits, around } = options
    this.#options = options
    this.#rules = options
    this.#routes = routes
    this.#refusals = new Refusals(options.wording)
    this.#notices = new RareWarnings(around.now, around.warn)
    this.#bodies = new Bodies(limits, around.now)
    const parts = { limits, refusals: this.#refusals, bodies: this.#bodies, around }
    const closed = ({ request }: Incoming): Refusal => this.#closed(request)
    this.#streamable = new Streamable({ ...parts, judge: options.judge(this.#refusals), closed })
    this.#pair = new EventPair(parts)
    this.#listening = new FrontListener({
      ...around,
      limits,
      hasToken: () => this.#rules.principalOf !== undefined,
      serve: (request, response) => this.#handle(request, response),
    })
  }

  /** @throws the system's error (`EADDRINUSE`, …) when the address cannot be had */
  async listen(): Promise<HttpAddress> {
    const { host, limits, around } = this.#options
    const port = await this.#listening.listen(host, this.#options.port)
    this.#sweepers = [
      repeat(around.setTimer, limits.sweepMs, () => this.#streamable.clients.sweep()),
      repeat(around.setTimer, limits.lateCheckMs, () => this.#bodies.sweep()),
    ]
    this.#port = port
    this.#guard = this.#guardAt(port)
    return { host, port, origin: `http://${reachable(host)}:${port}` }
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
    this.#listening.stop()
  }

  /** Ends every session; clients have a moment to take what was said to them. */
  async close(): Promise<void> {
    this.stop()
    for (const sweeper of this.#sweepers) sweeper.cancel()
    this.#streamable.clients.endAll()
    this.#pair.endAll()
    await this.#listening.close(this.#options.limits.closeWaitMs)
  }

  #guardAt(port: number): Guard {
    const { allowedHosts, principalOf, cors } = this.#rules
    const hasToken = principalOf !== undefined
    const hosts = hostRule({ host: this.#options.host, port, alsoKnownAs: allowedHosts, hasToken })
    const hasPage = (path: string): boolean => isOpenPage(this.#routes.find(path))
    const { remedies } = this.#options
    const rules = { hosts, cors, hasToken, isOpen: hasPage, remedies, principalOf: principalOf ?? nobody }
    return new Guard(rules, this.#refusals, this.#notices)
  }

  #handle(request: HttpRequest, response: HttpResponse): void {
    const end = (refusal: Refusal | undefined): void => {
      if (refusal !== undefined) this.#refuse(request, response, refusal)
    }
    const fail = (error: unknown): void => {
      this.#options.around.failed(error)
      end(this.#refusals.plain(500, 'Internal error'))
    }
    try {
      const served = this.#refuses(request) ?? this.#admitted(request, response)
      if (served instanceof Promise) served.then(end).catch(fail)
      else end(served)
    } catch (error) {
      fail(error)
    }
  }

  #refuses({ head }: HttpRequest): Refusal | undefined {
    if (this.#listening.isStopping || this.#guard === undefined) return this.#shuttingDown()
    return this.#guard.refuses(head)
  }

  #closed({ target }: HttpRequest): Refusal {
    const found = this.#routes.find(targetOf(target).path)
    return !this.#listening.isStopping && found.kind === 'nothing' ? found.refusal : this.#shuttingDown()
  }

  #shuttingDown(): Refusal {
    return this.#refusals.plain(503, 'Shutting down', { ...closing, 'retry-after': '5' })
  }

  #admitted(request: HttpRequest, response: HttpResponse): ServeResult {
    const { head } = request
    const { cors } = this.#rules
    const fields = corsHeaderFields(cors, head.get('origin'))
    if (head.method === 'OPTIONS') return preflight(response, cors, fields)
    if (fields.length > 0) response.add(fields)
    const { path, query } = targetOf(head.target)
    const target = this.#routes.find(path)
    const arrived = { request, response, query }
    const principal = this.#guard?.principal(head)
    return principal instanceof Promise
      ? principal.then((known) => this.#identified(known, arrived, target))
      : this.#identified(principal, arrived, target)
  }

  #identified(principal: Principal, arrived: Omit<Incoming, 'principal'>, target: HttpRoute): ServeResult {
    if (principal === undefined && !isOpen(target)) return this.#guard?.unauthorized()
    if (principal !== undefined && this.#rules.principalOf !== undefined)
      this.#listening.know(arrived.request.socket)
    return this.#dispatch({ ...arrived, principal: principal ?? '' }, target)
  }

  #dispatch(incoming: Incoming, target: HttpRoute): ServeResult {
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

  #refuse({ head }: HttpRequest, response: HttpResponse, refusal: Refusal): void {
    const version = head.get('mcp-protocol-version')
    const revision = refusal.revision ?? this.#routes.revisions.find((each) => each.version === version)
    refuse(response, { ...refusal, revision })
  }
}

function isOpenPage(target: HttpRoute): boolean {
  return target.kind === 'page' && target.open
}

/** Whether the answer is the same for everybody. */
function isOpen(target: HttpRoute): boolean {
  return isOpenPage(target) || (target.kind === 'nothing' && target.isForAll === true)
}

function nobody(): undefined {}

function preflight(response: HttpResponse, cors: CorsRules, fields: Fields): undefined {
  response.send(204, allows(fields) ? [...fields, ...preflightFields(cors)] : fields)
  return undefined
}
