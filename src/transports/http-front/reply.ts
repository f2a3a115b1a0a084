// Answers that are not messages of a session: pages, refusals, acknowledgements.

import { Buffer } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { buildError } from '../../jsonrpc/build.js'
import { WireParts } from '../../jsonrpc/splice-parts.js'
import type { HttpTimer } from './clock.js'
import { endWith, endWithParts } from '../end-with.js'
import type { Refusal } from './refusal.js'

/** Header fields, names and values in turn: Node takes a list as it is, and would copy an object several times. */
export type Fields = readonly string[]

const none: Fields = []
const noStore: Fields = ['cache-control', 'no-store', 'x-content-type-options', 'nosniff']

export function sendJson(
  response: ServerResponse,
  status: number,
  body: string | Uint8Array | WireParts,
  fields: Fields = none,
): void {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  response.writeHead(status, jsonHead(bytes.length, fields))
  if (response.req.method === 'HEAD') response.end()
  else if (bytes instanceof WireParts) endWithParts(response, bytes.parts)
  else endWith(response, bytes)
}

export function sendEmpty(response: ServerResponse, status: number, fields: Fields = none): void {
  response.writeHead(status, ['content-length', '0', ...fields])
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
  const fields = Object.entries(headers).flat()
  if (request.complete || !hasBody(request)) return sendJson(response, status, text, fields)
  response.writeHead(status, jsonHead(text.length, ['connection', 'close', ...fields]))
  response.write(text)
  const timer = linger(() => response.destroy())
  response.once('close', () => timer.cancel())
  request.once('end', () => response.end())
  request.resume()
}

function jsonHead(bytes: number, fields: Fields): string[] {
  return ['content-type', 'application/json', 'content-length', String(bytes), ...noStore, ...fields]
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}
