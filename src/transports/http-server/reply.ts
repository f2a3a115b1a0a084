// Answers that are not messages of a session: pages, refusals, acknowledgements.

import { Buffer } from 'node:buffer'
import { buildError } from '../../jsonrpc/build.js'
import type { WireParts } from '../../jsonrpc/fast/splice-parts.js'
import type { Refusal } from './refusal.js'
import type { HttpResponse } from './response.js'
import type { Fields } from './status-line.js'

const about: Fields = [
  'content-type',
  'application/json',
  'cache-control',
  'no-store',
  'x-content-type-options',
  'nosniff',
]

export function sendJson(
  response: HttpResponse,
  status: number,
  body: string | Uint8Array | WireParts,
  fields?: Fields,
): void {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  response.send(status, fields === undefined ? about : [...about, ...fields], bytes)
}

/** Says why a request is not served. */
export function refuse(
  response: HttpResponse,
  { status, error, id, revision, headers = {}, body }: Refusal,
): void {
  if (response.hasBegun || response.isClosed) return response.cut()
  const text = Buffer.from(body ?? buildError(id, error, revision?.orphanId))
  sendJson(response, status, text, Object.entries(headers).flat())
}
