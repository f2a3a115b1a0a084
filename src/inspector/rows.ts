// Makes the row of a captured frame, with the reasons of its edits.

import { Buffer } from 'node:buffer'
import { isCut, messageOf, shownText, summaryOf } from './frame-facts.js'
import type { FrameRow } from './protocol.js'
import type { MessageRedactor } from './redaction.js'
import type { CapturedFrame, Ring } from './ring.js'

export function rowOf(frame: CapturedFrame, ring: Ring, redactor: MessageRedactor): FrameRow {
  const { n, at, direction: dir, hop, size } = frame
  const message = messageOf(frame)
  const edits = [...new Set(ring.editsOf(frame, message).map(({ why }) => why))]
  const {
    facts: { name, ...facts },
    content,
  } = summaryOf(frame)
  const clean = (bytes: Buffer, isCut: boolean): Buffer => redactor.clean(bytes, isCut)
  return {
    n,
    at: Math.round(at * 1000) / 1000,
    hop: hop.hop,
    ...(hop.service !== undefined && { service: hop.service }),
    schema: hop.schema,
    conn: hop.connection,
    dir,
    ...facts,
    ...(name !== undefined && { name: shownText(Buffer.from(name), clean) }),
    bytes: size,
    ...(isCut(frame) && { cut: true }),
    ...(edits.length > 0 && { edits }),
    text: shownText(content === undefined ? message : message.subarray(content.start, content.end), clean),
  }
}
