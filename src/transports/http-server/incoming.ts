// One request that was let in, and how its message is read.

import { FrameError } from '../../jsonrpc/errors.js'
import type { FrameLimits } from '../../jsonrpc/frame.js'
import type { MessageReader } from '../message-reader.js'
import type { Bodies, Body } from './body.js'
import { isJson } from './guard.js'
import { type Posted, readPosted } from './message.js'
import type { Refusal, Refusals } from './refusal.js'
import type { HttpRequest } from './request.js'
import type { HttpResponse } from './response.js'

export interface Incoming {
  readonly request: HttpRequest
  readonly response: HttpResponse
  readonly query: string
  readonly principal: string
}

/** Why a request is not served, if there is a reason; otherwise the response is on its way. */
export type ServeResult = Refusal | undefined | Promise<Refusal | undefined>

export interface ReadingParts {
  readonly limits: { readonly bodyBytesMax: number; readonly frame: FrameLimits }
  readonly refusals: Refusals
  readonly bodies: Bodies
  readonly reader: MessageReader
}

/** The message of a POST, or why it is refused; undefined when the client has left. */
export type Read = Posted | Refusal | undefined

/** Reads the message of a POST: at once where its body has come with its head. */
export function readIncoming(incoming: Incoming, parts: ReadingParts): Read | Promise<Read> {
  if (!isJson(incoming.request.head.get('content-type')))
    return parts.refusals.plain(415, 'Content-Type must be application/json')
  const body = parts.bodies.read(incoming)
  return body instanceof Promise ? body.then((came) => readBody(came, parts)) : readBody(body, parts)
}

function readBody(body: Body, { limits: { bodyBytesMax, frame }, refusals, reader }: ReadingParts): Read {
  if (body.kind === 'gone') return undefined
  if (body.kind === 'too-large') return refusals.plain(413, `A message may have ${bodyBytesMax} bytes`)
  if (body.kind === 'too-slow') return refusals.plain(408, 'The body comes too slowly')
  if (body.kind === 'too-many')
    return refusals.plain(503, 'Too many large messages are being served', { 'retry-after': '1' })
  try {
    return readPosted(body, frame, reader)
  } catch (error) {
    if (error instanceof FrameError) return refusals.malformed(error)
    throw error
  }
}

export function isRefusal(value: object): value is Refusal {
  return 'status' in value
}
