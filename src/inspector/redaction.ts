// Takes secrets out of messages: those of the configuration, and values of members that are named like secrets.
//
// Messages are read as Latin-1, one character a byte, so that a range of the text is a range of the bytes. Secrets are
// looked for in the same form.

import { Buffer } from 'node:buffer'
import type { Span } from '../jsonrpc/scan.js'
import { REDACTED, Redactor } from '../text/redactor.js'
import { secretMemberRanges } from '../text/secret-names.js'

/** Finds and replaces secrets in messages. */
export class MessageRedactor {
  /** Undefined where nothing is taken out. */
  readonly #secrets: Redactor | undefined

  constructor(isOn: boolean) {
    this.#secrets = isOn ? new Redactor() : undefined
  }

  get isOn(): boolean {
    return this.#secrets !== undefined
  }

  /** Those of the configuration. */
  addSecrets(values: Iterable<string>): void {
    this.#secrets?.keep(...bothForms(values))
  }

  /** Those that servers hand out, of which the oldest are forgotten for newer ones. */
  learnSecrets(values: Iterable<string>): void {
    this.#secrets?.add(...bothForms(values))
  }

  cleanText(text: string): string {
    return this.clean(Buffer.from(text), false).toString('utf8')
  }

  /** The places of secrets, in order and without overlaps; `isCut` says that the end of the message is missing. */
  ranges(bytes: Buffer, isCut: boolean): Span[] {
    return this.#secrets === undefined ? [] : rangesOf(bytes.toString('latin1'), this.#secrets, isCut)
  }

  /** The bytes without secrets; the same bytes where there are none. */
  clean(bytes: Buffer, isCut: boolean): Buffer {
    const ranges = this.ranges(bytes, isCut)
    if (ranges.length === 0) return bytes
    const pieces: Buffer[] = []
    let from = 0
    for (const { start, end } of ranges) {
      pieces.push(bytes.subarray(from, start), replacementOf(bytes, start))
      from = end
    }
    return Buffer.concat([...pieces, bytes.subarray(from)])
  }
}

/** A number becomes a string, so that JSON stays JSON. */
export function replacementOf(bytes: Buffer, start: number): Buffer {
  const isValue = /[:\s]/.test(String.fromCharCode(bytes[start - 1] ?? 0))
  return isValue && isDigit(bytes[start]) ? Buffer.from(`"${REDACTED}"`) : Buffer.from(REDACTED)
}

function isDigit(byte = 0): boolean {
  return (byte >= 0x30 && byte <= 0x39) || byte === 0x2d
}

function bothForms(values: Iterable<string>): string[] {
  return [...values].flatMap((value) => [value, latin1(value)])
}

function latin1(text: string): string {
  return Buffer.from(text).toString('latin1')
}

function rangesOf(text: string, secrets: Redactor, isCut: boolean): Span[] {
  const members = secretMemberRanges(text).filter(({ start, end }) => text.slice(start, end) !== 'null')
  return merged([...secrets.ranges(text, isCut), ...members])
}

function merged(ranges: readonly Span[]): Span[] {
  const found: Span[] = []
  for (const { start, end } of ranges.toSorted((a, b) => a.start - b.start)) {
    const last = found.at(-1)
    if (last === undefined || start > last.end) found.push({ start, end })
    else if (end > last.end) found[found.length - 1] = { start: last.start, end }
  }
  return found
}
