// Server-sent events out of the pieces of a body.

/** One event, as it ended. */
export interface ToldEvent {
  readonly name: string | undefined
  readonly id: string | undefined
  readonly data: string
  /** The bytes of its connection up to its end. */
  readonly upTo: number
}

const LF = 0x0a

/** Takes a stream of events apart; what is behind the last blank line never happened. */
export class EventReader {
  readonly #told: (event: ToldEvent) => void
  #rest: Buffer = Buffer.alloc(0)
  #name: string | undefined
  #id: string | undefined
  #data: string[] = []

  constructor(told: (event: ToldEvent) => void) {
    this.#told = told
  }

  /** `upTo` counts the bytes of the connection up to the end of this piece. */
  piece(bytes: Buffer, upTo: number): void {
    let rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes])
    for (let end = rest.indexOf(LF); end >= 0; end = rest.indexOf(LF)) {
      const line = rest.toString('utf8', 0, end)
      rest = rest.subarray(end + 1)
      this.#line(line, upTo - rest.length)
    }
    this.#rest = rest
  }

  #line(line: string, upTo: number): void {
    if (line === '') return this.#event(upTo)
    const [, name, value = ''] = /^([^:]*): ?(.*)$/s.exec(line) ?? []
    if (name === 'event') this.#name = value
    if (name === 'id') this.#id = value
    if (name === 'data') this.#data.push(value)
  }

  #event(upTo: number): void {
    const event = { name: this.#name, id: this.#id, data: this.#data.join('\n'), upTo }
    const isOne = this.#id !== undefined || this.#data.length > 0
    this.#name = undefined
    this.#id = undefined
    this.#data = []
    if (isOne) this.#told(event)
  }
}
