// The edit that every forwarded request and answer may need.

import { Buffer } from 'node:buffer'
import type { RequestId } from './request-id.js'
import type { Span } from './scan.js'
import type { Edit } from './splice.js'

/** `edits`, and one that gives the message this id; a message without an id gets none. */
export function withId(edits: readonly Edit[], idSpan: Span | undefined, id: RequestId): readonly Edit[] {
  if (idSpan === undefined) return edits
  const edit: Edit = { start: idSpan.start, end: idSpan.end, bytes: Buffer.from(id), why: 'id' }
  return edits.length === 0 ? [edit] : [...edits, edit]
}
