// Addresses that servers and configurations name.

/**
 * Whether an address has characters before its path that readers understand in their own ways.
 *
 * A reader of URLs takes `\` for `/`, so that `https://a\@b` is host `a` here and host `b` elsewhere.
 */
export function hasDoubtfulAuthority(address: string): boolean {
  const [, authority = ''] = /^\s*(?:[a-z][a-z\d+.-]*:)?[\\/]{2,}([^/?#]*)/i.exec(address) ?? []
  return /["\\]/.test(authority) || /^\s*(?:[a-z][a-z\d+.-]*:)?(?:\\|\/\\)/i.test(address)
}

/** Where connections to an address go; brackets belong to the URL, not to the host. */
export function hostAndPort({ hostname, port, protocol }: URL): {
  readonly host: string
  readonly port: number
} {
  const host = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
  return { host, port: port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port) }
}

/** Where an address that a server names leads; undefined when it is none, or may be read in two ways. */
export function resolvedAddress(address: string, base: URL): URL | undefined {
  if (hasDoubtfulAuthority(address) || !URL.canParse(address, base.href)) return undefined
  return new URL(address, base)
}
