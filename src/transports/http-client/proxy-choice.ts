// Chooses the proxy for the connections to a server.
//
// No standard defines `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`; this code reads them as curl and most
// others do. No proxy is used for an address of this machine or a link-local address (metadata servers of
// clouds), because the address means another machine to a proxy.

import { BlockList, isIP } from 'node:net'
import { TransportError } from '../../jsonrpc/jsonrpc-errors.js'
import { addressKind } from '../../text/address-kind.js'
import { hasDoubtfulAuthority } from '../address.js'

type Environment = Readonly<Record<string, string | undefined>>

/** `own` comes from the configuration of the server: an address, or false for no proxy. */
export interface ProxyWish {
  readonly own: string | false | undefined
  readonly env: Environment
}

/**
 * Returns the proxy for an address; undefined if the server is reached directly.
 *
 * @throws TransportError when the configured value is not the address of an HTTP proxy
 */
export function proxyFor(url: URL, { own, env }: ProxyWish): URL | undefined {
  if (own === false || isNearby(url.hostname)) return undefined
  if (own !== undefined) return readProxy(own, 'proxy')
  const name = url.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY'
  const [variable, text] = variableIn(env, name)
  if (text === '' || isExempt(url, variableIn(env, 'NO_PROXY')[1])) return undefined
  return readProxy(text, variable)
}

/** Whether an address is local to this machine or to its link. */
export function isNearby(hostname: string): boolean {
  const host = bareHost(hostname)
  const kind = isIP(host) === 0 ? undefined : addressKind(host)
  if (kind !== undefined) return kind === 'loopback' || kind === 'link-local'
  return /(?:^|\.)localhost$|^metadata(?:\.google\.internal)?$/.test(host)
}

/** As in curl, the name in lower case takes precedence. */
function variableIn(env: Environment, name: string): readonly [name: string, value: string] {
  const lower = name.toLowerCase()
  const value = env[lower]?.trim() ?? ''
  return value === '' ? [name, env[name]?.trim() ?? ''] : [lower, value]
}

/** Most variables have no scheme. The value may contain a password, so no message repeats it. */
function readProxy(text: string, from: string): URL {
  const address = text.includes('://') ? text : `http://${text}`
  const url = URL.canParse(address) && !hasDoubtfulAuthority(address) ? new URL(address) : undefined
  const isProxy = url !== undefined && /^https?:$/.test(url.protocol) && url.pathname + url.search === '/'
  if (isProxy) return url
  throw new TransportError(
    'TRANSPORT_UNREACHABLE',
    `${from} is not the address of a proxy; it must be like http://host:3128 or https://name:password@host:3128`,
  )
}

function isExempt({ hostname, port, protocol }: URL, list: string): boolean {
  const host = bareHost(hostname)
  const own = port === '' ? (protocol === 'https:' ? '443' : '80') : port
  return list.split(/[\s,]+/).some((entry) => {
    const [, name = entry, only] = /^(\[[^\]]*\]|[^:]*):(\d+)$/.exec(entry) ?? []
    return (only === undefined || only === own) && covers(name.toLowerCase(), host)
  })
}

/** A name covers its subdomains, with or without a dot or an asterisk in front. An address may have a mask. */
function covers(entry: string, host: string): boolean {
  if (entry === '*') return true
  const [address = '', mask] = bareHost(entry).split('/')
  const kind = isIP(address)
  if (kind === 0) {
    const name = entry.replace(/^\*?\./, '').replace(/\.$/, '')
    return name !== '' && (host === name || host.endsWith(`.${name}`))
  }
  const bitsMax = kind === 4 ? 32 : 128
  const bits = Number(mask ?? bitsMax)
  if (!Number.isInteger(bits) || bits < 0 || bits > bitsMax) return false
  const block = new BlockList()
  block.addSubnet(address, bits, kind === 4 ? 'ipv4' : 'ipv6')
  const hostKind = isIP(host)
  return hostKind !== 0 && block.check(host, hostKind === 4 ? 'ipv4' : 'ipv6')
}

/** Removes the brackets of an address in a URL, and the final dot of a name. */
function bareHost(hostname: string): string {
  return hostname.toLowerCase().replaceAll(/^\[|\]?\.?$/g, '')
}
