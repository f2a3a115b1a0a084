// All events on all wires with their times. They are equal for equal seeds.

import { createHash } from 'node:crypto'

const SHOWN_MAX = 400

type TraceEvent = { readonly at: number; readonly where: string; readonly what: string | Buffer }

/** Events in order. They are formatted only when read. */
export class Trace {
  readonly #now: () => number
  readonly #events: TraceEvent[] = []

  constructor(now: () => number) {
    this.#now = now
  }

  note(where: string, what: string | Buffer): void {
    this.#events.push({ at: this.#now(), where, what })
  }

  get hash(): string {
    const sum = createHash('sha256')
    for (const event of this.#events) sum.update(textOf(event), 'latin1')
    return sum.digest('hex')
  }

  get length(): number {
    return this.#events.length
  }

  *lines(): IterableIterator<string> {
    for (const event of this.#events) {
      const text = JSON.stringify(textOf(event)).slice(1, -1).replaceAll('\\"', '"')
      yield text.length <= SHOWN_MAX
        ? text
        : `${text.slice(0, SHOWN_MAX / 2)} … ${text.slice(-SHOWN_MAX / 2)} (${text.length})`
    }
  }
}

function textOf({ at, where, what }: TraceEvent): string {
  return `${at.toFixed(3)} ${where} ${typeof what === 'string' ? what : what.toString('latin1')}`
}
