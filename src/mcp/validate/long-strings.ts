// Long strings made short before arguments are parsed.
//
// Most of a large call is one string, a file or a page, about which the schema
// says no more than `type: string`. Copying and decoding it would cost more than
// all the rest of the call, so a stand-in is parsed in its place. The stand-in
// is itself a long string: no schema that is indifferent between long strings
// (see `shortText`) can tell the two apart.

import { LongValue, type RawValue } from '../../jsonrpc/fast/long-value.js'
import { schemaLimits } from './schema-limits.js'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a

/** Strings of more bytes than this between their quotes are replaced. */
export const LONG_BYTES = 4096

/** What a replaced string has at least: a character may take six bytes as `\uXXXX`, and a code point two of them. */
const STAND_IN = 'x'.repeat(Math.floor(LONG_BYTES / 6))

/** Whether the text was too long to be kept. */
export function isStandIn(text: string): boolean {
  return text === STAND_IN
}

/** A length bound or a constant no longer than this is the same for every long string. */
export const shortText: number = Math.floor(LONG_BYTES / 12)

/** How far to look byte by byte before asking for the next quote: below this a call costs more than the loop. */
const NEAR_BYTES = 64

/** Arguments as text to parse, with their long strings where they are told apart; undefined when that would take too long. */
export function readArguments(json: RawValue, readsLongStrings: boolean): string | undefined {
  const { argumentBytesMax, longArgumentBytesMax } = schemaLimits
  if (json.length > (readsLongStrings ? argumentBytesMax : longArgumentBytesMax)) return undefined
  const strings = readsLongStrings || !(json instanceof LongValue) ? undefined : json.strings
  if (json instanceof LongValue && strings !== undefined)
    return shortenKnownStrings(json, strings, argumentBytesMax)
  const whole = json instanceof LongValue ? json.whole : json
  return readsLongStrings ? whole.toString() : shortenLongStrings(whole, argumentBytesMax)
}

/**
 * `json`, which must be valid, as text with every long string value replaced; member names are kept.
 *
 * Undefined when what is left is longer than `lengthMax` bytes, found out without reading on.
 */
export function shortenLongStrings(json: Buffer, lengthMax: number): string | undefined {
  let text = ''
  let copied = 0
  let open = nextQuote(json, 0)
  while (open < json.length) {
    if (text.length + open - copied > lengthMax) return undefined
    const close = closingQuote(json, open + 1)
    if (close - open - 1 > LONG_BYTES && !isName(json, close)) {
      text += json.toString('utf8', copied, open + 1) + STAND_IN
      copied = close
    }
    open = nextQuote(json, close + 1)
  }
  if (text.length + json.length - copied > lengthMax) return undefined
  return text + json.toString('utf8', copied)
}

/** The same for a value of which somebody knows where all its long strings are; none of them is a name. */
export function shortenKnownStrings(
  json: LongValue,
  strings: readonly number[],
  lengthMax: number,
): string | undefined {
  const read = json.reader()
  let text = ''
  let copied = 0
  for (let i = 0; i < strings.length; i += 2) {
    const open = strings[i] ?? 0
    const close = (strings[i + 1] ?? 0) - 1
    if (text.length + open - copied > lengthMax) return undefined
    if (close - open - 1 <= LONG_BYTES) continue
    text += read(copied, open + 1) + STAND_IN
    copied = close
  }
  if (text.length + json.length - copied > lengthMax) return undefined
  return text + read(copied, json.length)
}

function nextQuote(json: Buffer, from: number): number {
  const near = Math.min(from + NEAR_BYTES, json.length)
  for (let at = from; at < near; at++) if (json[at] === QUOTE) return at
  return indexOfQuote(json, near)
}

/** The quote that ends the string whose text starts at `from`. */
function closingQuote(json: Buffer, from: number): number {
  let at = from
  while (at < json.length) {
    const near = Math.min(at + NEAR_BYTES, json.length)
    for (; at < near; at++) {
      if (json[at] === QUOTE) return at
      if (json[at] === BACKSLASH) at++
    }
    const quote = indexOfQuote(json, at)
    if (!isEscaped(json, at, quote)) return quote
    at = quote + 1
  }
  return json.length
}

function indexOfQuote(json: Buffer, from: number): number {
  const at = from < json.length ? json.indexOf(QUOTE, from) : -1
  return at === -1 ? json.length : at
}

/** Whether the backslashes before `quote` escape it; `from` is not itself escaped. */
function isEscaped(json: Buffer, from: number, quote: number): boolean {
  let at = quote
  while (at > from && json[at - 1] === BACKSLASH) at--
  return (quote - at) % 2 === 1
}

function isName(json: Buffer, close: number): boolean {
  let at = close + 1
  while (isSpace(json[at])) at++
  return json[at] === COLON
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}
