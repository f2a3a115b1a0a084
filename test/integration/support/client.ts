// A client that sends and receives whole lines over any transport.

import { strict as assert } from 'node:assert'
import { at, listAt, notAFrame, numberAt, parsed, textAt } from './json.js'
import { HANG_MS } from './waiting.js'

/** One line, and its value. */
export interface Heard {
  readonly text: string
  readonly value: unknown
}

/** Answers what a server asks, with the raw JSON of a result; undefined leaves it unanswered. */
export type OnRequest = (method: string, params: unknown, heard: Heard) => string | undefined

interface Waiter {
  readonly wants: (heard: Heard) => boolean
  readonly resolve: (heard: Heard) => void
  readonly fail: () => void
}

/** Speaks raw JSON-RPC, and refuses every line that is no frame. */
export class RawClient {
  /** Everything that came, in order. */
  readonly heard: Heard[] = []
  /** Lines that were no valid frames; always empty, or the run has failed. */
  readonly invalid: string[] = []
  onRequest: OnRequest | undefined
  readonly #write: (line: string) => void
  readonly #waiters = new Set<Waiter>()
  #last = 0
  #gone: string | undefined

  constructor(write: (line: string) => void) {
    this.#write = write
  }

  /** Takes one line from the other end. */
  take(text: string): void {
    let value: unknown
    try {
      value = parsed(text)
    } catch (error) {
      this.invalid.push(`${String(error)}: ${text.slice(0, 200)}`)
      return
    }
    for (const each of Array.isArray(value) ? value : [value]) {
      const why = notAFrame(each)
      if (why !== undefined) this.invalid.push(`${why}: ${text.slice(0, 200)}`)
    }
    this.#deliver({ text, value })
  }

  /** The other end is gone: everything that waits fails. */
  gone(why: string): void {
    this.#gone = why
    for (const waiter of this.#waiters) waiter.fail()
  }

  send(line: string): void {
    this.#write(line)
  }

  notify(method: string, params: unknown = {}): void {
    this.send(JSON.stringify({ jsonrpc: '2.0', method, params }))
  }

  nextId(): number {
    return ++this.#last
  }

  /** The answer to a request with a fresh id, or with the one given. */
  request(method: string, params: unknown = {}, id: string | number = this.nextId()): Promise<Heard> {
    const answer = this.answer(id)
    this.post(method, params, id)
    return answer
  }

  /** Sends a request whose answer comes with others, or never. */
  post(method: string, params: unknown = {}, id: string | number = this.nextId()): void {
    this.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
  }

  /** Answers a question that has come. */
  respond({ value }: Heard, result: object): void {
    this.send(JSON.stringify({ jsonrpc: '2.0', id: at(value, 'id'), result }))
  }

  call(name: string, args: unknown = {}, meta?: unknown, id?: string | number): Promise<Heard> {
    const params = { name, arguments: args, ...(meta === undefined ? {} : { _meta: meta }) }
    return this.request('tools/call', params, id)
  }

  /** The next answer to this id that comes from now on. */
  answer(id: string | number): Promise<Heard> {
    return this.next(`an answer to ${JSON.stringify(id)}`, (heard) => isAnswer(heard, id))
  }

  /** The next line of this kind that comes from now on. */
  next(what: string, wants: (heard: Heard) => boolean): Promise<Heard> {
    return new Promise((resolve, reject) => {
      const fail = (): void => {
        clearTimeout(timer)
        this.#waiters.delete(waiter)
        const tail = this.heard.slice(-5).map(({ text }) => text.slice(0, 300))
        reject(new Error(`${what} did not come (${this.#gone ?? 'still there'}); last: ${tail.join('\n')}`))
      }
      const timer = setTimeout(fail, HANG_MS)
      const waiter: Waiter = {
        wants,
        fail,
        resolve: (heard) => {
          clearTimeout(timer)
          resolve(heard)
        },
      }
      this.#waiters.add(waiter)
      if (this.#gone !== undefined) fail()
    })
  }

  /** A line of this kind, which may have come already, behind the first so many. */
  some(what: string, wants: (heard: Heard) => boolean, behind = 0): Promise<Heard> {
    const found = this.heard.slice(behind).find((heard) => wants(heard))
    return found === undefined ? this.next(what, wants) : Promise.resolve(found)
  }

  notification(method: string, wants: (params: unknown) => boolean = () => true): Promise<Heard> {
    return this.some(method, ({ value }) => textAt(value, 'method') === method && wants(at(value, 'params')))
  }

  /** How many lines of this kind came so far. */
  count(wants: (value: unknown) => boolean): number {
    return this.heard.filter(({ value }) => wants(value)).length
  }

  answersTo(id: string | number): number {
    return this.heard.filter((heard) => isAnswer(heard, id)).length
  }

  /** Opens a session; returns the result of `initialize`. */
  async open(capabilities: unknown = {}, protocolVersion = '2025-06-18'): Promise<unknown> {
    const clientInfo = { name: 'it', version: '1' }
    const heard = await this.request('initialize', { protocolVersion, capabilities, clientInfo })
    this.notify('notifications/initialized')
    return at(heard.value, 'result')
  }

  /** Lists tools after each change until their names fit; returns the names. */
  async toolNamesOnce(holds: (names: string[]) => boolean, params: unknown = {}): Promise<string[]> {
    for (;;) {
      const { length } = this.heard
      const names = toolNames(await this.request('tools/list', params))
      if (holds(names)) return names
      await this.some('a change', ({ value }) => textAt(value, 'method').endsWith('/list_changed'), length)
    }
  }

  async toolNames(): Promise<string[]> {
    return toolNames(await this.request('tools/list'))
  }

  /** The process that answers a call of this tool of the test server. */
  async pidOf(tool: string): Promise<number> {
    return numberAt(said(await this.call(tool, { n: '' })), 'pid')
  }

  assertValid(): void {
    assert.deepEqual(this.invalid, [], 'every line is a valid frame')
  }

  #deliver(heard: Heard): void {
    this.heard.push(heard)
    const method = at(heard.value, 'method')
    const id = at(heard.value, 'id')
    if (typeof method === 'string' && id !== undefined) this.#asked(method, id, heard)
    for (const waiter of this.#waiters) {
      if (!waiter.wants(heard)) continue
      this.#waiters.delete(waiter)
      waiter.resolve(heard)
    }
  }

  #asked(method: string, id: unknown, heard: Heard): void {
    const result = this.onRequest?.(method, at(heard.value, 'params'), heard)
    if (result !== undefined) this.send(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`)
  }
}

/** Whether this is an answer to that id. */
export function isAnswer({ value }: Heard, id: string | number): boolean {
  return at(value, 'id') === id && at(value, 'method') === undefined
}

/** The parsed text of a result of the test server. */
export function said({ value, text }: Heard): unknown {
  assert.equal(typeof at(value, 'result', 'content', 0, 'text'), 'string', text.slice(0, 500))
  return parsed(textAt(value, 'result', 'content', 0, 'text'))
}

/** The names in a list of tools. */
export function toolNames({ value }: Pick<Heard, 'value'>): string[] {
  return listAt(value, 'result', 'tools').map((tool) => textAt(tool, 'name'))
}

/** `code`, `data.service` and `data.reason` of an error answer. */
export function failure({ value }: Heard): readonly unknown[] {
  const error = at(value, 'error')
  return [at(error, 'code'), at(error, 'data', 'service'), at(error, 'data', 'reason')]
}
