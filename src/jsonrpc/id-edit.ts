// The edits by which a message leaves with another id or token than it came with.

import { Buffer } from 'node:buffer'
import type { RequestId } from './request-id.js'
import type { Span } from './scan.js'
import { type Edit, type EditReason, bothEdits } from './splice.js'
import { rawAt } from './text.js'

/** `edits`, and one that gives the message this id; a message without an id gets none. */
export function withId(edits: readonly Edit[], idSpan: Span | undefined, id: RequestId): readonly Edit[] {
  if (idSpan === undefined) return edits
  const edit: Edit = { start: idSpan.start, end: idSpan.end, bytes: Buffer.from(id), why: 'id' }
  return bothEdits(edits, [edit])
}

/** The edit that writes `text` at `span`; none where it stands there already. */
export function writing(bytes: Buffer, span: Span, text: string, why: EditReason): readonly Edit[] {
  if (rawAt(bytes, span) === text) return []
  return [{ start: span.start, end: span.end, bytes: Buffer.from(text), why }]
}
