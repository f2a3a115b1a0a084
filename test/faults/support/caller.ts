// A client that counts: every request gets exactly one answer, and none of anybody else.

import { strict as assert } from 'node:assert'
import { at, notAFrame, parsed } from '../../integration/support/json.js'

/** The answer to a request. */
export interface Answer {
  readonly value: unknown
  readonly text: string
}

/** What must be nothing at the end. */
export interface Misses {
  /** Requests that nobody answered. */
  lost: number
  /** Answers to what was answered already. */
  twice: number
  /** Answers to what was never asked. */
  stray: number
  /** Lines that are no messages. */
  invalid: number
}

/** Speaks whole lines, and remembers nothing that is over. */
export class Caller {
  readonly misses: Misses = { lost: 0, twice: 0, stray: 0, invalid: 0 }
  /** What the last miss was. */
  lastMiss = ''
  onNotification: ((value: unknown) => void) | undefined
  /** Whether an answer with this id may come unasked, since the client sends more than requests. */
  mayStray: (id: unknown) => boolean = () => false
  readonly #write: (line: string) => void
  readonly #waiting = new Map<unknown, (answer: Answer) => void>()
  readonly #answered = new Set<unknown>()
  #last = 0
  #gone = false

  constructor(write: (line: string) => void) {
    this.#write = write
  }

  get waiting(): number {
    return this.#waiting.size
  }

  /** An id that this client has not used; every client counts from one. */
  nextId(): number {
    return ++this.#last
  }

  send(line: string): void {
    this.#write(line)
  }

  notify(method: string, params: unknown = {}): void {
    this.send(JSON.stringify({ jsonrpc: '2.0', method, params }))
  }

  request(method: string, params: unknown = {}, id: string | number = this.nextId()): Promise<Answer> {
    const answer = this.expect(id)
    this.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
    return answer
  }

  call(name: string, args: unknown = {}, meta?: unknown, id?: string | number): Promise<Answer> {
    const params = { name, arguments: args, ...(meta === undefined ? {} : { _meta: meta }) }
    return this.request('tools/call', params, id)
  }

  /** The answer to a request with this id; the caller sends it. */
  expect(id: string | number): Promise<Answer> {
    assert(!this.#waiting.has(id), `the id ${id} is in use`)
    if (this.#gone) return Promise.resolve(GONE)
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve)
    })
  }

  /** Nobody will answer it: it was cancelled. */
  forget(id: string | number): void {
    this.#waiting.delete(id)
    this.#answered.add(id)
  }

  async open(capabilities: unknown = {}, protocolVersion = '2025-06-18'): Promise<void> {
    const clientInfo = { name: 'faults', version: '1' }
    const { value } = await this.request('initialize', { protocolVersion, capabilities, clientInfo })
    assert(at(value, 'result') !== undefined, `initialize: ${JSON.stringify(value)}`)
    this.notify('notifications/initialized')
  }

  take(line: string): void {
    let value: unknown
    try {
      value = parsed(line)
    } catch {
      return this.#miss('invalid', line)
    }
    // The answers to a batch are a batch.
    for (const each of Array.isArray(value) ? value : [value]) this.#message(each, line)
  }

  #message(value: unknown, line: string): void {
    if (notAFrame(value) !== undefined) this.#miss('invalid', line)
    else if (at(value, 'method') === undefined) this.#answer(value, line)
    else this.onNotification?.(value)
  }

  /** The other end is gone: whoever waits has lost. */
  gone(): void {
    this.#gone = true
    this.misses.lost += this.#waiting.size
    for (const resolve of this.#waiting.values()) resolve(GONE)
    this.#waiting.clear()
  }

  #answer(value: unknown, text: string): void {
    const id = at(value, 'id')
    const resolve = this.#waiting.get(id)
    if (resolve !== undefined) {
      this.#waiting.delete(id)
      this.#answered.add(id)
      if (this.#answered.size > REMEMBERED_MAX) this.#forgetOldest()
      resolve({ value, text })
    } else if (!this.mayStray(id)) this.#miss(this.#answered.has(id) ? 'twice' : 'stray', text)
  }

  /** Ids are only counted up, so the oldest cannot come back. */
  #forgetOldest(): void {
    for (const id of this.#answered) {
      this.#answered.delete(id)
      if (this.#answered.size <= REMEMBERED_MAX / 2) return
    }
  }

  #miss(kind: keyof Misses, line: string): void {
    this.misses[kind]++
    this.lastMiss = `${kind}: ${line.slice(0, 300)}`
  }
}

/** What a request gets whose other end is gone; it is in no way an answer. */
export const GONE: Answer = { value: undefined, text: '' }

const REMEMBERED_MAX = 20_000

/** The misses of many clients. */
export function allMisses(callers: readonly Caller[]): Misses {
  const sum: Misses = { lost: 0, twice: 0, stray: 0, invalid: 0 }
  for (const { misses } of callers) {
    sum.lost += misses.lost
    sum.twice += misses.twice
    sum.stray += misses.stray
    sum.invalid += misses.invalid
  }
  return sum
}
