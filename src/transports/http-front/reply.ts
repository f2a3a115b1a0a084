// Answers that are not messages of a session: pages, refusals, acknowledgements.

import { Buffer } from 'node:buffer'
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { buildError } from '../../jsonrpc/build.js'
import { WireParts } from '../../jsonrpc/splice-parts.js'
import type { HttpTimer } from './clock.js'
import { endWith, endWithParts } from '../end-with.js'
import type { Refusal } from './refusal.js'

const noStore = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' } as const

export function sendJson(
  response: ServerResponse,
  status: number,
  body: string | Uint8Array | WireParts,
  headers: OutgoingHttpHeaders = {},
): void {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': bytes.length,
    ...noStore,
    ...headers,
  })
  if (response.req.method === 'HEAD') response.end()
  else if (bytes instanceof WireParts) endWithParts(response, bytes.parts)
  else endWith(response, bytes)
}

export function sendEmpty(response: ServerResponse, status: number, headers: OutgoingHttpHeaders = {}): void {
  response.writeHead(status, { 'content-length': 0, ...headers })
  response.end()
}

/**
 * Says why a request is not served.
 *
 * What is left of its body is not worth reading, but a connection that is closed
 * in the client's face loses the answer too: it is read for a moment, then closed.
 */
export function refuse(
  request: IncomingMessage,
  response: ServerResponse,
  { status, error, id, revision, headers = {}, body }: Refusal,
  linger: (done: () => void) => HttpTimer,
): void {
  if (response.headersSent || response.destroyed) return void response.destroy()
  const text = Buffer.from(body ?? buildError(id, error, revision?.orphanId))
  if (request.complete || !hasBody(request)) return sendJson(response, status, text, { ...headers })
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': text.length,
    connection: 'close',
    ...noStore,
    ...headers,
  })
  response.write(text)
  const timer = linger(() => response.destroy())
  response.once('close', () => timer.cancel())
  request.once('end', () => response.end())
  request.resume()
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}
