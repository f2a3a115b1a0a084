// HTTP over the messages between instances: a request goes to another instance as it came, without its credentials, and its
// response comes back as a response of HTTP/1.0, whose body has no framing.

import { Buffer } from 'node:buffer'
import { parse, write } from '../../jsonrpc/text.js'
import { isObject, textsIn } from '../../text/json-object.js'
import {
  type Fields,
  HttpResponse,
  HttpSyntaxError,
  RequestHead,
  ResponseHead,
  type ResponseWire,
} from '../http1/server.js'
import { type Sender, targetOf } from './access.js'
import type { EndpointRequest } from './endpoint.js'
import type { PeerChannel, Peers, PeerSink } from './peers.js'
import { type Refusal, refuse } from './refusal.js'

/** A request that came to another instance, which has found who sends it. */
export interface ForwardedRequest {
  readonly sender: Sender
  readonly address: string | undefined
  readonly head: RequestHead
  readonly body: Buffer
  readonly response: HttpResponse
  /** Whether all instances get it, and serve it where its session is open; the answer goes nowhere. */
  readonly isTold: boolean
}

/** Fields about the connection and the framing, and credentials, which the other instance does not need. */
const dropped =
  /^(?:authorization|connection|content-length|cookie|expect|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade)$/

const LINE_FEED = 10
const HEAD_END = '\r\n\r\n'
/** The head of a request of a client has less, and its sender is a name and a few profiles. */
const HEAD_BYTES_MAX = 65_536 // 64 KiB
const FIELDS_MAX = 100
/** Up to here, bytes that the client has not taken do not hold the other instance back. */
const UNREAD_BYTES = 65_536 // 64 KiB

export function forwardedBytes(request: EndpointRequest, body: Uint8Array): readonly Uint8Array[] {
  const { head, sender, address } = request
  const { path, query } = targetOf(head.target)
  const target = query === '' ? path : `${path}?${query}`
  const { names, values } = head.fields
  const fields = names.map((name, at) => (dropped.test(name) ? '' : `${name}: ${values[at] ?? ''}\r\n`))
  const { principal, profiles, scopes, credential } = sender
  const from = write({ principal, profiles, scopes, credential, address })
  const text = `${head.method} ${target} HTTP/1.1\r\n${fields.join('')}\r\n`
  return [Buffer.from(`${from}\n`), Buffer.from(text, 'latin1'), body]
}

/** @throws HttpSyntaxError for bytes that are no such request */
export function readForwarded(bytes: Buffer): Omit<ForwardedRequest, 'response' | 'isTold'> {
  const line = bytes.indexOf(LINE_FEED)
  const end = bytes.indexOf(HEAD_END, line)
  const from = line < 0 || end < 0 ? undefined : parse(bytes.toString('utf8', 0, line))
  if (!isObject(from) || typeof from['principal'] !== 'string')
    throw new HttpSyntaxError('it does not say whose it is')
  const { principal, credential, address } = from
  const sender = {
    principal,
    profiles: from['profiles'] === undefined ? undefined : textsIn(from['profiles']),
    scopes: textsIn(from['scopes']),
    ...(typeof credential === 'string' && { credential }),
  }
  return {
    sender,
    address: typeof address === 'string' ? address : undefined,
    head: new RequestHead(bytes.toString('latin1', line + 1, end), FIELDS_MAX),
    body: bytes.subarray(end + HEAD_END.length),
  }
}

/** Reads a request of another instance, and is the wire of its response. */
export class ForwardedServing implements PeerSink, ResponseWire {
  readonly #channel: PeerChannel
  readonly #bytesMax: number
  readonly #serve: (request: ForwardedRequest) => void
  readonly #pieces: Buffer[] = []
  #bytes = 0
  #response: HttpResponse | undefined
  #isGone = false

  constructor(channel: PeerChannel, bodyBytesMax: number, serve: (request: ForwardedRequest) => void) {
    this.#channel = channel
    this.#bytesMax = bodyBytesMax + HEAD_BYTES_MAX
    this.#serve = serve
  }

  // PeerSink

  data(bytes: Buffer): void {
    this.#pieces.push(bytes)
    this.#bytes += bytes.length
    this.#channel.took(bytes.length)
    if (this.#bytes > this.#bytesMax) this.cut()
  }

  /** In a later turn: an instance that was stopped may find the end of the channel behind the request, and then no client waits. */
  end(): void {
    setImmediate(() => {
      if (this.#isGone) return
      try {
        const request = readForwarded(Buffer.concat(this.#pieces.splice(0)))
        this.#response = responseOn(this, request.head)
        this.#serve({ ...request, response: this.#response, isTold: false })
      } catch {
        // It is of another version of the proxy.
        this.cut()
      }
    })
  }

  gone(): void {
    this.#isGone = true
    this.#response?.close()
  }

  drained(): void {
    const response = this.#response
    if (response?.hasEnded === true) response.close()
    else response?.onDrain()
  }

  // ResponseWire

  get unsentBytes(): number {
    return this.#channel.unsentBytes
  }

  begin(): string {
    return ''
  }

  write(pieces: readonly Uint8Array[]): void {
    this.#channel.write(pieces)
  }

  ended(): void {
    this.#channel.end()
  }

  cut(): void {
    this.#channel.cut()
    this.gone()
  }

  /** The other instance cuts the channel where its client takes nothing. */
  cutWhenStalled(): void {}
}

/** A response that no client gets, for requests that are served on other instances too. */
export function unheardResponse(head: RequestHead): HttpResponse {
  const close = (): void => response.close()
  const wire = { unsentBytes: 0, begin: () => '', write: () => {}, cutWhenStalled: () => {} }
  const response: HttpResponse = responseOn({ ...wire, ended: close, cut: close }, head)
  return response
}

function responseOn(wire: ResponseWire, { method }: RequestHead): HttpResponse {
  return new HttpResponse(wire, { method, version: '1.0' })
}

/**
 * Has another instance serve the request. Gives `lost` where that instance has not answered, `absent` where it does not run,
 * and undefined where the response is on its way.
 */
export async function forward(
  peers: Peers,
  to: string,
  request: EndpointRequest,
  body: Uint8Array,
): Promise<'lost' | 'absent' | Refusal | undefined> {
  const back = new ForwardedResponse(request)
  try {
    const channel = await peers.open(to, back)
    if (channel === undefined) return 'absent'
    back.channel = channel
    channel.write(forwardedBytes(request, body))
    channel.end()
    // Behind what leaves in this turn: a message that has come whole is served, also where its client has gone meanwhile.
    queueMicrotask(() => request.response.whenClosed(() => channel.cut()))
  } catch {
    return refuse(503, 'Another instance cannot be reached now', { 'retry-after': '1' })
  }
  return back.begun
}

/** The answer of the other instance to one request, which becomes the response to its client. */
class ForwardedResponse implements PeerSink {
  channel: PeerChannel | undefined
  readonly begun: Promise<'lost' | undefined>
  readonly #request: EndpointRequest
  #resolve: (begun: 'lost' | undefined) => void = () => {}
  #head: { readonly status: number; readonly fields: Fields; readonly isWhole: boolean } | undefined
  readonly #pieces: Buffer[] = []
  #unreadBytes = 0

  constructor(request: EndpointRequest) {
    this.#request = request
    this.begun = new Promise((resolve) => {
      this.#resolve = resolve
    })
  }

  data(bytes: Buffer): void {
    if (this.#head !== undefined) return this.#take(bytes)
    // The head is written in one piece, and is less than a message may have.
    const end = bytes.indexOf(HEAD_END)
    const { status, fields, framing } = new ResponseHead(bytes.toString('latin1', 0, end))
    const kept = fields.names.flatMap((name, at) =>
      name === 'content-length' ? [] : [name, fields.values[at] ?? ''],
    )
    this.#head = { status, fields: kept, isWhole: framing.kind === 'length' }
    if (!this.#head.isWhole) this.#begin(status, kept)
    this.#take(bytes.subarray(end + HEAD_END.length))
  }

  end(): void {
    const { response } = this.#request
    const { status, fields, isWhole } = this.#head ?? { status: 502, fields: [], isWhole: true }
    if (isWhole) response.send(status, fields, ...this.#pieces)
    else response.end()
    this.#resolve(undefined)
  }

  gone(): void {
    this.#resolve('lost')
    if (this.#request.response.hasBegun) this.#request.response.cut()
  }

  drained(): void {}

  #begin(status: number, fields: Fields): void {
    const { response, onStream } = this.#request
    response.stream(status, fields)
    response.onDrain = () => {
      this.channel?.took(this.#unreadBytes)
      this.#unreadBytes = 0
    }
    onStream?.()
    this.#resolve(undefined)
  }

  #take(bytes: Buffer): void {
    const { response } = this.#request
    if (this.#head?.isWhole === true) this.#pieces.push(bytes)
    else if (bytes.length > 0) response.write([bytes])
    if (response.unsentBytes > UNREAD_BYTES) this.#unreadBytes += bytes.length
    else this.channel?.took(bytes.length)
  }
}
