// Checks `Host` and `Origin` of a request.
//
// A web page whose name resolves to this machine (DNS rebinding) can send requests here, but the browser
// still sends the page's own host name. A name that is not the front's is refused before anything else is
// read.

import { isIP } from 'node:net'
import { isLoopback } from '../../text/loopback.js'

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

/** An address cannot be made to point elsewhere. */
function isAddress(host: string): boolean {
  return host.startsWith('[') || ipv4.test(host)
}

/** Which hosts a server answers to. */
export interface HostRule {
  /** With their port, or without where any will do. */
  readonly names: ReadonlySet<string>
  /** Any address with any port: the server is bound to more than loopback. */
  readonly addresses: boolean
  /** Any name at all: something else than the name keeps strangers out. */
  readonly any: boolean
}

export interface BoundTo {
  readonly host: string
  readonly port: number
  /** Names that the operator adds, each with or without a port. */
  readonly alsoKnownAs: readonly string[]
  readonly hasToken: boolean
}

/**
 * The hosts of a server that is bound so.
 *
 * Towards loopback they are few and known. Anywhere else the operator's names
 * cannot be guessed: there a token keeps rebound pages out, or, without one,
 * only addresses and the names that the operator gave.
 */
export function hostRule({ host, port, alsoKnownAs, hasToken }: BoundTo): HostRule {
  const own = isLoopback(host) ? ['localhost', '127.0.0.1', '[::1]', bracketed(host)] : [bracketed(host)]
  const names = new Set(own.map((name) => `${name.toLowerCase()}:${port}`))
  for (const name of alsoKnownAs) names.add(name.toLowerCase())
  if (isLoopback(host)) return { names, addresses: false, any: false }
  names.add('localhost')
  return { names, addresses: true, any: hasToken }
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

export function answersTo(rule: HostRule, { host, port = 80 }: Authority): boolean {
  if (rule.any || rule.names.has(host) || rule.names.has(`${host}:${port}`)) return true
  return rule.addresses && isAddress(host)
}

/** The host of a serialised origin (RFC 6454); undefined for `null` and everything unusual. */
export function originAuthority(origin: string): Authority | undefined {
  const [, rest] = /^https?:\/\/(.+)$/.exec(origin) ?? []
  return rest === undefined ? undefined : readAuthority(rest)
}
