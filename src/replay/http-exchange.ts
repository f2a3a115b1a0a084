// One HTTP request as a transcript has it, and everything that comes back on it.

import {
  type ClientRequest,
  type IncomingMessage,
  Agent as PlainAgent,
  request as plainRequest,
} from 'node:http'
import { Agent as TlsAgent, request as tlsRequest } from 'node:https'
import { hostAndPort } from '../transports/http-client/address.js'
import type { Runtime } from '../runtime/runtime.js'
import { EventReader, type StreamEvent } from './event-reader.js'
import type { EventStep } from './http-line.js'
import { Mailbox } from './mailbox.js'

/** Longer bodies are not kept; none of a transcript comes near. */
const BODY_BYTES_MAX = 256 * 1024 * 1024

/** What comes on a response, one after the other. */
export type Part =
  | {
      readonly kind: 'response'
      readonly status: number
      /** By the name in small letters. */
      readonly headers: ReadonlyMap<string, string>
      /** Undefined for a stream of events, which follow. */
      readonly body: Buffer | undefined
    }
  | ({ readonly kind: 'event' } & StreamEvent)
  | { readonly kind: 'end' }
  | { readonly kind: 'broken'; readonly why: string }

export interface ReplayHttpRequest {
  readonly method: string
  readonly url: URL
  /** Names and values in turn, and nothing besides. */
  readonly headers: readonly string[]
  readonly body: Buffer | undefined
}

export class ReplayHttpExchange {
  readonly method: string
  /** Events that need not come. */
  optional: readonly EventStep[] = []
  readonly parts: Mailbox<Part>
  readonly #request: ClientRequest
  #over = false

  /** Sends the request. */
  constructor({ method, url, headers, body }: ReplayHttpRequest, runtime: Runtime) {
    this.method = method
    this.parts = new Mailbox(runtime)
    const isTls = url.protocol === 'https:'
    const agent = isTls ? new TlsAgent({ keepAlive: true }) : new PlainAgent({ keepAlive: true })
    const options = { method, agent, path: url.pathname + url.search, headers: [...headers] }
    this.#request = (isTls ? tlsRequest : plainRequest)({ ...hostAndPort(url), ...options })
    this.#request.on('response', (response) => this.#responded(response))
    this.#request.on('error', (error) => this.#broken(error.message))
    this.#request.on('close', () => agent.destroy())
    this.#request.end(body)
  }

  /** Drops the connection; nothing comes any more. */
  cut(): void {
    this.#over = true
    this.#request.destroy()
    this.parts.end()
  }

  #responded(response: IncomingMessage): void {
    response.on('error', (error) => this.#broken(error.message))
    response.on('close', () => this.#broken('the connection was cut'))
    const isStream = /^text\/event-stream\b/i.test(response.headers['content-type'] ?? '')
    if (isStream) this.#readEvents(response)
    else this.#readBody(response)
  }

  #readEvents(response: IncomingMessage): void {
    this.#put(headOf(response, undefined))
    const reader = new EventReader((event) => this.#put({ kind: 'event', ...event }))
    response.on('data', (chunk: Buffer) => reader.push(chunk))
    response.on('end', () => this.#end())
  }

  #readBody(response: IncomingMessage): void {
    const chunks: Buffer[] = []
    let bytes = 0
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > BODY_BYTES_MAX) this.#broken(`a body of more than ${BODY_BYTES_MAX} bytes`)
      else chunks.push(chunk)
    })
    response.on('end', () => {
      this.#put(headOf(response, Buffer.concat(chunks)))
      this.#end()
    })
  }

  #put(part: Part): void {
    if (!this.#over) this.parts.put(part)
  }

  #end(): void {
    this.#put({ kind: 'end' })
    this.#over = true
    this.parts.end()
  }

  #broken(why: string): void {
    this.#put({ kind: 'broken', why })
    this.cut()
  }
}

function headOf({ statusCode = 0, headersDistinct }: IncomingMessage, body: Buffer | undefined): Part {
  const fields = Object.entries(headersDistinct)
  const headers = new Map(fields.map(([name, values = []]) => [name, values.join(', ')]))
  return { kind: 'response', status: statusCode, headers, body }
}
