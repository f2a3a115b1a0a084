// The session id, the revision and the cookies of one session, which every request of it carries.
//
// MCP, Transports, Streamable HTTP: session management, protocol version header.

import { TransportError } from '../../jsonrpc/errors.js'
import { LongLines } from '../long-lines.js'
import type { HttpAgent } from './agent.js'
import type { HttpAnswer } from './answer.js'
import { hostAndPort, resolvedAddress } from './address.js'
import { CookieJar } from './cookie-jar.js'
import type { Credential, UnprovenRequest } from './credentials.js'
import { type ExchangeHandler, HttpExchange } from './exchange.js'
import { basicLogin } from './login.js'
import type { HttpTarget } from './options.js'
import { PostWaits } from './post-waits.js'
import { traced } from './trace.js'

export interface HttpAsk extends UnprovenRequest {
  /** The JSON-RPC method in the body. */
  readonly rpc?: string | undefined
  readonly accept: string
  readonly body?: Uint8Array
  readonly lastEventId?: string | undefined
}

/** Written by the transport itself, whatever the configuration says. */
const reserved: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'connection',
  'content-length',
  'content-type',
  'host',
  'last-event-id',
  'mcp-protocol-version',
  'mcp-session-id',
  'transfer-encoding',
])

/** Whether a header field is none of the configuration's. */
export function isReserved(name: string): boolean {
  return reserved.has(name.toLowerCase())
}

/** Visible ASCII (MCP 2025-06-18, Transports: session management). */
const sessionId = /^[\x21-\x7e]{1,1024}$/

/** One session with one server; sends its credentials to that server's origin and nowhere else. */
export class HttpSession {
  readonly target: HttpTarget
  /** Where messages are posted; a redirect within the origin moves it. */
  url: URL
  version: string | undefined
  readonly waits: PostWaits
  /** Looks at long answers. */
  readonly longLines: LongLines = new LongLines()
  readonly #agent: HttpAgent
  readonly #cookies: CookieJar
  readonly #fixed: readonly string[]
  readonly #cookie: string | undefined
  /** Where the last request went: nearly all go there. */
  #place: Place
  #id: string | undefined
  #credential: Credential | undefined

  constructor(target: HttpTarget, agent: HttpAgent) {
    this.target = target
    this.url = target.url
    this.#agent = agent
    this.#cookies = new CookieJar(target.limits.cookiesMax, target.limits.cookieBytesMax)
    this.#fixed = fixedHeaders(target)
    this.#cookie = cookieOf(target)
    this.waits = new PostWaits(target.limits, target.timers)
    this.#place = placeOf(target.url)
    const login = basicLogin(target.url)
    if (login !== undefined) this.#keep(login.slice('Basic '.length))
  }

  /** Undefined where the server keeps no sessions. */
  get id(): string | undefined {
    return this.#id
  }

  /** Sends a request; it can be cancelled from now on. */
  ask(ask: HttpAsk, handler: ExchangeHandler): HttpExchange {
    const { timers, limits, credentials } = this.target
    const exchange = new HttpExchange(traced(ask, handler, this.target), timers, limits.connectMs)
    const credential = credentials?.credential(ask)
    if (credential instanceof Promise) {
      credential.then(
        (known) => this.#start(exchange, ask, known),
        (error: unknown) => exchange.fail(asTransportError(error)),
      )
    } else this.#start(exchange, ask, credential)
    return exchange
  }

  /** No message of it is waited for any more. */
  end(): void {
    this.waits.stop()
  }

  /** Takes what the head of a response to a message says about the session, and about all of them. */
  learn(answer: HttpAnswer, isOpening: boolean): void {
    this.target.pause.learn(answer)
    this.learnAside(answer)
    const id = answer.get('mcp-session-id')
    if (!isOpening || id === undefined) return
    this.#keep(id)
    if (sessionId.test(id)) this.#id = id
    else
      this.target.log('warn', 'its session id is ignored: it must be visible ASCII, 1024 characters at most')
  }

  /** The same for a response that is no matter of the messages, and does not hold them back. */
  learnAside(answer: HttpAnswer): void {
    const cookies = answer.all('set-cookie')
    if (cookies.length > 0) this.#learnCookies(cookies, answer)
  }

  /** What the server said, without what only it and we may know; it may be cut. */
  public(text: string): string {
    return this.target.discretion.beginning(text)
  }

  /** Where a redirect leads that may be followed: it stays within the origin and keeps the method, as every one of a GET does. */
  redirect(answer: HttpAnswer, method: 'GET' | 'POST' = 'POST'): URL | undefined {
    const { status } = answer
    const location = answer.get('location')
    const keepsMethod = method === 'GET' ? [301, 302, 303, 307, 308] : [307, 308]
    if (!keepsMethod.includes(status) || location === undefined) return undefined
    const to = resolvedAddress(location, this.url)
    return to?.origin === this.target.url.origin ? to : undefined
  }

  #start(exchange: HttpExchange, ask: HttpAsk, credential: Credential | undefined): void {
    const { url, method, body } = ask
    exchange.credential = credential
    if (credential !== undefined && credential !== this.#credential) this.#keep(credential.secret)
    this.#credential = credential
    if (this.#place.url !== url) this.#place = placeOf(url)
    const { host, port, path } = this.#place
    exchange.start(this.#agent, { method, host, port, path, headers: this.#headers(ask, credential) }, body)
  }

  #learnCookies(cookies: readonly string[], answer: HttpAnswer): void {
    this.#cookies.take(cookies, { url: this.url, date: answer.get('date') })
    for (const value of this.#cookies.values) this.#keep(value.replaceAll('"', ''))
  }

  /** A server that repeats it is not repeated. */
  #keep(secret: string): void {
    this.target.discretion.learn(secret)
  }

  #headers(ask: HttpAsk, credential: Credential | undefined): string[] {
    const headers = [...this.#fixed, 'Accept', ask.accept]
    if (credential !== undefined) headers.push(...credential.fields)
    if (this.#id !== undefined) headers.push('Mcp-Session-Id', this.#id)
    if (this.version !== undefined) headers.push('MCP-Protocol-Version', this.version)
    const cookie = this.#cookies.header(ask.url, this.#cookie)
    if (cookie !== undefined) headers.push('Cookie', cookie)
    if (ask.lastEventId !== undefined && ask.lastEventId !== '')
      headers.push('Last-Event-ID', inUtf8(ask.lastEventId))
    if (ask.body !== undefined)
      headers.push('Content-Type', 'application/json', 'Content-Length', String(ask.body.length))
    return headers
  }
}

/** The bytes of a field as Node takes them, a character each (HTML, server-sent events: Last-Event-ID). */
function inUtf8(text: string): string {
  return Buffer.from(text).toString('latin1')
}

/** An address, taken apart. */
interface Place {
  readonly url: URL
  readonly host: string
  readonly port: number
  readonly path: string
}

function placeOf(url: URL): Place {
  return { url, ...hostAndPort(url), path: url.pathname + url.search }
}

function fixedHeaders({ url, headers }: HttpTarget): string[] {
  const fixed = ['Host', url.host, 'Accept-Encoding', 'identity']
  const own = Object.entries(headers).filter(([name]) => !isReserved(name) && !isCookie(name))
  const has = (name: string): boolean => own.some(([key]) => key.toLowerCase() === name)
  if (!has('user-agent')) fixed.push('User-Agent', 'mcps-proxy')
  const login = basicLogin(url)
  if (login !== undefined && !has('authorization')) fixed.push('Authorization', login)
  return [...fixed, ...own.flat()]
}

/** What the configuration has for the field `Cookie`, which is written together with what the server has set. */
function cookieOf({ headers }: HttpTarget): string | undefined {
  const values = Object.entries(headers).filter(([name]) => isCookie(name))
  return values.length === 0 ? undefined : values.map(([, value]) => value).join('; ')
}

function isCookie(name: string): boolean {
  return name.toLowerCase() === 'cookie'
}

function asTransportError(error: unknown): TransportError {
  return error instanceof TransportError ? error : new TransportError('TRANSPORT_AUTH', String(error))
}
