// Addresses that servers and configurations name.

import { Buffer } from 'node:buffer'
import { percentDecoded } from '../text/escape.js'

/**
 * Whether readers understand the part of an address before its path in different ways. A reader of URLs
 * treats `\` as `/`: for `https://a\@b`, this program sees host `a`, and other programs see host `b`.
 */
export function hasDoubtfulAuthority(address: string): boolean {
  const [, authority = ''] = /^\s*(?:[a-z][a-z\d+.-]*:)?[\\/]{2,}([^/?#]*)/i.exec(address) ?? []
  return /["\\]/.test(authority) || /^\s*(?:[a-z][a-z\d+.-]*:)?(?:\\|\/\\)/i.test(address)
}

/** The host and the port of an address. Brackets belong to the URL, not to the host. */
export function hostAndPort({ hostname, port, protocol }: URL): {
  readonly host: string
  readonly port: number
} {
  const host = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
  return { host, port: port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port) }
}

/** Resolves an address that a server names; undefined if it is no address, or if it is ambiguous. */
export function resolvedAddress(address: string | undefined, base: URL): URL | undefined {
  if (address === undefined || hasDoubtfulAuthority(address) || !URL.canParse(address, base.href))
    return undefined
  return new URL(address, base)
}

/** The name and the password in an address as the value of `Authorization` (RFC 7617); undefined without both. */
export function basicLogin({ username, password }: URL): string | undefined {
  if (username === '' && password === '') return undefined
  const pair = `${percentDecoded(username)}:${percentDecoded(password)}`
  return `Basic ${Buffer.from(pair).toString('base64')}`
}

export function loginSecrets(url: URL): string[] {
  const login = basicLogin(url)
  return login === undefined ? [] : [url.password, percentDecoded(url.password), login.slice('Basic '.length)]
}
