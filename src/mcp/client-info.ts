// The `clientInfo` of `initialize`.

import { membersAt } from '../jsonrpc/members.js'
import type { Span } from '../jsonrpc/scan.js'

/** Longer names are cut: they are shown to people. */
const LENGTH_MAX = 200

export interface ClientInfo {
  readonly name: string | undefined
  readonly version: string | undefined
}

/** Reads the object at `span` of an accepted message. */
export function clientInfo(line: Buffer, span: Span | undefined): ClientInfo | undefined {
  const members = membersAt(line, span)
  if (members === undefined) return undefined
  return { name: shown(members.string('name')), version: shown(members.string('version')) }
}

function shown(text: string | undefined): string | undefined {
  return text?.slice(0, LENGTH_MAX)
}
