// Writes a frame as a line of a recording. The line contains the bytes of the frame if the line is then valid JSON.
//
// A whole message with line breaks between its tokens becomes a JSON string, which is as exact, because JSON is
// UTF-8. All other bytes become base64.

import { Buffer } from 'node:buffer'
import { CR, LF } from '../jsonrpc/ascii.js'
import { hasLineBreaks } from '../jsonrpc/line.js'
import type { WireEvent } from '../jsonrpc/wire-tap.js'
import { scanText } from '../jsonrpc/scan.js'

/** One line in pieces, so that a large frame is not copied again. */
export type RecordLine = readonly Buffer[]

const DEPTH_MAX = 1000

/** A larger message with line breaks becomes base64, which needs less memory; people do not read such a message. */
const TEXT_BYTES_MAX = 1024 * 1024

const END = Buffer.from('}\n')

/** Returns the members with the connection and the time; `at` is in milliseconds. */
export function recordHead(
  { hop, service, schema, connection, direction }: Omit<WireEvent, 'at' | 'bytes'>,
  at: number,
): Buffer {
  const named = service === undefined ? '' : `,"service":${JSON.stringify(service)}`
  const of = schema === 'default' ? '' : `,"schema":${JSON.stringify(schema)}`
  const who = `"hop":"${hop}"${named}${of},"conn":${connection},"dir":"${direction}",`
  return Buffer.from(`{"t":${(at / 1000).toFixed(6)},${who}`)
}

/** Writes the bytes of a stream up to a line end, which `raw` includes, or up to the end of the stream. */
export function recordLine(head: Buffer, raw: Buffer): RecordLine {
  const lineEnd = lineEndOf(raw)
  const frame = raw.subarray(0, raw.length - lineEnd.length)
  if (hasLineBreaks(frame) || !isJson(frame)) return [head, base64(raw), END]
  return [head, FRAME, frame, lineEnd === '\n' ? END : Buffer.from(`,"eol":${JSON.stringify(lineEnd)}}\n`)]
}

/** Writes a whole message. A line feed after the message is not part of it. */
export function recordMessage(head: Buffer, bytes: Uint8Array): RecordLine {
  const length = bytes.at(-1) === LF ? bytes.length - 1 : bytes.length
  const message = Buffer.from(bytes.buffer, bytes.byteOffset, length)
  const isFrame = isJson(message)
  if (isFrame && !hasLineBreaks(message)) return [head, FRAME, message, END]
  if (!isFrame || length > TEXT_BYTES_MAX) return [head, WHOLE, base64(message), END]
  return [head, WHOLE, Buffer.from(`"text":${JSON.stringify(message.toString('utf8'))}`), END]
}

const FRAME = Buffer.from('"frame":')
const WHOLE = Buffer.from('"whole":true,')

function base64(bytes: Buffer): Buffer {
  return Buffer.from(`"junk64":"${bytes.toString('base64')}"`, 'latin1')
}

function lineEndOf(raw: Buffer): '' | '\n' | '\r\n' {
  if (raw.at(-1) !== LF) return ''
  return raw.at(-2) === CR ? '\r\n' : '\n'
}

function isJson(frame: Buffer): boolean {
  try {
    scanText(frame, DEPTH_MAX)
    return true
  } catch {
    return false
  }
}
