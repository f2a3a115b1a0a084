// Reads, writes and compares JSON strings as bytes and as text.

import { QUOTE } from './ascii.js'
import { overwriteBreaks } from './line.js'
import type { Span } from './scan.js'

/** The text of the JSON string at `span`, which includes its quotes; undefined if the value is no string. */
export function stringAt(bytes: Buffer, span: Span | undefined): string | undefined {
  if (span === undefined || bytes[span.start] !== QUOTE) return undefined
  const inner = bytes.toString('utf8', span.start + 1, span.end - 1)
  if (!inner.includes('\\')) return inner
  const value: unknown = JSON.parse(`"${inner}"`)
  return typeof value === 'string' ? value : undefined
}

/** Whether the string from `start` to `end`, quotes included, spells `name` byte for byte; `name` is ASCII. */
export function isKey(bytes: Buffer, start: number, end: number, name: string): boolean {
  if (end - start !== name.length + 2) return false
  for (let i = 0; i < name.length; i++) {
    if (bytes[start + 1 + i] !== name.charCodeAt(i)) return false
  }
  return true
}

export function rawAt(bytes: Buffer, span: Span): string {
  return bytes.toString('utf8', span.start, span.end)
}

/** For the few characters of an id, a loop costs less than a native call. */
export function bytesOf(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length)
  for (let at = 0; at < text.length; at++) {
    const c = text.charCodeAt(at)
    if (c > 0x7f) return Buffer.from(text)
    bytes[at] = c
  }
  return bytes
}

/** The same JSON text without line breaks between tokens. A pattern would allocate an object for each break. */
export function onOneLine(json: string): string {
  if (!json.includes('\n') && !json.includes('\r')) return json
  const bytes = Buffer.from(json)
  overwriteBreaks(bytes)
  return bytes.toString('utf8')
}

export function quote(text: string): string {
  return JSON.stringify(text)
}

/** Parses JSON text of this process or its configuration, or of a short member that the proxy must read. */
export function parse(text: string): unknown {
  return JSON.parse(text)
}

export function write(value: unknown): string {
  return JSON.stringify(value)
}

export function writeIndented(value: unknown): string {
  return JSON.stringify(value, undefined, 2)
}
