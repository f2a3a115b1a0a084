// Captured frames as rows, each with the edits that made it.

import { Buffer } from 'node:buffer'
import { splice } from '../jsonrpc/splice.js'
import { toLine } from '../jsonrpc/line.js'
import { KEPT_BYTES_MAX } from './capture.js'
import { factsOf, isCut, messageOf, textOf } from './frame-facts.js'
import type { FrameRow } from './protocol.js'
import type { MessageRedactor } from './redaction.js'
import type { CapturedForward, CapturedFrame, Ring } from './ring.js'

/** So many entries before a frame are searched for the edits that made it: as many as wait to be written together. */
const SEARCHED_MAX = 500

/** Makes rows of frames. */
export class Rows {
  readonly #ring: Ring
  readonly #redactor: MessageRedactor

  constructor(ring: Ring, redactor: MessageRedactor) {
    this.#ring = ring
    this.#redactor = redactor
  }

  /** Finds the edits of a frame that left, once. */
  link(frame: CapturedFrame): void {
    if (frame.direction === 'in' || frame.made !== undefined) return
    const message = messageOf(frame)
    for (let n = frame.n - 1; n >= frame.n - SEARCHED_MAX; n--) {
      const entry = this.#ring.get(n)
      if (entry === undefined) return
      if (entry.kind !== 'forward' || !makes(entry, frame, message)) continue
      frame.made = entry
      return
    }
  }

  rowOf(frame: CapturedFrame): FrameRow {
    this.link(frame)
    const { n, at, direction: dir, hop, size, made } = frame
    const message = messageOf(frame)
    const edits = [...new Set(made?.edits.map(({ why }) => why))]
    const { name, ...facts } = factsOf(frame)
    const clean = (bytes: Buffer, isCut: boolean): Buffer => this.#redactor.clean(bytes, isCut)
    return {
      n,
      at: Math.round(at * 1000) / 1000,
      hop: hop.hop,
      ...(hop.service !== undefined && { service: hop.service }),
      schema: hop.schema,
      conn: hop.connection,
      dir,
      ...facts,
      ...(name !== undefined && { name: textOf(Buffer.from(name), clean) }),
      bytes: size,
      ...(isCut(frame) && { cut: true }),
      ...(edits.length > 0 && { edits }),
      text: textOf(message, clean),
    }
  }
}

/** Whether the frame is the output of the forwarded message, as far as both are kept. */
function makes(forward: CapturedForward, frame: CapturedFrame, message: Buffer): boolean {
  if (forward.to.connection !== frame.hop.connection) return false
  const size = isCut(frame) ? frame.size : message.length
  // The size of a line that was cut counts its line end.
  if (forward.outputSize !== size && !(isCut(frame) && forward.outputSize + 1 === size)) return false
  const output = outputOf(forward)
  const length = Math.min(output.length, message.length)
  return output.compare(message, 0, length, 0, length) === 0
}

/** The beginning of the output, from what is kept of the input. */
function outputOf({ bytes, edits }: CapturedForward): Buffer {
  const within = edits.filter(({ end }) => end <= bytes.length)
  const output = bytes.length === 0 ? bytes : splice(toLine(bytes), within)
  // Behind an edit that was left out nothing can be compared.
  const left = edits.find(({ end }) => end > bytes.length)
  const growth = within.reduce((sum, edit) => sum + edit.bytes.length - (edit.end - edit.start), 0)
  return output.subarray(0, Math.min(KEPT_BYTES_MAX, left === undefined ? Infinity : left.start + growth))
}
