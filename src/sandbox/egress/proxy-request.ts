// What a program asks a proxy for (RFC 9112, sections 3.2.2 and 3.2.3): a tunnel, or one request that is passed on.
//
// The request that is passed on is written anew. The server sees the host that was checked, and one
// framing of the body, whatever the program wrote. The connection carries no second request.

import type { Framing } from '../../transports/http1/framing.js'
import { framingOf } from '../../transports/http1/framing.js'
import { TOKEN, fieldLine } from '../../transports/http1/field-syntax.js'
import { HeaderFields } from '../../transports/http1/header-fields.js'
import { HttpSyntaxError } from '../../transports/http1/syntax-error.js'
import { hostName } from './host-name.js'
import { type Destination, type EgressRefusal, refusal } from './refusal.js'

export type ProxyRequest =
  | { readonly kind: 'tunnel'; readonly to: Destination }
  | {
      readonly kind: 'forward'
      readonly to: Destination
      /** For the server, with the empty line behind it. */
      readonly head: string
      /** Undefined when it has no body. */
      readonly framing: Framing | undefined
    }

const REQUEST_LINE = new RegExp(`^(${TOKEN}) ([\\x21-\\x7e]+) HTTP/1\\.([01])$`)

/** Without a user, which no program should send in the clear, and without a fragment, which is not for servers. */
const ABSOLUTE = /^http:\/\/([^/?#@]+)((?:[/?][^#]*)?)$/i

const FIELDS_MAX = 100

const HTTP_PORT = 80

/** Of what is no name, in what is told. */
const SHOWN_LENGTH_MAX = 100

/** Of the connection to the proxy, and what is written anew. */
const ownFields: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'host',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** `head` is all before the empty line. */
export function proxyRequest(head: string): ProxyRequest | EgressRefusal {
  try {
    return requestOf(head.split('\r\n'))
  } catch (error) {
    if (error instanceof HttpSyntaxError)
      return refusal(400, `the request is not understood: ${error.message}`)
    throw error
  }
}

function requestOf(lines: readonly string[]): ProxyRequest | EgressRefusal {
  const [, method, target, minor] = REQUEST_LINE.exec(lines[0] ?? '') ?? []
  if (method === undefined || target === undefined || minor === undefined)
    return refusal(400, 'the request is not understood: this is a proxy for HTTP/1.1')
  if (lines.length > FIELDS_MAX) return refusal(431, `the request has more than ${FIELDS_MAX} header fields`)
  const fields = new HeaderFields(lines)
  if (fields.all('host').length > 1) return refusal(400, 'the request has more than one field Host')
  return method === 'CONNECT' ? tunnel(target, fields, minor) : forward(method, target, fields, minor)
}

function tunnel(target: string, fields: HeaderFields, minor: string): ProxyRequest | EgressRefusal {
  const to = destinationOf(target, undefined)
  if ('kind' in to) return to
  if (framingOf(fields, minor) !== undefined) return refusal(400, 'CONNECT has no body', to)
  return { kind: 'tunnel', to }
}

function forward(
  method: string,
  target: string,
  fields: HeaderFields,
  minor: string,
): ProxyRequest | EgressRefusal {
  const [, authority, path = ''] = ABSOLUTE.exec(target) ?? []
  if (authority === undefined)
    return refusal(
      400,
      'the request is not understood: a proxy is asked for http://HOST/PATH, or to CONNECT HOST:443',
    )
  const to = destinationOf(authority, HTTP_PORT)
  if ('kind' in to) return to
  const named = fields.get('host')
  if (named === undefined && minor === '1') return refusal(400, 'the request has no field Host', to)
  if (named !== undefined && !isSame(named, to))
    return refusal(400, 'the field Host names another host than the request', to)
  const framing = framingOf(fields, minor)
  const head = headFor(`${method} ${path.startsWith('/') ? path : `/${path}`} HTTP/1.${minor}`, to, fields)
  return { kind: 'forward', to, head, framing }
}

/** `HOST:PORT`, or `HOST` where there is a usual port. */
function destinationOf(authority: string, usualPort: number | undefined): Destination | EgressRefusal {
  if (authority.includes('@'))
    return refusal(
      400,
      `the request names a user: ask for '${shown(authority)}', without what is before the @`,
    )
  const [, text = '', digits] = /^([^:]*)(?::(\d{1,5}))?$/.exec(authority) ?? []
  const host = hostName(text)
  const port = digits === undefined ? usualPort : Number(digits)
  if (host === undefined)
    return refusal(
      403,
      `'${shown(authority)}' is not allowed: hosts are reached by their names; an address, or a name without a dot, is never allowed`,
    )
  if (port === undefined || port < 1 || port > 65_535) return refusal(400, 'the request names no port')
  return { host, port }
}

/** Without a user and a password, which are for no log. */
function shown(authority: string): string {
  return authority.slice(authority.lastIndexOf('@') + 1).slice(0, SHOWN_LENGTH_MAX)
}

function isSame(named: string, to: Destination): boolean {
  const own = destinationOf(named, HTTP_PORT)
  return !('kind' in own) && own.host === to.host && own.port === to.port
}

function headFor(requestLine: string, { host, port }: Destination, fields: HeaderFields): string {
  const options = fields.list('connection').toLowerCase().split(',')
  const dropped = new Set([...ownFields, ...options.map((option) => option.trim())])
  const kept = [...fields].filter(([name]) => !dropped.has(name))
  const framing = ['content-length', 'transfer-encoding'].flatMap((name) =>
    fields.all(name).map((value) => [name, value] as const),
  )
  const lines = [
    ['host', port === HTTP_PORT ? host : `${host}:${port}`] as const,
    ...kept,
    ...framing,
    ['connection', 'close'] as const,
  ]
  return `${requestLine}\r\n${lines.map(([name, value]) => fieldLine(name, value)).join('')}\r\n`
}
