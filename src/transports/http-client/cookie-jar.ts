// The cookies that one server sets for one session: load balancers find their instance by them.
//
// Name and value only, for the host that set them; a session ends before any of
// them would. A jar belongs to one session, so that two sessions on two
// instances do not pull each other over.

/** RFC 6265, section 4.1.1: neither control characters, white space, quotes, commas nor backslashes. */
const pair = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+)=("?[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*"?)$/

/** Remembers the last value of each name. */
export class CookieJar {
  readonly #cookies = new Map<string, string>()
  readonly #cookiesMax: number
  readonly #cookieBytesMax: number

  constructor(cookiesMax: number, cookieBytesMax: number) {
    this.#cookiesMax = cookiesMax
    this.#cookieBytesMax = cookieBytesMax
  }

  /** The `Cookie` header; undefined when there is nothing to send. */
  get header(): string | undefined {
    if (this.#cookies.size === 0) return undefined
    return [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  }

  get values(): Iterable<string> {
    return this.#cookies.values()
  }

  /** Takes the `Set-Cookie` headers of an answer. */
  take(headers: readonly string[] | undefined): void {
    for (const header of headers ?? []) this.#takeOne(header)
  }

  #takeOne(header: string): void {
    const [first = '', ...attributes] = header.split(';').map((part) => part.trim())
    const [, name, value] = pair.exec(first) ?? []
    if (name === undefined || value === undefined || first.length > this.#cookieBytesMax) return
    if (attributes.some((attribute) => /^max-age=(?:0|-\d+)$/i.test(attribute))) this.#cookies.delete(name)
    else if (this.#cookies.has(name) || this.#cookies.size < this.#cookiesMax) this.#cookies.set(name, value)
  }
}
