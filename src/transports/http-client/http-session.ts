// The session id, the revision and the cookies of one session, which every request of it carries.
//
// MCP, Transports, Streamable HTTP: session management, protocol version header.

import { fieldLine, type HttpAgent, type HttpAnswer } from '../http1/client.js'
import { basicLogin, resolvedAddress } from '../address.js'
import type { Credential, HttpTarget } from './options.js'

export interface HttpAsk {
  readonly method: 'POST' | 'GET' | 'DELETE'
  readonly url: URL
  /** How it is sent again where that is in order; undefined for a request that is sent once. */
  readonly retry?: { readonly delayMs: number; readonly isRepeatable: boolean } | undefined
  readonly afterMs?: number | undefined
  /** The JSON-RPC method in the body. */
  readonly rpc?: string | undefined
  readonly accept: string
  readonly body?: Uint8Array
  /** The fields that repeat what the body says, of a message that is of no session. */
  readonly mirrored?: readonly string[] | undefined
  readonly lastEventId?: string | undefined
}

/** Fields that the transport writes itself; the configuration cannot replace them. */
const reserved =
  /^(?:accept|accept-encoding|connection|content-(?:length|type)|host|last-event-id|mcp-(?:method|name|protocol-version|session-id)|transfer-encoding)$/i

/** Whether a header field is none of the configuration's. */
export function isReserved(name: string): boolean {
  return reserved.test(name)
}

/** Visible ASCII (MCP 2025-06-18, Transports: session management). */
const sessionId = /^[\x21-\x7e]{1,1024}$/

/** RFC 6265, section 4.1.1: neither control characters, white space, quotes, commas nor backslashes. */
const cookiePair = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+)=("?[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*"?)$/

/** By this a server takes a cookie back; a date of 1970 is what frameworks write, and needs no clock that is right. */
const takenBack = /;\s*(?:max-age=(?:-|0+\s*(?:;|$))|expires=[^;]*\b1970\b)/i

const redirects: Readonly<Record<HttpAsk['method'], readonly number[]>> = {
  GET: [301, 302, 303, 307, 308],
  POST: [307, 308],
  DELETE: [],
}

/** One session with one server; sends its credentials to that server's origin and nowhere else. */
export class HttpSession {
  readonly target: HttpTarget
  readonly agent: HttpAgent
  /** The address of POSTs; a redirect within the origin changes it. */
  url: URL
  version: string | undefined
  /** Pairs by name: those of the configuration, and those by which load balancers find the instance of this session. */
  readonly #cookies: Map<string, string>
  /** The fields that every request has, as they are written; undefined until the first. */
  #fixed: string | undefined
  #id: string | undefined
  /** The latest id that the server has named, valid or not. */
  #namedId: string | undefined
  /** Whether the server has answered a request other than `initialize` with a result. */
  hasServed = false

  constructor(target: HttpTarget, agent: HttpAgent) {
    const { url, headers } = target
    this.target = target
    this.agent = agent
    this.url = url
    const configured = Object.entries(headers).flatMap(([name, value]) =>
      isCookie(name) ? value.split(';').map((pair) => pair.trim()) : [],
    )
    this.#cookies = new Map(configured.map((pair) => [pair.split('=', 1)[0] ?? '', pair]))
    this.#cookies.delete('')
    const login = basicLogin(url)
    if (login !== undefined) target.redactor.add(login.slice('Basic '.length))
  }

  /** Undefined where the server keeps no sessions. */
  get id(): string | undefined {
    return this.#id
  }

  /** Takes the session id from a response to a message. A server may name another with each; the latest is used. */
  learn(answer: HttpAnswer): void {
    const id = answer.fields.get('mcp-session-id')
    if (id === undefined || id === this.#namedId) return
    this.#namedId = id
    this.target.redactor.add(id)
    if (sessionId.test(id)) this.#id = id
    else
      this.target.log('warn', 'its session id is ignored: it must be visible ASCII, 1024 characters at most')
  }

  /** Takes the cookies of a response. They go to every address of the server until it takes them back. */
  learnCookies(answer: HttpAnswer): void {
    const { redactor, limits } = this.target
    for (const field of answer.fields.all('set-cookie')) {
      const [pair = ''] = field.split(';', 1)
      const [, name] = cookiePair.exec(pair.trim()) ?? []
      if (name === undefined || pair.length > limits.cookieBytesMax) continue
      if (takenBack.test(field)) this.#cookies.delete(name)
      else if (this.#cookies.has(name) || this.#cookies.size < limits.cookiesMax)
        this.#cookies.set(name, pair.trim())
      // All of them: a secret in use stays known, however many cookies the server sets.
      for (const [known, each] of this.#cookies)
        redactor.add(each.slice(known.length + 1).replaceAll('"', ''))
    }
  }

  /** Of what belongs to the session, which a message that says by itself what it is does not. */
  #sessionFields(): string {
    // Both were looked at when they came.
    const id = this.#id === undefined ? '' : `Mcp-Session-Id: ${this.#id}\r\n`
    return this.version === undefined ? id : `${id}MCP-Protocol-Version: ${this.version}\r\n`
  }

  /** The target of a redirect that may be followed: it stays within the origin and keeps the method, as every redirect of a
   * GET does. */
  redirect(answer: HttpAnswer, method: HttpAsk['method'], from: URL): URL | undefined {
    if (!redirects[method].includes(answer.status)) return undefined
    const to = resolvedAddress(answer.fields.get('location'), from)
    return to?.origin === this.target.url.origin ? to : undefined
  }

  /**
   * The request line and the fields (RFC 9112, sections 3 and 5).
   *
   * @throws TypeError when a field would end early, or cannot be written
   */
  headOf(ask: HttpAsk, url: URL, credential: Credential | undefined): string {
    // Each time: a secret in use stays known, however many cookies the server sets.
    if (credential !== undefined) this.target.redactor.addCredential(credential.secret)
    if (this.#id !== undefined) this.target.redactor.add(this.#id)
    this.#fixed ??= fixedFields(this.target)
    let head = `${ask.method} ${url.pathname}${url.search} HTTP/1.1\r\n${this.#fixed}Accept: ${ask.accept}\r\n`
    if (credential !== undefined) head += written(credential.fields)
    head += ask.mirrored === undefined ? this.#sessionFields() : written(ask.mirrored)
    if (this.#cookies.size > 0) head += fieldLine('Cookie', [...this.#cookies.values()].join('; '))
    if (ask.lastEventId !== undefined && ask.lastEventId !== '')
      head += fieldLine('Last-Event-ID', inUtf8(ask.lastEventId))
    if (ask.body !== undefined)
      head += `Content-Type: application/json\r\nContent-Length: ${ask.body.length}\r\n`
    return `${head}Connection: keep-alive\r\n\r\n`
  }
}

/** The bytes of a field, a character each (HTML, server-sent events: Last-Event-ID). */
function inUtf8(text: string): string {
  return Buffer.from(text).toString('latin1')
}

function fixedFields({ url, headers }: HttpTarget): string {
  const fixed = ['Host', url.host, 'Accept-Encoding', 'identity']
  const own = Object.entries(headers).filter(([name]) => !isReserved(name) && !isCookie(name))
  const has = (name: string): boolean => own.some(([key]) => key.toLowerCase() === name)
  if (!has('user-agent')) fixed.push('User-Agent', 'mcps-proxy')
  const login = basicLogin(url)
  if (login !== undefined && !has('authorization')) fixed.push('Authorization', login)
  return written([...fixed, ...own.flat()])
}

/** Names and values in turn, as lines. */
function written(fields: readonly string[]): string {
  let lines = ''
  for (let at = 0; at + 1 < fields.length; at += 2) lines += fieldLine(fields[at] ?? '', fields[at + 1] ?? '')
  return lines
}

function isCookie(name: string): boolean {
  return name.toLowerCase() === 'cookie'
}
