// Texts with some characters replaced.

import { type Arbitrary, array, constantFrom, nat, oneof, record } from 'fast-check'

/** Syntax of HTTP messages, whole and in pieces. */
export const httpScraps: readonly string[] = [
  ...'\r\n\0\t :;,"05fx+-/.\x0b\x0c\x7f\x80\xff'.split(''),
  '\r\n',
  '\r\n\r\n',
  '\n\n',
  'chunked',
  'identity',
  'Content-Length: 5\r\n',
  'content-length: 0\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Transfer-Encoding: gzip\r\n',
  'Upgrade: h2c\r\nConnection: upgrade\r\n',
  'Connection: close\r\n',
  'HTTP/1.0',
  '\\',
  '0\r\n\r\n',
]

export interface Spoiling {
  readonly at: number
  /** The number of removed characters. */
  readonly away: number
  /** The text in their place. */
  readonly scrap: string
}

export function spoilingsWith(scraps: readonly string[]): Arbitrary<Spoiling[]> {
  return array(
    record({ at: nat(), away: oneof(constantFrom(0, 0, 1), nat(4)), scrap: constantFrom('', ...scraps) }),
    { maxLength: 3 },
  )
}

export function spoil(text: string, spoilings: readonly Spoiling[]): string {
  return spoilings.reduce((before, { at, away, scrap }) => {
    const place = at % (before.length + 1)
    return before.slice(0, place) + scrap + before.slice(place + away)
  }, text)
}
