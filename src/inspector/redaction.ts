// Removes secrets from messages: secrets of the configuration, and values of members with names of secrets.
//
// The redactor reads messages and secrets as Latin-1, so that a range of characters is a range of bytes.

import { Buffer } from 'node:buffer'
import type { Span } from '../jsonrpc/scan.js'
import { REDACTED, Redactor } from '../text/redactor.js'
import { secretMemberRanges } from '../text/secret-names.js'

export class MessageRedactor {
  /** Undefined if redaction is off. */
  readonly #secrets: Redactor | undefined

  constructor(isOn: boolean) {
    this.#secrets = isOn ? new Redactor() : undefined
  }

  /** Adds secrets of the configuration, which the redactor never forgets. */
  addSecrets(values: Iterable<string>): void {
    this.#secrets?.keep(...bothForms(values))
  }

  /** Adds secrets that servers hand out. The redactor forgets the oldest of too many. */
  learnSecrets(values: Iterable<string>): void {
    this.#secrets?.add(...bothForms(values))
  }

  cleanText(text: string): string {
    return this.clean(Buffer.from(text), false).toString('utf8')
  }

  /** Returns the ranges of secrets, sorted and without overlaps. `isCut`: the end of the message is missing. */
  ranges(bytes: Buffer, isCut: boolean): Span[] {
    return this.#secrets === undefined ? [] : rangesOf(bytes.toString('latin1'), this.#secrets, isCut)
  }

  /** Returns a copy without secrets, or the same buffer if it contains no secret. */
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

/** Returns the replacement of the secret at `start`. A number becomes a string, so that JSON stays valid. */
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
