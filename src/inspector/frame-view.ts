// Shows one frame on the page: its input and its output, cut into segments at each edit and each secret.

import { Buffer, isUtf8 } from 'node:buffer'
import { recordHead, recordLine, recordMessage } from '../record/line.js'
import type { Span } from '../jsonrpc/scan.js'
import { isCut, messageOf } from './frame-facts.js'
import { type KeptEdit, inputOf, outputsOf } from './kept-edits.js'
import type { FrameView, MessageSide, Segment } from './protocol.js'
import { type MessageRedactor, replacementOf } from './redaction.js'
import type { CapturedFrame, Ring } from './ring.js'
import { rowOf } from './rows.js'

/** How many frames the search for the frame on the other hop reads. */
const SEARCHED_MAX = 5000

interface Stretch extends Span {
  readonly why: string
}

export function frameView(frame: CapturedFrame, ring: Ring, redactor: MessageRedactor): FrameView {
  const other = otherOf(frame, ring)
  const [came, left] = frame.direction === 'in' ? [frame, other] : [other, frame]
  const edits = left === undefined ? [] : ring.editsOf(left, messageOf(left))
  const marks =
    left !== undefined && edits.length === 0 ? ring.itemEditsOf(left, messageOf(left)) : outputsOf(edits)
  return {
    row: rowOf(frame, ring, redactor),
    ...(came !== undefined && { input: sideOf({ ...came.hop, ...kept(came) }, edits, redactor) }),
    // The ring may have dropped the incoming frame, and still have the outgoing one with its edits.
    ...(came === undefined &&
      left !== undefined &&
      edits.length > 0 && { input: sideOf(inputFacts(left, edits), edits, redactor) }),
    ...(left !== undefined && {
      output: sideOf({ ...left.hop, ...kept(left) }, marks, redactor),
    }),
    fixture: lineOf(frame, redactor).toString('utf8').trimEnd(),
    ...(other === undefined
      ? frame.n - ring.first < SEARCHED_MAX && ring.first > 1 && { isOldest: true }
      : { other: other.n }),
  }
}

function kept(frame: CapturedFrame): Pick<SideFacts, 'bytes' | 'size' | 'isCut'> {
  return { bytes: messageOf(frame), size: frame.size, isCut: isCut(frame) }
}

function inputFacts(left: CapturedFrame, edits: readonly KeptEdit[]): SideFacts {
  const bytes = inputOf(messageOf(left), edits)
  const growth = edits.reduce((sum, { start, end, length }) => sum + length - (end - start), 0)
  return { bytes, size: left.size - growth, isCut: isCut(left) }
}

/** Returns the line of a recording, without secrets. */
export function lineOf(frame: CapturedFrame, redactor: MessageRedactor): Buffer {
  const { hop, direction, whole, at, bytes } = frame
  const head = recordHead({ ...hop, direction, whole }, at)
  const clean = redactor.clean(bytes, isCut(frame))
  return Buffer.concat(whole ? recordMessage(head, withFeed(clean)) : recordLine(head, clean))
}

/** `recordMessage` removes one line feed, and not every transport sends one behind a whole message. */
function withFeed(bytes: Buffer): Buffer {
  return bytes.at(-1) === 0x0a ? bytes : Buffer.concat([bytes, Buffer.from('\n')])
}

interface SideFacts {
  readonly hop?: 'client' | 'upstream'
  readonly service?: string | undefined
  readonly connection?: number
  readonly bytes: Buffer
  readonly size: number
  readonly isCut: boolean
}

function sideOf(facts: SideFacts, edits: readonly Stretch[], redactor: MessageRedactor): MessageSide {
  const { hop, service, connection, bytes, size, isCut: cut } = facts
  const secrets = redactor.ranges(bytes, cut)
  const isText = isUtf8(bytes) || (cut && isUtf8(withoutCutCharacter(bytes)))
  return {
    ...(hop !== undefined && { hop }),
    ...(service !== undefined && { service }),
    ...(connection !== undefined && { conn: connection }),
    ...(isText && { segments: segmentsOf(bytes, edits, secrets) }),
    ...(secrets.length === 0 && { base64: bytes.toString('base64') }),
    bytes: size,
    keptBytes: bytes.length,
  }
}

function withoutCutCharacter(bytes: Buffer): Buffer {
  let end = bytes.length
  while (end > 0 && ((bytes[end - 1] ?? 0) & 0xc0) === 0x80) end--
  return bytes.subarray(0, Math.max(0, end - 1))
}

/** Returns the segments between the edges of all edits and secrets, in order. An empty edit has no segment. */
function segmentsOf(bytes: Buffer, edits: readonly Stretch[], secrets: readonly Span[]): Segment[] {
  const edges = [0, bytes.length, ...[...edits, ...secrets].flatMap(({ start, end }) => [start, end])]
  const places = [...new Set(edges.filter((edge) => edge <= bytes.length))].sort((a, b) => a - b)
  const segments: Segment[] = []
  for (const [index, start] of places.entries()) {
    const end = places[index + 1]
    if (end === undefined) break
    const why = edits.find((edit) => edit.start <= start && end <= edit.end)?.why
    const secret = secrets.find((each) => each.start <= start && end <= each.end)
    // The first segment of a secret shows the replacement, and its other segments are left out.
    if (secret !== undefined && secret.start < start) continue
    const piece = secret === undefined ? bytes.subarray(start, end) : replacementOf(bytes, start)
    segments.push({
      text: piece.toString('utf8'),
      ...(why !== undefined && { why }),
      ...(secret !== undefined && { redacted: true }),
    })
  }
  return segments
}

/** Returns the frame on the other hop that the proxy forwarded as this frame, or this frame as that one. */
function otherOf(frame: CapturedFrame, ring: Ring): CapturedFrame | undefined {
  const isOut = frame.direction === 'out'
  const wanted = inputBytesOf(frame, ring)
  const step = isOut ? -1 : 1
  for (let n = frame.n + step, seen = 0; seen < SEARCHED_MAX; n += step, seen++) {
    const entry = ring.get(n)
    if (entry === undefined) return undefined
    if (entry.hop.hop === frame.hop.hop || entry.direction === frame.direction) continue
    const message = inputBytesOf(entry, ring)
    // The ring has only the beginning of a cut message.
    const areCut = isCut(frame) || isCut(entry)
    const length = areCut ? Math.min(message.length, wanted.length) : undefined
    if (message.subarray(0, length).equals(wanted.subarray(0, length))) return entry
  }
  return undefined
}

/** Returns the message before its edits; without edits, the message itself. */
function inputBytesOf(frame: CapturedFrame, ring: Ring): Buffer {
  const message = messageOf(frame)
  const edits = ring.editsOf(frame, message)
  return edits.length === 0 ? message : inputOf(message, edits)
}
