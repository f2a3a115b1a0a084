// Addresses that servers and configurations name.

import { Buffer } from 'node:buffer'
import { percentDecoded } from '../text/escape.js'

/**
 * Whether an address has characters before its path that readers understand in their own ways.
 *
 * A reader of URLs takes `\` for `/`, so that `https://a\@b` is host `a` here and host `b` elsewhere.
 */
export function hasDoubtfulAuthority(address: string): boolean {
  const [, authority = ''] = /^\s*(?:[a-z][a-z\d+.-]*:)?[\\/]{2,}([^/?#]*)/i.exec(address) ?? []
  return /["\\]/.test(authority) || /^\s*(?:[a-z][a-z\d+.-]*:)?(?:\\|\/\\)/i.test(address)
}

/** The host and the port of an address; brackets belong to the URL, not to the host. */
export function hostAndPort({ hostname, port, protocol }: URL): {
  readonly host: string
  readonly port: number
} {
  const host = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
  return { host, port: port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port) }
}

/** The URL of an address that a server names; undefined when it is none, or may be read in two ways. */
export function resolvedAddress(address: string | undefined, base: URL): URL | undefined {
  if (address === undefined || hasDoubtfulAuthority(address) || !URL.canParse(address, base.href))
    return undefined
  return new URL(address, base)
}

/** The name and the password in an address as the value of `Authorization` (RFC 7617); undefined where it has none. */
export function basicLogin({ username, password }: URL): string | undefined {
  if (username === '' && password === '') return undefined
  const pair = `${percentDecoded(username)}:${percentDecoded(password)}`
  return `Basic ${Buffer.from(pair).toString('base64')}`
}

/** The texts of a login that must not be logged. */
export function loginSecrets(url: URL): string[] {
  const login = basicLogin(url)
  return login === undefined ? [] : [url.password, percentDecoded(url.password), login.slice('Basic '.length)]
}
