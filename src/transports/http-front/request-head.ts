// The header fields of a request as they were sent.
//
// Node joins or drops repeated fields, each in its own way, so that what was
// checked and what is used could be two different values. Here every value that
// came is kept, and a field that decides something may come only once.

/** Fields that decide who may do what, or how a message is read. */
const once: ReadonlySet<string> = new Set([
  'authorization',
  'content-encoding',
  'content-length',
  'content-type',
  'host',
  'last-event-id',
  'origin',
  'sec-fetch-site',
  'transfer-encoding',
])

function isOnce(name: string): boolean {
  return once.has(name) || name.startsWith('mcp-')
}

/** Header fields by lower-case name. */
export class RequestHead {
  readonly #raw: readonly string[]
  /** A request has a dozen fields: to walk through a list of them is faster than to make a map. */
  readonly #names: string[] = []

  /** `raw` is `IncomingMessage.rawHeaders`: names and values in turn. */
  constructor(raw: readonly string[]) {
    this.#raw = raw
    for (let at = 0; at + 1 < raw.length; at += 2) this.#names.push((raw[at] ?? '').toLowerCase())
  }

  /** The first value. */
  get(name: string): string | undefined {
    const index = this.#names.indexOf(name)
    return index < 0 ? undefined : this.#raw[2 * index + 1]
  }

  /** Every value of a field that is a list. */
  list(name: string): string {
    const first = this.#names.indexOf(name)
    const isOnly = this.#names.indexOf(name, first + 1) < 0
    if (isOnly) return this.get(name) ?? ''
    return this.#names.flatMap((each, i) => (each === name ? [this.#raw[2 * i + 1]] : [])).join(', ')
  }

  /** The name of a field that may come only once and came more often. */
  get repeated(): string | undefined {
    const names = this.#names
    return names.find((name, i) => names.indexOf(name, i + 1) >= 0 && isOnce(name))
  }
}
