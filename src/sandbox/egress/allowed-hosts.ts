// The hosts that programs of a machine may reach, as a configuration names them, and the requests of programs
// to the proxy.

import { Buffer } from 'node:buffer'

/** The port of an entry without a port: HTTPS. */
const USUAL_PORT = 443

const SHOWN_LENGTH_MAX = 1000

/** The hosts as text for people, cut if they are many. */
export function shownHosts(hosts: readonly string[]): string {
  const whole = hosts.join(', ')
  return whole.length > SHOWN_LENGTH_MAX ? `${whole.slice(0, SHOWN_LENGTH_MAX)}…` : whole
}

/**
 * Whether one of the entries allows a destination: `example.com`, `*.example.com`, `api.example.com:8443`. An
 * entry that is not a valid host name allows no host.
 */
export function isAllowed(hosts: readonly string[], { host, port }: Destination): boolean {
  return hosts.some((written) => {
    const [pattern = '', allowed = USUAL_PORT] = written.split(':', 2)
    const isSuffix = pattern.startsWith('*.')
    const name = hostName(isSuffix ? pattern.slice(2) : pattern)
    if (name === undefined || Number(allowed) !== port) return false
    return isSuffix ? host.endsWith(`.${name}`) : host === name
  })
}

const LABEL = '[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?'

/** The last label of a public name begins with a letter. That of an IP address never does, in any base. */
const LAST_LABEL = '[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?'

const NAME = new RegExp(`^(?:${LABEL}\\.)+${LAST_LABEL}\\.?$`, 'i')

/** RFC 1035, section 2.3.4, without the dot at the end. */
const LENGTH_MAX = 253

/** The name in lower case without a final dot. Undefined if the text is no public DNS name, such as an address. */
export function hostName(text: string): string | undefined {
  if (!NAME.test(text)) return undefined
  const name = text.toLowerCase().replace(/\.$/, '')
  return name.length > LENGTH_MAX ? undefined : name
}

// The request of a program to the proxy (RFC 9110, section 9.3.6): a tunnel to a host and a port. Header fields
// have no effect, so they are not read.

const REQUEST_LINE = /^([\x21-\x7e]+) ([\x21-\x7e]+) HTTP\/1\.[01]$/

const NAME_LENGTH_MAX = 100

/** @throws EgressRefusal */
export function proxyRequest(head: string): Destination {
  const [, method, target] = REQUEST_LINE.exec(head.split('\r\n', 1)[0] ?? '') ?? []
  if (method === undefined || target === undefined)
    throw new EgressRefusal(400, 'the request is not understood: this is a proxy for HTTP/1.1')
  if (method === 'CONNECT') return destinationOf(target)
  throw new EgressRefusal(
    403,
    'http:// is not carried: use https:// (this proxy knows CONNECT HOST:443 only)',
  )
}

function destinationOf(authority: string): Destination {
  const [, text = '', digits] = /^([^:]*)(?::(\d{1,5}))?$/.exec(authority) ?? []
  const host = hostName(text)
  const port = Number(digits)
  if (host === undefined)
    throw new EgressRefusal(
      403,
      `'${shown(authority)}' is not allowed: hosts are reached by their names; an address, or a name without a dot, is never allowed`,
    )
  if (!(port >= 1 && port <= 65_535)) throw new EgressRefusal(400, 'the request names no port')
  return { host, port }
}

/** Removes a user and a password, which no log may show. */
function shown(authority: string): string {
  return authority.slice(authority.lastIndexOf('@') + 1).slice(0, NAME_LENGTH_MAX)
}

export interface Destination {
  /** A result of `hostName`. */
  readonly host: string
  readonly port: number
}

/** The proxy refuses a request of a program. The message is the reason, as ASCII text. */
export class EgressRefusal extends Error {
  readonly status: 400 | 403 | 431 | 502 | 503 | 504
  /** A detail for the log of the service alone. */
  readonly detail: string | undefined

  /** `to` is undefined if the request names no valid destination. */
  constructor(status: EgressRefusal['status'], reason: string, to?: Destination, detail?: string) {
    super(to === undefined ? reason : `${to.host}:${to.port} ${reason}`)
    this.status = status
    this.detail = detail
  }
}

/** The status line contains the reason too, because many programs show only that line. */
export function refusalResponse({ status, message: text }: EgressRefusal, hosts: readonly string[]): string {
  const body = `${text}\nPrograms in this sandbox reach only these hosts, over https://: ${shownHosts(hosts)}\n`
  return [
    `HTTP/1.1 ${status} ${text}`,
    'Content-Type: text/plain; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
    '',
    body,
  ].join('\r\n')
}
