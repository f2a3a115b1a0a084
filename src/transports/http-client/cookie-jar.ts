// The cookies that one server sets for one session: load balancers find their instance by them.
//
// RFC 6265, as far as one origin needs it: a cookie goes back to the paths that it
// was set for, until the server takes it back. How long it lasts otherwise does not
// matter, since a session ends before. A jar belongs to one session, so that two
// sessions on two instances do not pull each other over.

/** RFC 6265, section 4.1.1: neither control characters, white space, quotes, commas nor backslashes. */
const pair = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+)=("?[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*"?)$/

interface Cookie {
  readonly value: string
  /** Of addresses that it goes to; `/` is all of them. */
  readonly path: string
}

/** The response that sets cookies. */
export interface CookieSource {
  /** The address that the response came from. */
  readonly url: URL
  /** Its header `Date`: by whose clock a cookie ends. */
  readonly date: string | undefined
}

/** Remembers the last value of each name. */
export class CookieJar {
  readonly #cookies = new Map<string, Cookie>()
  readonly #cookiesMax: number
  readonly #cookieBytesMax: number

  constructor(cookiesMax: number, cookieBytesMax: number) {
    this.#cookiesMax = cookiesMax
    this.#cookieBytesMax = cookieBytesMax
  }

  get values(): string[] {
    return [...this.#cookies.values()].map(({ value }) => value)
  }

  /**
   * The `Cookie` header for an address, in one field with what the configuration has for it (RFC 6265, section 5.4);
   * undefined when there is nothing to send. A cookie that the server has set takes the place of a configured one.
   */
  header({ pathname }: URL, configured?: string): string | undefined {
    if (this.#cookies.size === 0) return configured
    const sent = new Map([...this.#cookies].filter(([, { path }]) => isUnder(path, pathname)))
    const own = (configured ?? '').split(';').map((pair) => pair.trim())
    const kept = own.filter((pair) => pair !== '' && !sent.has(pair.split('=', 1)[0] ?? ''))
    const pairs = [...kept, ...[...sent].map(([name, { value }]) => `${name}=${value}`)]
    return pairs.length === 0 ? undefined : pairs.join('; ')
  }

  /** Takes the `Set-Cookie` headers of an answer. */
  take(headers: readonly string[], from: CookieSource): void {
    for (const header of headers) this.#takeOne(header, from)
  }

  #takeOne(header: string, from: CookieSource): void {
    const [first = '', ...rest] = header.split(';').map((part) => part.trim())
    const [, name, value] = pair.exec(first) ?? []
    if (name === undefined || value === undefined || first.length > this.#cookieBytesMax) return
    const attributes = attributesOf(rest)
    if (!isFor(attributes, from.url)) return
    if (hasEnded(attributes, from.date)) this.#cookies.delete(name)
    else if (this.#cookies.has(name) || this.#cookies.size < this.#cookiesMax) {
      const path = attributes.get('path') ?? ''
      this.#cookies.set(name, { value, path: path.startsWith('/') ? path : '/' })
    }
  }
}

/** By lower-case name; of several the last one counts. */
function attributesOf(parts: readonly string[]): ReadonlyMap<string, string> {
  return new Map(
    parts.map((part) => {
      const [name = '', ...value] = part.split('=')
      return [name.trim().toLowerCase(), value.join('=').trim()]
    }),
  )
}

/** Whether a server of this host may set it. A `Secure` cookie returns to its origin, as every cookie does. */
function isFor(attributes: ReadonlyMap<string, string>, { hostname }: URL): boolean {
  const domain = attributes.get('domain')?.toLowerCase().replace(/^\./, '') ?? ''
  return domain === '' || domain === hostname || hostname.endsWith(`.${domain}`)
}

/** RFC 6265, section 5.3: `Max-Age` stands above `Expires`. */
function hasEnded(attributes: ReadonlyMap<string, string>, now: string | undefined): boolean {
  const age = attributes.get('max-age')
  if (age !== undefined && /^-?\d+$/.test(age)) return Number(age) <= 0
  // Without a clock at least what says "1970" is understood.
  const nowMs = Date.parse(now ?? '') || Date.UTC(2000)
  return Date.parse(attributes.get('expires') ?? '') <= nowMs
}

function isUnder(path: string, pathname: string): boolean {
  return path === pathname || pathname.startsWith(path.endsWith('/') ? path : `${path}/`)
}
