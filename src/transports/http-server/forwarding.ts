// HTTP between instances. A request is forwarded unchanged, without its credentials. The response returns as
// a response of HTTP/1.0 without framing of its body.

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

/** A request that another instance received. That instance has identified its sender. */
export interface ForwardedRequest {
  readonly sender: Sender
  readonly address: string | undefined
  readonly head: RequestHead
  readonly body: Buffer
  readonly response: HttpResponse
  /** Whether all instances get the request, and serve it if they have its session. No client gets the answer. */
  readonly isBroadcast: boolean
}

/** Fields of the connection and the framing, and credentials, which the other instance does not need. */
const dropped =
  /^(?:authorization|connection|content-length|cookie|expect|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade)$/

const LINE_FEED = 10
const HEAD_END = '\r\n\r\n'
/** More than the head of a client's request needs, with the name and the profiles of its sender. */
const HEAD_BYTES_MAX = 65_536 // 64 KiB
const FIELDS_MAX = 100
/** Up to this number of unread bytes, the other instance may continue to send. */
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

/** @throws HttpSyntaxError if the bytes are not a forwarded request */
export function readForwarded(bytes: Buffer): Omit<ForwardedRequest, 'response' | 'isBroadcast'> {
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

/** Reads a request of another instance, and carries its response. */
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
    this.#channel.onConsumed(bytes.length)
    if (this.#bytes > this.#bytesMax) this.cut()
  }

  /** In a later turn: an instance that was stopped may then have read the end of the channel, and no client waits. */
  end(): void {
    setImmediate(() => {
      if (this.#isGone) return
      try {
        const request = readForwarded(Buffer.concat(this.#pieces.splice(0)))
        this.#response = responseOn(this, request.head)
        this.#serve({ ...request, response: this.#response, isBroadcast: false })
      } catch {
        // The request comes from another version of the proxy.
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

  /** The other instance cuts the channel if its client reads nothing. */
  cutWhenStalled(): void {}
}

/** A response that no client gets, for requests that other instances serve too. */
export function discardedResponse(head: RequestHead): HttpResponse {
  const close = (): void => response.close()
  const wire = { unsentBytes: 0, begin: () => '', write: () => {}, cutWhenStalled: () => {} }
  const response: HttpResponse = responseOn({ ...wire, ended: close, cut: close }, head)
  return response
}

function responseOn(wire: ResponseWire, { method }: RequestHead): HttpResponse {
  return new HttpResponse(wire, { method, version: '1.0' })
}

/**
 * Lets another instance serve the request. Returns `lost` if that instance did not answer, `absent` if it
 * does not run, and undefined once the response has begun.
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
    // After the writes of this turn: a complete message is served even if its client has left.
    queueMicrotask(() => request.response.whenClosed(() => channel.cut()))
  } catch {
    return refuse(503, 'Another instance cannot be reached now', { 'retry-after': '1' })
  }
  return back.begun
}

/** The answer of the other instance to one request, which becomes the response to the client. */
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
    // The head arrives in one piece, because it is shorter than a message.
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
      this.channel?.onConsumed(this.#unreadBytes)
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
    else this.channel?.onConsumed(bytes.length)
  }
}
