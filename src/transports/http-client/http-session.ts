// The session id, the revision and the cookies of one session, which all its requests carry.
//
// MCP, Transports, Streamable HTTP: session management, protocol version header.

import { fieldLine, type HttpAgent, type HttpAnswer } from '../http1/client.js'
import { basicLogin, resolvedAddress } from '../address.js'
import type { Credential, HttpTarget } from './options.js'

export interface HttpRequestSpec {
  readonly method: 'POST' | 'GET' | 'DELETE'
  readonly url: URL
  /** How the request may be sent again; undefined for a request that is sent once. */
  readonly retry?: { readonly delayMs: number; readonly isRepeatable: boolean } | undefined
  readonly afterMs?: number | undefined
  /** The JSON-RPC method in the body. */
  readonly rpc?: string | undefined
  readonly accept: string
  readonly body?: Uint8Array
  /** Header fields that repeat parts of the body, for a message without a session. */
  readonly mirrored?: readonly string[] | undefined
  readonly lastEventId?: string | undefined
}

/** The transport writes these fields itself. The configuration cannot replace them. */
const reserved =
  /^(?:accept|accept-encoding|connection|content-(?:length|type)|host|last-event-id|mcp-(?:method|name|protocol-version|session-id)|transfer-encoding)$/i

/** Whether the configuration must not set this header field. */
export function isReserved(name: string): boolean {
  return reserved.test(name)
}

/** Visible ASCII (MCP 2025-06-18, Transports: session management). */
const sessionId = /^[\x21-\x7e]{1,1024}$/

/** RFC 6265, section 4.1.1: no control characters, white space, quotes, commas or backslashes. */
const cookiePair = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+)=("?[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*"?)$/

/** Matches the removal of a cookie. Frameworks write a date of 1970, which needs no correct clock. */
const takenBack = /;\s*(?:max-age=(?:-|0+\s*(?:;|$))|expires=[^;]*\b1970\b)/i

const redirects: Readonly<Record<HttpRequestSpec['method'], readonly number[]>> = {
  GET: [301, 302, 303, 307, 308],
  POST: [307, 308],
  DELETE: [],
}

/** One session with one server. It sends its credentials only to the origin of that server. */
export class HttpSession {
  readonly target: HttpTarget
  readonly agent: HttpAgent
  /** The address of POSTs; a redirect within the origin changes it. */
  url: URL
  version: string | undefined
  /** Pairs by name: those of the configuration, and those that lead load balancers to the instance of this session. */
  readonly #cookies: Map<string, string>
  /** The fields that every request has, as text; undefined before the first request. */
  #fixed: string | undefined
  /** Undefined if the server uses no sessions. */
  id: string | undefined
  /** The last id that the server has sent, valid or not. */
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

  /** Reads the session id of a response. A server may send a new one with each response; the latest is used. */
  learn(answer: HttpAnswer): void {
    const id = answer.fields.get('mcp-session-id')
    if (id === undefined || id === this.#namedId) return
    this.#namedId = id
    this.target.redactor.add(id)
    if (sessionId.test(id)) this.id = id
    else
      this.target.log('warn', 'its session id is ignored: it must be visible ASCII, 1024 characters at most')
  }

  /** Reads the cookies of a response. Every address of the server gets them until the server removes them. */
  learnCookies(answer: HttpAnswer): void {
    const { redactor, limits } = this.target
    for (const field of answer.fields.all('set-cookie')) {
      const [pair = ''] = field.split(';', 1)
      const [, name] = cookiePair.exec(pair.trim()) ?? []
      if (name === undefined || pair.length > limits.cookieBytesMax) continue
      if (takenBack.test(field)) this.#cookies.delete(name)
      else if (this.#cookies.has(name) || this.#cookies.size < limits.cookiesMax)
        this.#cookies.set(name, pair.trim())
      // Adds all cookies, so that new cookies do not displace a secret that is in use.
      for (const [known, each] of this.#cookies)
        redactor.add(each.slice(known.length + 1).replaceAll('"', ''))
    }
  }

  /** The fields of the session. A message without a session carries `mirrored` fields instead. */
  #sessionFields(): string {
    // Both values were checked when they arrived.
    const id = this.id === undefined ? '' : `Mcp-Session-Id: ${this.id}\r\n`
    return this.version === undefined ? id : `${id}MCP-Protocol-Version: ${this.version}\r\n`
  }

  /** Returns the target of a redirect that may be followed: it stays in the origin and keeps the method. */
  redirect(answer: HttpAnswer, method: HttpRequestSpec['method'], from: URL): URL | undefined {
    if (!redirects[method].includes(answer.status)) return undefined
    const to = resolvedAddress(answer.fields.get('location'), from)
    return to?.origin === this.target.url.origin ? to : undefined
  }

  /**
   * The request line and the header fields (RFC 9112, sections 3 and 5).
   *
   * @throws TypeError when a field contains a line end or a character that cannot be sent
   */
  headOf(ask: HttpRequestSpec, url: URL, credential: Credential | undefined): string {
    // Added for each request, so that new cookies do not displace a secret that is in use.
    if (credential !== undefined) this.target.redactor.addCredential(credential.secret)
    if (this.id !== undefined) this.target.redactor.add(this.id)
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

/** The UTF-8 bytes of the text, one character each (HTML, server-sent events: Last-Event-ID). */
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

/** Writes names and values, in turn, as lines. */
function written(fields: readonly string[]): string {
  let lines = ''
  for (let at = 0; at + 1 < fields.length; at += 2) lines += fieldLine(fields[at] ?? '', fields[at + 1] ?? '')
  return lines
}

function isCookie(name: string): boolean {
  return name.toLowerCase() === 'cookie'
}
