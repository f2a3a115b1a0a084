// One HTTP request of a transcript, and its response.

import { type ClientRequest, type IncomingMessage, Agent, request } from 'node:http'
import { Mailbox } from '../../src/replay/server.js'
import type { Runtime } from '../../src/runtime/runtime.js'

/** The parts of a response, in order. */
export type Part =
  | {
      readonly kind: 'response'
      readonly status: number
      /** By the name in lower case. */
      readonly headers: ReadonlyMap<string, string>
      /** Undefined for an event stream, whose events follow. */
      readonly body: Buffer | undefined
    }
  | StreamEvent
  | { readonly kind: 'end' }
  | { readonly kind: 'broken'; readonly why: string }

interface StreamEvent {
  readonly kind: 'event'
  readonly type: string
  readonly id: string | undefined
  readonly retry: string | undefined
  readonly data: Buffer
}

export interface SentRequest {
  readonly method: string
  readonly url: URL
  /** Alternating names and values of all header fields. */
  readonly headers: readonly string[]
  readonly body: Buffer | undefined
}

export class Exchange {
  readonly method: string
  readonly parts: Mailbox<Part>
  readonly #request: ClientRequest
  readonly #agent = new Agent()

  constructor({ method, url, headers, body }: SentRequest, runtime: Runtime) {
    this.method = method
    this.parts = new Mailbox(runtime)
    this.#request = request(url, { method, agent: this.#agent, headers: [...headers] })
    this.#request.on('response', (response) => this.#read(response))
    this.#request.on('error', (error) => this.#put({ kind: 'broken', why: error.message }))
    this.#request.end(body)
  }

  /** Drops the connection. */
  cut(): void {
    this.parts.end()
    this.#request.destroy()
    this.#agent.destroy()
  }

  #read(response: IncomingMessage): void {
    const isStream = /^text\/event-stream\b/i.test(response.headers['content-type'] ?? '')
    const fields = Object.entries(response.headersDistinct)
    const headers = new Map(fields.map(([name, values = []]) => [name, values.join(', ')]))
    const head = { kind: 'response', status: response.statusCode ?? 0, headers } as const
    if (isStream) this.#put({ ...head, body: undefined })
    let text = ''
    response.setEncoding('utf8')
    response.on('data', (chunk: string) => {
      text += chunk
      if (isStream) text = this.#events(text)
    })
    response.on('error', (error) => this.#put({ kind: 'broken', why: error.message }))
    response.on('end', () => {
      if (!isStream) this.#put({ ...head, body: Buffer.from(text) })
      this.#put({ kind: 'end' })
      this.parts.end()
    })
  }

  /** Reports complete events, and returns the incomplete text. */
  #events(text: string): string {
    const blocks = text.split(/\r?\n\r?\n/)
    const rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const fields = block.split(/\r?\n/).filter((line) => !line.startsWith(':'))
      if (fields.length > 0) this.#put(eventOf(fields))
    }
    return rest
  }

  #put(part: Part): void {
    this.parts.put(part)
  }
}

function eventOf(lines: readonly string[]): StreamEvent {
  const fields = lines.map((line) => /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [])
  const all = (name: string): string[] =>
    fields.filter(([, key]) => key === name).map(([, , value = '']) => value)
  const data = Buffer.from(all('data').join('\n'))
  return {
    kind: 'event',
    type: all('event').at(-1) ?? 'message',
    id: all('id').at(-1),
    retry: all('retry').at(-1),
    data,
  }
}
