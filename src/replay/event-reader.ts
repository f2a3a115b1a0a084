// Server-sent events as they are written, with every field that an event has.
//
// A client only has to know what an event means; a transcript says how it looks:
// whether it has an id, and an event without data too.

export interface StreamEvent {
  readonly type: string
  readonly id: string | undefined
  /** As it is written. */
  readonly retry: string | undefined
  readonly data: Buffer
}

const LINE_END = /\r\n|\r|\n/

/** Cuts one stream into events (WHATWG HTML, section 9.2.6). */
export class EventReader {
  readonly #take: (event: StreamEvent) => void
  /** One character for each byte. */
  #rest = ''
  #fields: [string, string][] = []

  constructor(take: (event: StreamEvent) => void) {
    this.#take = take
  }

  push(chunk: Buffer): void {
    const text = this.#rest + chunk.toString('latin1')
    // A CR at the end may be half of a line end.
    const whole = text.endsWith('\r') ? text.slice(0, -1) : text
    const lines = whole.split(LINE_END)
    this.#rest = (lines.pop() ?? '') + text.slice(whole.length)
    for (const line of lines) this.#line(line)
  }

  #line(line: string): void {
    if (line === '') return this.#dispatch()
    const [, name = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? []
    if (name !== '') this.#fields.push([name, value])
  }

  #dispatch(): void {
    const fields = this.#fields
    this.#fields = []
    if (fields.length === 0) return
    const all = (name: string): string[] => fields.filter(([key]) => key === name).map(([, value]) => value)
    const text = (name: string): string | undefined => {
      const value = all(name).at(-1)
      return value === undefined ? undefined : Buffer.from(value, 'latin1').toString()
    }
    const data = Buffer.from(all('data').join('\n'), 'latin1')
    this.#take({ type: text('event') ?? 'message', id: text('id'), retry: text('retry'), data })
  }
}
