// One request that was let in, and how its message is read.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { FrameError } from '../../jsonrpc/errors.js'
import type { FrameLimits } from '../../jsonrpc/frame-limits.js'
import type { MessageReader } from '../message-reader.js'
import type { Bodies } from './body.js'
import { isJson } from './guard.js'
import { type Posted, readPosted } from './message.js'
import type { Refusal, Refusals } from './refusal.js'
import type { RequestHead } from './request-head.js'

export interface Incoming {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly head: RequestHead
  readonly query: string
  readonly principal: string
}

/** Why a request is not served, if there is a reason; otherwise the response is on its way. */
export type Served = Refusal | undefined | Promise<Refusal | undefined>

export interface ReadingParts {
  readonly limits: { readonly bodyBytesMax: number; readonly frame: FrameLimits }
  readonly refusals: Refusals
  readonly bodies: Bodies
  readonly reader: MessageReader
}

/** What a POST brought, or why it is refused; undefined when its sender has gone. */
export async function readIncoming(
  incoming: Incoming,
  { limits: { bodyBytesMax, frame }, refusals, bodies, reader }: ReadingParts,
): Promise<Posted | Refusal | undefined> {
  if (!isJson(incoming.head.get('content-type')))
    return refusals.plain(415, 'Content-Type must be application/json')
  const body = await bodies.read(incoming)
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
