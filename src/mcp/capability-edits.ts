// Capabilities that the proxy cannot carry, cut out of a handshake that passes through.

import { membersAt } from '../jsonrpc/members.js'
import type { Span } from '../jsonrpc/scan.js'
import type { Edit } from '../jsonrpc/splice.js'
import { notRelayed } from './capabilities.js'

const NOTHING = new Uint8Array()

/** The edits that remove them from the capabilities object at `span`, which may be missing; `bytes` is a whole message. */
export function capabilityEdits(bytes: Buffer, span: Span | undefined): readonly Edit[] {
  const members = [...(membersAt(bytes, span) ?? [])]
  const edits: Edit[] = []
  let keptEnd: number | undefined
  for (const [index, { key, value }] of members.entries()) {
    if (!notRelayed.has(bytes.toString('utf8', key.start + 1, key.end - 1))) {
      keptEnd = value.end
      continue
    }
    // With the comma before it, or the one behind it where nothing is kept before.
    const before = members[index - 1]
    const start = keptEnd === undefined || before === undefined ? key.start : before.value.end
    const end = keptEnd === undefined ? (members[index + 1]?.key.start ?? value.end) : value.end
    edits.push({ start, end, bytes: NOTHING, why: 'capability' })
  }
  return edits
}
