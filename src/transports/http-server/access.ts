// Access control of the front. It uses only the request line and the header fields, before the body is read.

import { isIP } from 'node:net'
import { isLoopback } from '../../text/loopback.js'
import { type HttpRoutes, isOpen } from './endpoint.js'
import type { RareWarnings } from './rare-warnings.js'
import { type Refusal, refuse } from './refusal.js'
import type { Fields, HttpRequest, RequestHead } from '../http1/server.js'

// The sender of a request, identified by its token.

export interface Sender {
  /** The principal, as a name that is the same on every instance of the front. */
  readonly principal: string
  /** The profiles that the sender may use; undefined means all. */
  readonly profiles?: readonly string[] | undefined
  readonly scopes?: readonly string[]
  /** Distinguishes tokens of one principal; absent if that makes no difference. */
  readonly credential?: string
  /** When the streams end unless the token is still valid, in milliseconds since 1970; undefined means never. */
  readonly untilMs?: number
}

/** Why a token is not accepted: it is invalid, or the front cannot check it now. */
export interface TokenRefusal {
  readonly status: 401 | 503
  /** The text for the log. */
  readonly why: string
  /** The text for the client; if absent, the client only learns that the token is not accepted. */
  readonly description?: string
}

export type SenderVerdict = Sender | TokenRefusal

/**
 * Finds the sender by its token, for a request to `path` from the address `from`.
 *
 * The comparison with tokens of the front takes the same time for every wrong token.
 */
export type SenderOf = (token: string, path: string, from: string) => SenderVerdict | Promise<SenderVerdict>

export function isSender(verdict: SenderVerdict | undefined): verdict is Sender {
  return verdict !== undefined && 'principal' in verdict
}

export interface CorsRules {
  readonly enabled: boolean
  /** `*` means any origin. */
  readonly origins: readonly string[]
  readonly methods: readonly string[]
  readonly credentials: boolean
  readonly allowedHeaders: readonly string[]
  /** Whether pages of this machine may call although no token is required. */
  readonly localPages?: boolean | undefined
}

/** The access rules. They may change while the server runs. */
export interface HttpRules {
  readonly allowedHosts: readonly string[]
  /** The header field of a reverse proxy for the address of the client; absent without a reverse proxy. */
  readonly clientAddressField?: string | undefined
  readonly cors: CorsRules
  /** Undefined if no token is required. */
  readonly senderOf: SenderOf | undefined
  /** Returns the value of `WWW-Authenticate`, with the fault of a token; absent if clients cannot log in. */
  readonly challenge?: ((path: string, description: string | undefined) => string) | undefined
  /** Returns the credential of a principal; undefined if invalid. If absent, a new `senderOf` ends all principals. */
  readonly credentialOf?: ((principal: string) => string | undefined) | undefined
}

/** Remedies for the operator. They name the keys or options that started the front. */
export interface GuardRemedies {
  readonly page: (origin: string) => string
  readonly name: (host: string) => string
}

const anybody: Sender = { principal: 'anybody' }

/** The same text for every token, so that no client learns which tokens existed. */
const tokenNotAccepted = 'The bearer token is unknown, or has expired'

/** Only the answer to a request with a token names an error (RFC 6750, section 3.1). */
function plainChallenge(told: string | undefined): string {
  const realm = 'Bearer realm="mcps-proxy"'
  return told === undefined ? realm : `${realm}, error="invalid_token", error_description="${told}"`
}

/** RFC 6750, section 2.3: addresses appear in logs. */
const tokenInQuery = /(?:^|&)access_token=/

export interface AdmittedHead {
  readonly head: RequestHead
  /** The path, still escaped and without the query. */
  readonly path: string
  readonly query: string
  /** The fields that every response to a page of another origin has. */
  readonly fields: Fields
  readonly accepts: Accepts
  readonly token: string | undefined
  /** The client's address from a reverse proxy; undefined means the address of the connection. */
  readonly forwardedFor: string | undefined
}

export class Guard {
  readonly #rules: HttpRules
  readonly #hosts: ServedHosts
  readonly #remedies: GuardRemedies
  readonly #routes: HttpRoutes
  readonly #notices: RareWarnings
  /** The last admitted head of each connection. Its requests with equal heads share one object. */
  readonly #admitted = new WeakMap<HttpRequest['wire'], AdmittedHead>()

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

  admit({ wire, head }: Pick<HttpRequest, 'wire' | 'head'>): AdmittedHead | Refusal {
    const known = this.#admitted.get(wire)
    if (known?.head === head) return known
    const refusal = this.#refusesHead(head)
    if (refusal !== undefined) return refusal
    const fields = corsHeaderFields(this.#rules.cors, head.fields.get('origin'))
    const accepts = readAccept(head.fields.all('accept').join(', '))
    const target = targetOf(head.target)
    // An open path serves every sender. A check of the token could cost a call to an authorization server.
    const token = this.#isOpen(target.path) ? undefined : bearerToken(head)
    const { clientAddressField: field } = this.#rules
    const forwardedFor =
      field === undefined ? undefined : forwardedAddress(head.fields.all(field.toLowerCase()).join(', '))
    const admitted = { head, ...target, fields, accepts, token, forwardedFor }
    this.#admitted.set(wire, admitted)
    return admitted
  }

  /** Checks the token for each request, because it can expire while the connection is open. Undefined without a token. */
  sender(
    { token, path, forwardedFor }: AdmittedHead,
    address = '',
  ): SenderVerdict | undefined | Promise<SenderVerdict> {
    const { senderOf } = this.#rules
    if (senderOf === undefined) return anybody
    return token === undefined ? undefined : senderOf(token, path, forwardedFor ?? address)
  }

  /** `address` is the address of the connection. */
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
    // Requests without a token must not hide the warning about an expired token from the same address.
    const origin = refused === noToken ? from : `${from} with a token`
    if (!isUsual) this.#notices.note('token', message, origin)
    if (status === 503) return refuse(503, 'The token cannot be examined now', { 'retry-after': '5' })
    const told = description ?? (refused === noToken ? undefined : tokenNotAccepted)
    const challenge = this.#rules.challenge?.(path, told) ?? plainChallenge(told)
    return refuse(401, told ?? 'A bearer token is required', { 'www-authenticate': challenge })
  }

  #isOpen(path: string): boolean {
    return isOpen(this.#routes.find(path))
  }

  #refusesHead(head: RequestHead): Refusal | undefined {
    const { repeated } = head
    if (repeated !== undefined) return refuse(400, `'${repeated}' was sent more than once`)
    return this.#refusesHost(head) ?? this.#refusesPage(head) ?? this.#refusesUnread(head)
  }

  #refusesHost(head: RequestHead): Refusal | undefined {
    const host = authorityIn(head.target) ?? head.fields.get('host')
    // Without `Host`, a page after DNS rebinding looks like a client, so it gets only public pages.
    if (host === undefined && head.version === '1.0')
      return head.method === 'OPTIONS' || this.#isOpen(targetOf(head.target).path)
        ? undefined
        : refuse(400, "'Host' is missing; without it only /health is served")
    const name = (host ?? '').toLowerCase()
    const authority = readAuthority(name)
    if (authority === undefined) return refuse(400, "'Host' is missing or malformed")
    if (this.#hosts.has(authority)) return undefined
    return this.#refuse('name', name, `Host '${name}' is not served here: ${this.#remedies.name(name)}`)
  }

  #refusesPage(head: RequestHead): Refusal | undefined {
    const origin = head.fields.get('origin')
    if (origin !== undefined) return this.#lets(origin, head) ? undefined : this.#refusesOrigin(origin)
    const site = head.fields.get('sec-fetch-site') ?? 'none'
    if (site === 'none' || site === 'same-origin') return undefined
    // An authorization server sends the browser to this path. Other origins cannot read the response.
    const isVisit = head.method === 'GET' && head.fields.get('sec-fetch-mode') === 'navigate'
    if (isVisit && this.#routes.isVisited?.(targetOf(head.target).path) === true) return undefined
    return refuse(403, 'Requests from other sites are not allowed')
  }

  /** A page also needs the token if one is required. Only then are `*` and pages of this machine admitted. */
  #lets(origin: string, head: RequestHead): boolean {
    const { cors, senderOf } = this.#rules
    // In the configuration, `*` means all origins. No page has that origin.
    if (origin === '*') return false
    if (cors.enabled && names(cors.origins, origin)) return true
    const host = (authorityIn(head.target) ?? head.fields.get('host'))?.toLowerCase()
    if (origin === `http://${host}` || origin === `https://${host}`) return true
    const page = originAuthority(origin)
    if (page === undefined) return false
    if (senderOf === undefined) return cors.localPages === true && isLoopback(page.host)
    return isLoopback(page.host) || (cors.enabled && cors.origins.includes('*'))
  }

  #refusesOrigin(origin: string): Refusal {
    if (originAuthority(origin) === undefined) return this.#refuse('page', '', 'This origin is not allowed')
    const remedy = this.#rules.cors.enabled ? this.#remedies.page(origin) : 'CORS is not enabled'
    return this.#refuse('page', origin, `Pages of '${origin}' are not allowed: ${remedy}`)
  }

  #refuse(kind: 'page' | 'name', from: string, why: string): Refusal {
    this.#notices.note(kind, `a request is refused: ${why}`, from)
    return refuse(403, why)
  }

  #refusesUnread(head: RequestHead): Refusal | undefined {
    const coding = head.fields.get('content-encoding')?.toLowerCase() ?? 'identity'
    if (coding !== 'identity') return refuse(415, `Content-Encoding '${coding}' is not read`)
    if (this.#rules.challenge !== undefined && tokenInQuery.test(targetOf(head.target).query))
      return refuse(400, "A token belongs in the field 'Authorization', not in the address")
    return undefined
  }
}

const noToken = { status: 401, why: 'it has no bearer token', description: undefined } as const

export function bearerToken(head: RequestHead): string | undefined {
  return /^bearer +(\S+) *$/i.exec(head.fields.get('authorization') ?? '')?.[1]
}

/** The authority of an absolute-form request target, which replaces `Host` (RFC 9112, section 3.2.2). */
function authorityIn(target: string): string | undefined {
  if (target.startsWith('/') || target === '*') return undefined
  return /^https?:\/\/([^/?#]*)/i.exec(target)?.[1] ?? ''
}

/** The path of a request target, still escaped, and its query. */
export function targetOf(url: string): { readonly path: string; readonly query: string } {
  const local = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?#]*/i, '')
  const mark = local.indexOf('?')
  if (mark < 0) return { path: local === '' ? '/' : local, query: '' }
  return { path: mark === 0 ? '/' : local.slice(0, mark), query: local.slice(mark + 1) }
}

// The header fields for web pages of other origins (Fetch standard, CORS protocol).

/** Without these fields, a page could not use the protocol. */
const protocolHeaders = ['Accept', 'Content-Type', 'Last-Event-ID', 'MCP-Protocol-Version', 'Mcp-Session-Id']
const ALLOWED = 'access-control-allow-origin'
const exposedHeaders = 'Mcp-Session-Id, WWW-Authenticate, Retry-After'

/** How long a browser may cache the answer to a preflight. Chrome caches none longer. */
const PREFLIGHT_AGE_S = 7200

function names(origins: readonly string[], origin: string): boolean {
  return origins.some((each) => each.toLowerCase().replace(/\/$/, '') === origin)
}

/** Echoes the origin of a page, since browsers refuse credentials with `*`, and shared caches mix up pages. */
function corsHeaderFields(rules: CorsRules, origin: string | undefined): Fields {
  if (!rules.enabled || origin === undefined) return []
  const isAllowed = rules.origins.includes('*') || names(rules.origins, origin)
  if (!isAllowed) return ['vary', 'Origin']
  const fields = ['vary', 'Origin', ALLOWED, origin, 'access-control-expose-headers', exposedHeaders]
  // A page that only `*` admits gets no credentials.
  const isTrusted = rules.credentials && names(rules.origins, origin)
  return isTrusted ? [...fields, 'access-control-allow-credentials', 'true'] : fields
}

/** `fields` are the fields of every response to the page. */
export function preflightFields(rules: CorsRules, fields: Fields): Fields {
  if (!fields.includes(ALLOWED)) return fields
  return [
    ...fields,
    'access-control-allow-methods',
    rules.methods.join(', '),
    'access-control-allow-headers',
    [...new Set([...protocolHeaders, ...rules.allowedHeaders])].join(', '),
    'access-control-max-age',
    String(PREFLIGHT_AGE_S),
  ]
}

// The field `Accept` (RFC 9110, section 12.5.1).

export interface Accepts {
  readonly json: boolean
  /** Only if the client names it: a client that accepts everything is a person with a command line. */
  readonly stream: boolean
  /** The client names events first, so an answer that could be either is an event. */
  readonly prefersStream: boolean
}

/** Ignores the quality of a media range. */
export function readAccept(accept: string): Accepts {
  const types = accept.split(',').map((range) => range.replace(/;.*/, '').trim().toLowerCase())
  const json = types.findIndex((type) => type === '' || jsonRanges.includes(type))
  const stream = types.indexOf('text/event-stream')
  return { json: json >= 0, stream: stream >= 0, prefersStream: stream >= 0 && (json < 0 || stream < json) }
}

const jsonRanges: readonly string[] = ['application/json', 'application/*', '*/*']

// The field `Host`, and the origins of pages.
//
// A web page whose name resolves to this machine (DNS rebinding) can send requests here, but the browser
// still sends the host name of the page. The front refuses a foreign name before it reads anything else.

/** A host and its port as a client wrote them. The host is in lower case, with brackets for IPv6. */
export interface Authority {
  readonly host: string
  readonly port: number | undefined
}

// No user information and no escapes. Names of containers and of nginx upstreams may contain `_`. A name with
// a final dot is absolute.
const authority = /^([a-z0-9_](?:[a-z0-9._-]{0,252}[a-z0-9_.])?|\[[0-9a-f:.]{2,45}\])(?::([0-9]{1,5}))?$/i

export function readAuthority(text: string): Authority | undefined {
  const [, host, digits] = authority.exec(text) ?? []
  const port = digits === undefined ? undefined : Number(digits)
  if (host === undefined || host.includes('..') || (port ?? 0) > 65_535) return undefined
  return { host: host.toLowerCase(), port }
}

/** The address that the nearest reverse proxy added at the end of a list, without its port; undefined if it is invalid. */
export function forwardedAddress(list: string): string | undefined {
  const last = list.slice(list.lastIndexOf(',') + 1).trim()
  const [, inBrackets, beforePort] = /^(?:\[([^\]]*)\](?::\d+)?|([\d.]+):\d+)$/.exec(last) ?? []
  const address = inBrackets ?? beforePort ?? last
  return isIP(address) === 0 ? undefined : address
}

const ipv4 = /^(?:\d{1,3}\.){3}\d{1,3}$/

/**
 * The host names of a server that is bound to this address.
 *
 * A server on loopback has a few known names. The names of another server are unknown: its token keeps
 * rebound pages out. Without a token, it accepts addresses and the names in the configuration.
 */
export class ServedHosts {
  /** Names with their port, or without a port if any port will do. */
  readonly #names: ReadonlySet<string>
  readonly #isLoopback: boolean
  readonly #hasToken: boolean

  /** `alsoKnownAs` are names that the operator adds, with or without a port. */
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
    // DNS rebinding needs a name, not an address.
    return !this.#isLoopback && (this.#hasToken || host.startsWith('[') || ipv4.test(host))
  }
}

function bracketed(host: string): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host
}

/** The host in a URL for a client on this machine, which cannot connect to the unspecified address. */
export function reachable(host: string): string {
  if (host === '::') return '[::1]'
  return host === '0.0.0.0' ? '127.0.0.1' : bracketed(host)
}

/** The host of a serialised origin (RFC 6454); undefined for `null` and unusual origins. */
function originAuthority(origin: string): Authority | undefined {
  const [, rest] = /^https?:\/\/(.+)$/.exec(origin) ?? []
  return rest === undefined ? undefined : readAuthority(rest)
}
