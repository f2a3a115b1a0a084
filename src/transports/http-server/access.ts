// Access control of the front, decided from the request line and the header fields alone, before a byte of
// the body is read.

import { isIP } from 'node:net'
import { isLoopback } from '../../text/loopback.js'
import { type HttpRoutes, isOpen } from './endpoint.js'
import type { RareWarnings } from './rare-warnings.js'
import { type Refusal, refuse } from './refusal.js'
import type { RequestHead, Fields } from '../http1/server.js'

// The sender of a request, as its token shows.

/** An admitted sender. */
export interface Sender {
  /** The principal, as a word that is the same on every instance of the front. */
  readonly principal: string
  /** The profiles that it may use; undefined is everything. */
  readonly profiles?: readonly string[] | undefined
  /** The scopes of its token. */
  readonly scopes?: readonly string[]
  /** When its streams end unless its token is found valid again, in milliseconds since 1970; undefined is never. */
  readonly untilMs?: number
}

/** Why a token is not accepted: it is not valid, or that cannot be found out now. */
export interface TokenRefusal {
  readonly status: 401 | 503
  /** For the log. */
  readonly why: string
  /** For the client; absent says only that the token is not accepted. */
  readonly description?: string
}

export type SenderVerdict = Sender | TokenRefusal

/** The token of the head of a request: one object for all requests that have this head on one connection. */
export interface BearerToken {
  readonly text: string
}

/**
 * Finds the sender by the token of a request for this path, which comes from this address.
 *
 * Takes the same time for every wrong token that the front compares with its own.
 */
export type SenderOf = (
  token: BearerToken,
  path: string,
  from: string,
) => SenderVerdict | Promise<SenderVerdict>

export function isSender(verdict: SenderVerdict | undefined): verdict is Sender {
  return verdict !== undefined && 'principal' in verdict
}

export interface CorsRules {
  readonly enabled: boolean
  /** `*` is any. */
  readonly origins: readonly string[]
  readonly methods: readonly string[]
  readonly credentials: boolean
  readonly allowedHeaders: readonly string[]
  /** Whether pages of this machine may call, although no token is required. */
  readonly localPages?: boolean | undefined
}

/** The access rules; they may change while the server runs. */
export interface HttpRules {
  /** Additional names under which clients may reach the server. */
  readonly allowedHosts: readonly string[]
  /** The header field in which a reverse proxy writes the address of the client; absent where there is none. */
  readonly clientAddressField?: string | undefined
  readonly cors: CorsRules
  /** Undefined where no token is required. */
  readonly senderOf: SenderOf | undefined
  /** The value of `WWW-Authenticate`, with what is wrong with a token; absent where clients cannot log in. */
  readonly challenge?: ((path: string, description: string | undefined) => string) | undefined
  /** The credential of a principal; undefined once it is not valid. If absent, all principals leave when `senderOf` changes. */
  readonly credentialOf?: ((principal: string) => string | undefined) | undefined
}

/** Remedies for the operator, in the words of how the front was started. */
export interface GuardRemedies {
  readonly page: (origin: string) => string
  readonly name: (host: string) => string
}

/** All that a client may ask to be told first (RFC 9110, section 10.1.1). */
const CONTINUE = '100-continue'

/** All clients where no token is required. */
const anybody: Sender = { principal: 'anybody' }

/** The same for every token, so that no client learns which ones there were. */
const tokenNotAccepted = 'The bearer token is not known, or has ended'

/** Only a request with a token is told what is wrong with it (RFC 6750, section 3.1). */
function plainChallenge(told: string | undefined): string {
  const realm = 'Bearer realm="mcps-proxy"'
  return told === undefined ? realm : `${realm}, error="invalid_token", error_description="${told}"`
}

/** RFC 6750, section 2.3: addresses end up in logs. */
const tokenInQuery = /(?:^|&)access_token=/

/** The facts in the head of an admitted request. */
export interface AdmittedHead {
  /** As it was sent, without the query. */
  readonly path: string
  readonly query: string
  /** The fields that each response has, for a page of another origin. */
  readonly fields: Fields
  readonly accepts: Accepts
  readonly token: BearerToken | undefined
  /** The address of the client, as a reverse proxy has written it; undefined is that of the connection. */
  readonly forwardedFor: string | undefined
}

/** Checks requests by one set of rules. */
export class Guard {
  readonly #rules: HttpRules
  readonly #hosts: ServedHosts
  readonly #remedies: GuardRemedies
  readonly #routes: HttpRoutes
  readonly #notices: RareWarnings
  /** A head that comes again on its connection is the same one, and needs no second decision. */
  readonly #admitted = new WeakMap<RequestHead, AdmittedHead>()

  constructor(
    rules: HttpRules,
    bound: { readonly host: string; readonly port: number; readonly remedies: GuardRemedies },
    routes: HttpRoutes,
    notices: RareWarnings,
  ) {
    this.#rules = rules
    this.#hosts = new ServedHosts(bound, rules.allowedHosts, rules.senderOf !== undefined)
    this.#remedies = bound.remedies
    this.#routes = routes
    this.#notices = notices
  }

  /** The facts in a head, or why a request with it is refused for every sender. */
  admit(head: RequestHead): AdmittedHead | Refusal {
    const known = this.#admitted.get(head)
    if (known !== undefined) return known
    const refusal = this.#refusesHead(head)
    if (refusal !== undefined) return refusal
    const fields = corsHeaderFields(this.#rules.cors, head.get('origin'))
    const accepts = readAccept(head.list('accept'))
    const target = targetOf(head.target)
    // Whose a token is makes no difference there, and an authorization server may have to be asked for it.
    const token = this.#isOpen(target.path) ? undefined : bearerToken(head)
    const { clientAddressField: field } = this.#rules
    const forwardedFor = field === undefined ? undefined : forwardedAddress(head.list(field.toLowerCase()))
    const admitted = { ...target, fields, accepts, token, forwardedFor }
    this.#admitted.set(head, admitted)
    return admitted
  }

  /**
   * The sender of the request; undefined when a token is required and the request has no valid one.
   *
   * The token is judged anew for each request, even if the head is the same as before: a token can expire while its
   * connection is kept.
   */
  sender(
    { token, path, forwardedFor }: AdmittedHead,
    address = '',
  ): SenderVerdict | undefined | Promise<SenderVerdict> {
    const { senderOf } = this.#rules
    if (senderOf === undefined) return anybody
    return token === undefined ? undefined : senderOf(token, path, forwardedFor ?? address)
  }

  /** Refuses a request that has no token, or this one; `address` is that of the connection. */
  unauthorized(
    { path, forwardedFor }: AdmittedHead,
    address: string,
    verdict: SenderVerdict | undefined,
  ): Refusal {
    const from = forwardedFor ?? address
    const refused = verdict === undefined || isSender(verdict) ? noToken : verdict
    const { status, why, description } = refused
    // A login begins with a request without a token.
    const isUsual = refused === noToken && this.#rules.challenge !== undefined
    const message = `a request from ${from} is refused (HTTP ${status}): ${why}`
    // A client without a token does not hide one whose token has expired.
    const origin = refused === noToken ? from : `${from} with a token`
    if (!isUsual) this.#notices.note('token', message, origin)
    if (status === 503) return refuse(503, 'The token cannot be examined now', { 'retry-after': '5' })
    const told = description ?? (refused === noToken ? undefined : tokenNotAccepted)
    const challenge = this.#rules.challenge?.(path, told) ?? plainChallenge(told)
    return refuse(401, told ?? 'A bearer token is required', { 'www-authenticate': challenge })
  }

  /** Whether what stands at this path is open to everybody. */
  #isOpen(path: string): boolean {
    return isOpen(this.#routes.find(path))
  }

  #refusesHead(head: RequestHead): Refusal | undefined {
    const { repeated } = head
    if (repeated !== undefined) return refuse(400, `'${repeated}' was sent more than once`)
    return this.#refusesHost(head) ?? this.#refusesPage(head) ?? this.#refusesUnread(head)
  }

  #refusesHost(head: RequestHead): Refusal | undefined {
    const url = head.target
    const host = head.get('host')
    if (host === undefined && head.version === '1.0') return this.#refusesNameless(head)
    const own = readAuthority(host ?? '')
    if (own === undefined) return refuse(400, "'Host' is missing or malformed")
    const named = absoluteAuthority(url)
    if (named !== undefined && !isSame(named, own))
      return refuse(400, "'Host' and the request line name different hosts")
    if (this.#hosts.has(own)) return undefined
    const name = (host ?? '').toLowerCase()
    return this.#refuse('name', name, `Host '${name}' is not served here: ${this.#remedies.name(name)}`)
  }

  /** Without `Host` a rebound page looks like a client, so it gets only public pages. */
  #refusesNameless({ method, target }: RequestHead): Refusal | undefined {
    if (method === 'OPTIONS' || this.#isOpen(targetOf(target).path)) return undefined
    return refuse(400, "'Host' is missing; without it only /health is served")
  }

  /** `Origin` comes from browsers, and a browser runs what strangers wrote. */
  #refusesPage(head: RequestHead): Refusal | undefined {
    const origin = head.get('origin')
    if (origin !== undefined) return this.#lets(origin, head) ? undefined : this.#refusesOrigin(origin)
    const site = head.get('sec-fetch-site') ?? 'none'
    if (site === 'none' || site === 'same-origin') return undefined
    // A browser comes back from an authorization server; what it shows there, no page of another origin reads.
    const isVisit = head.method === 'GET' && head.get('sec-fetch-mode') === 'navigate'
    if (isVisit && this.#routes.isVisited?.(targetOf(head.target).path) === true) return undefined
    return refuse(403, 'Requests from other sites are not allowed')
  }

  /**
   * Pages that are named in the configuration, and those of the front itself.
   *
   * If a token is required, a page needs it too: then `*` admits any page, and pages of this machine need not be named.
   */
  #lets(origin: string, head: RequestHead): boolean {
    const { cors, senderOf } = this.#rules
    // No page has it for its origin, but the configuration may name it for all.
    if (origin === '*') return false
    if (cors.enabled && names(cors.origins, origin)) return true
    const host = head.get('host')?.toLowerCase()
    if (origin === `http://${host}` || origin === `https://${host}`) return true
    const page = originAuthority(origin)
    if (page === undefined) return false
    if (senderOf === undefined) return cors.localPages === true && isLoopback(page.host)
    return isLoopback(page.host) || (cors.enabled && cors.origins.includes('*'))
  }

  #refusesOrigin(origin: string): Refusal {
    // The value of an invalid origin is not repeated.
    if (originAuthority(origin) === undefined) return this.#refuse('page', '', 'This origin is not allowed')
    const remedy = this.#rules.cors.enabled ? this.#remedies.page(origin) : 'CORS is not enabled'
    return this.#refuse('page', origin, `Pages of '${origin}' are not allowed: ${remedy}`)
  }

  #refuse(kind: 'page' | 'name', from: string, why: string): Refusal {
    this.#notices.note(kind, `a request is refused: ${why}`, from)
    return refuse(403, why)
  }

  #refusesUnread(head: RequestHead): Refusal | undefined {
    const expected = head.expectation?.toLowerCase() ?? CONTINUE
    if (expected !== CONTINUE) return refuse(417, `'${expected}' cannot be expected here`)
    const coding = head.get('content-encoding')?.toLowerCase() ?? 'identity'
    if (coding !== 'identity') return refuse(415, `Content-Encoding '${coding}' is not read`)
    if (this.#rules.challenge !== undefined && tokenInQuery.test(targetOf(head.target).query))
      return refuse(400, "A token belongs in the field 'Authorization', not in the address")
    return undefined
  }
}

const noToken = { status: 401, why: 'it has no bearer token', description: undefined } as const

/** The token of a request (RFC 6750, section 2.1). */
export function bearerToken(head: RequestHead): BearerToken | undefined {
  const text = /^bearer +(\S+) *$/i.exec(head.get('authorization') ?? '')?.[1]
  return text === undefined ? undefined : { text }
}

/** The authority of an absolute-form request target (RFC 9112 section 3.2.2); one that cannot be read is `''`. */
function absoluteAuthority(url: string): Authority | undefined {
  if (url.startsWith('/') || url === '*') return undefined
  const [, text = ''] = /^https?:\/\/([^/?#]*)/i.exec(url) ?? []
  return readAuthority(text) ?? { host: '', port: undefined }
}

function isSame(a: Authority, b: Authority): boolean {
  return a.host === b.host && (a.port ?? 80) === (b.port ?? 80)
}

/** The target of a request that was let in: its path, still escaped, without the query. */
export function targetOf(url: string): { readonly path: string; readonly query: string } {
  const local = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?#]*/i, '')
  const mark = local.indexOf('?')
  if (mark < 0) return { path: local === '' ? '/' : local, query: '' }
  return { path: mark === 0 ? '/' : local.slice(0, mark), query: local.slice(mark + 1) }
}

// The header fields for web pages of other origins (Fetch standard, CORS protocol).

/** Without these a page could not speak the protocol at all. */
const protocolHeaders = ['Accept', 'Content-Type', 'Last-Event-ID', 'MCP-Protocol-Version', 'Mcp-Session-Id']
const ALLOWED = 'access-control-allow-origin'
const exposedHeaders = 'Mcp-Session-Id, WWW-Authenticate, Retry-After'

/** How long a browser may remember the answer to a preflight; Chrome keeps none longer. */
const PREFLIGHT_AGE_S = 7200

function names(origins: readonly string[], origin: string): boolean {
  return origins.some((each) => each.toLowerCase().replace(/\/$/, '') === origin)
}

/**
 * The fields for a page whose origin was let in.
 *
 * Its own origin is echoed, never `*`: with `*` a browser would refuse
 * credentials, and a shared cache could not tell pages apart.
 */
function corsHeaderFields(rules: CorsRules, origin: string | undefined): Fields {
  if (!rules.enabled || origin === undefined) return []
  const isAllowed = rules.origins.includes('*') || names(rules.origins, origin)
  if (!isAllowed) return ['vary', 'Origin']
  const fields = ['vary', 'Origin', ALLOWED, origin, 'access-control-expose-headers', exposedHeaders]
  // An origin that stands for all others is no one to trust with credentials.
  const isTrusted = rules.credentials && names(rules.origins, origin)
  return isTrusted ? [...fields, 'access-control-allow-credentials', 'true'] : fields
}

/** The header fields for a preflight of a page that is given `fields`. */
export function preflightFields(rules: CorsRules, fields: Fields): Fields {
  if (!fields.includes(ALLOWED)) return fields
  const headers = new Map(
    [...protocolHeaders, ...rules.allowedHeaders].map((name) => [name.toLowerCase(), name]),
  )
  return [
    ...fields,
    'access-control-allow-methods',
    rules.methods.join(', '),
    'access-control-allow-headers',
    [...headers.values()].join(', '),
    'access-control-max-age',
    String(PREFLIGHT_AGE_S),
  ]
}

// The field `Accept` (RFC 9110, section 12.5.1).

/** The two kinds of answer to a POST. */
export interface Accepts {
  readonly json: boolean
  /** Only when it is named: a client that takes anything is a person with a command line. */
  readonly stream: boolean
  /** An answer that could be either is an event stream: this type has the higher quality, or the same and stands first. */
  readonly prefersStream: boolean
}

export function readAccept(accept: string): Accepts {
  if (accept === '') return { json: true, stream: false, prefersStream: false }
  const types = accept
    .split(',')
    .map(readRange)
    .filter(({ quality }) => quality > 0)
    .sort((a, b) => b.quality - a.quality)
    .map(({ type }) => type)
  const json = types.findIndex((type) => jsonRanges.includes(type))
  const stream = types.findIndex((type) => streamRanges.includes(type))
  return { json: json >= 0, stream: stream >= 0, prefersStream: stream >= 0 && (json < 0 || stream < json) }
}

const jsonRanges: readonly string[] = ['application/json', 'application/*', '*/*']
const streamRanges: readonly string[] = ['text/event-stream', 'text/*']

interface MediaRange {
  readonly type: string
  /** RFC 9110, section 12.4.2: 0 refuses, and 1 is what is not said. */
  readonly quality: number
}

function readRange(range: string): MediaRange {
  const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
  const weights = parameters.map((parameter) => /^q=([01](?:\.\d{0,3})?)$/.exec(parameter)?.[1])
  return { type, quality: Number(weights.find((weight) => weight !== undefined) ?? 1) }
}

// The field `Host`, and the origins of pages.
//
// A web page whose name resolves to this machine (DNS rebinding) can send requests here, but the browser
// still sends the page's own host name. A name that is not the front's is refused before anything else is
// read.

/** A host and its port as a client wrote them; the host in lower case, IPv6 in brackets. */
export interface Authority {
  readonly host: string
  readonly port: number | undefined
}

// Nothing else that RFC 9110 allows here is sent by a client we want: no user information, no escapes. Names of
// containers and of upstreams of nginx have `_`, and a name with a dot at its end is one that no domain is added to.
const authority = /^([a-z0-9_](?:[a-z0-9._-]{0,252}[a-z0-9_.])?|\[[0-9a-f:.]{2,45}\])(?::([0-9]{1,5}))?$/i

export function readAuthority(text: string): Authority | undefined {
  const [, host, digits] = authority.exec(text) ?? []
  const port = digits === undefined ? undefined : Number(digits)
  if (host === undefined || host.includes('..') || (port ?? 0) > 65_535) return undefined
  return { host: host.toLowerCase(), port }
}

/** The address that the nearest reverse proxy has written at the end of a list, perhaps with a port; undefined where it is none. */
export function forwardedAddress(list: string): string | undefined {
  const last = list.slice(list.lastIndexOf(',') + 1).trim()
  const [, inBrackets] = /^\[([^\]]*)\](?::\d+)?$/.exec(last) ?? []
  const [, beforePort] = /^([\d.]+):\d+$/.exec(last) ?? []
  const address = inBrackets ?? beforePort ?? last
  return isIP(address) === 0 ? undefined : address
}

const ipv4 = /^(?:\d{1,3}\.){3}\d{1,3}$/

/**
 * The hosts of a server that is bound to this address.
 *
 * Towards loopback they are few and known. Anywhere else the operator's names cannot be guessed: there a token keeps rebound
 * pages out, or, without one, only addresses and the names that the operator gave.
 */
export class ServedHosts {
  /** With their port, or without where any will do. */
  readonly #names: ReadonlySet<string>
  readonly #isLoopback: boolean
  readonly #hasToken: boolean

  /** `alsoKnownAs` are names that the operator adds, each with or without a port. */
  constructor(
    { host, port }: { readonly host: string; readonly port: number },
    alsoKnownAs: readonly string[],
    hasToken: boolean,
  ) {
    this.#isLoopback = isLoopback(host)
    this.#hasToken = hasToken
    const near = this.#isLoopback ? ['localhost', '127.0.0.1', '[::1]'] : []
    const own = [...near, bracketed(host)].map((name) => `${name}:${port}`)
    const added = this.#isLoopback ? alsoKnownAs : [...alsoKnownAs, 'localhost']
    this.#names = new Set([...own, ...added].map((name) => name.toLowerCase()))
  }

  has({ host, port = 80 }: Authority): boolean {
    if (this.#names.has(host) || this.#names.has(`${host}:${port}`)) return true
    // An address cannot be made to point elsewhere.
    return !this.#isLoopback && (this.#hasToken || host.startsWith('[') || ipv4.test(host))
  }
}

/** How an address stands in a URL. */
function bracketed(host: string): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host
}

/** How a client on this machine names an address in a URL; a client cannot connect to the address that stands for all. */
export function reachable(host: string): string {
  if (host === '::') return '[::1]'
  return host === '0.0.0.0' ? '127.0.0.1' : bracketed(host)
}

/** The host of a serialised origin (RFC 6454); undefined for `null` and everything unusual. */
function originAuthority(origin: string): Authority | undefined {
  const [, rest] = /^https?:\/\/(.+)$/.exec(origin) ?? []
  return rest === undefined ? undefined : readAuthority(rest)
}
