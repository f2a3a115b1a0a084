// The body of a request as one message, never larger than allowed, whatever its header says.

import type { Buffer } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { CR, LF } from '../../jsonrpc/ascii.js'
import { type Line, joinLine, lineAt } from '../../jsonrpc/line.js'

export type Body =
  | { readonly kind: 'line'; readonly line: Line }
  | { readonly kind: 'too-large' }
  /** The client went away before the end. */
  | { readonly kind: 'gone' }

/** Reads a body; one that is too large is left where it is. `declared` is its `Content-Length`. */
export function readBody(
  request: IncomingMessage,
  declared: string | undefined,
  bytesMax: number,
): Promise<Body> {
  if (Number(declared ?? 0) > bytesMax) return Promise.resolve({ kind: 'too-large' })
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let bytes = 0
    const take = (chunk: Buffer): void => {
      bytes += chunk.length
      chunks.push(chunk)
      if (bytes > bytesMax) done({ kind: 'too-large' })
    }
    const done = (body: Body): void => {
      request.off('data', take)
      resolve(body)
    }
    request.on('data', take)
    request.once('end', () => done({ kind: 'line', line: trimmed(joinLine(chunks, bytes)) }))
    request.once('close', () => done({ kind: 'gone' }))
  })
}

/** A line end behind the message is no part of it; the line feed behind a line in memory of its own may move up. */
function trimmed(line: Line): Line {
  let end = line.length
  while (end > 0 && (line[end - 1] === LF || line[end - 1] === CR)) end--
  if (end === line.length) return line
  line[end] = LF
  return lineAt(line, 0, end)
}
