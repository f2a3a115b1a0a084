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

/** Header fields by lower-case name. */
export class RequestHead {
  readonly #fields = new Map<string, string[]>()

  /** `raw` is `IncomingMessage.rawHeaders`: names and values in turn. */
  constructor(raw: readonly string[]) {
    for (let at = 0; at + 1 < raw.length; at += 2) {
      const name = (raw[at] ?? '').toLowerCase()
      const values = this.#fields.get(name)
      if (values === undefined) this.#fields.set(name, [raw[at + 1] ?? ''])
      else values.push(raw[at + 1] ?? '')
    }
  }

  /** The first value. */
  get(name: string): string | undefined {
    return this.#fields.get(name)?.[0]
  }

  /** Every value of a field that is a list. */
  list(name: string): string {
    return this.#fields.get(name)?.join(', ') ?? ''
  }

  /** The name of a field that may come only once and came more often. */
  get repeated(): string | undefined {
    for (const [name, values] of this.#fields)
      if (values.length > 1 && (once.has(name) || name.startsWith('mcp-'))) return name
    return undefined
  }
}
