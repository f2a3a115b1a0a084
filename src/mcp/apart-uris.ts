// Keeps `ui://` and `skill://` addresses of different servers apart.
//
// A server makes such an address up for itself, so two servers may list one address for different things (MCP Apps,
// SEP-1865; Skills, SEP-2640). Clients see the address of the later server with the name of that server in it.

import { type Edit, inOrder } from '../jsonrpc/splice.js'
import type { Span } from '../jsonrpc/scan.js'
import { quote } from '../jsonrpc/text.js'

const schemes = ['ui://', 'skill://'] as const

/** The members whose text is an address: of a resource or link, or of a tool's app in either spelling. */
const addressed = ['"uri"', '"resourceUri"', '"ui/resourceUri"', String.raw`"ui\/resourceUri"`]

/** Maps addresses of one server to the addresses that clients see instead. */
export type ApartUris = ReadonlyMap<string, string>

export function isSameApart(one: ApartUris | undefined, other: ApartUris | undefined): boolean {
  if (one === undefined || other === undefined) return one === other
  return one.size === other.size && [...one].every(([own, shown]) => other.get(own) === shown)
}

/** The address that clients see for the `uri` of a later server; undefined if `uri` has one meaning. */
export function apartUri(service: string, uri: string): string | undefined {
  const scheme = schemes.find((each) => uri.startsWith(each))
  return scheme && `${scheme}${encodeURIComponent(service)}/${uri.slice(scheme.length)}`
}

/** The edits that replace these addresses in the address members of `bytes`, within `span`. */
export function apartUriEdits(bytes: Buffer, span: Span, uris: ApartUris): readonly Edit[] {
  const edits: Edit[] = []
  for (const [own, shown] of uris) {
    const written = quote(own)
    // Some encoders escape every slash.
    for (const text of [written, written.replaceAll('/', String.raw`\/`)])
      for (
        let at = bytes.indexOf(text, span.start);
        at >= 0 && at < span.end;
        at = bytes.indexOf(text, at + 1)
      )
        if (isAddress(bytes, at))
          edits.push({ start: at, end: at + text.length, bytes: Buffer.from(quote(shown)), why: 'uri' })
  }
  return inOrder(edits)
}

function isAddress(bytes: Buffer, at: number): boolean {
  const before = bytes.toString('latin1', Math.max(0, at - LOOK_BACK), at).trimEnd()
  if (!before.endsWith(':')) return false
  const key = before.slice(0, -1).trimEnd()
  return addressed.some((name) => key.endsWith(name))
}

/** How many bytes before an address are searched for the name of its member and the colon. */
const LOOK_BACK = 64
