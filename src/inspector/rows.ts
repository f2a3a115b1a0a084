// Captured frames as rows, each with the edits that made it.

import { Buffer } from 'node:buffer'
import { splice } from '../jsonrpc/splice.js'
import { toLine } from '../jsonrpc/line.js'
import { KEPT_BYTES_MAX } from './capture.js'
import { factsOf, isCut, messageOf, textOf } from './frame-facts.js'
import type { FrameRow } from './protocol.js'
import type { MessageRedactor } from './redaction.js'
import type { CapturedForward, CapturedFrame, Ring } from './ring.js'

/** Most forwarded messages of one connection whose output has not been found; items of lists never leave by themselves. */
const PENDING_MAX = 1000

/** Reads the ring once for all viewers, and finds the edits of each frame. */
export class Rows {
  readonly #ring: Ring
  readonly #redactor: MessageRedactor
  /** Forwarded messages that may still leave, by connection. */
  readonly #pending = new Map<number, CapturedForward[]>()
  #at: number

  constructor(ring: Ring, redactor: MessageRedactor) {
    this.#ring = ring
    this.#redactor = redactor
    this.#at = ring.next
  }

  /** Reads what has been captured since the last time. */
  update(): void {
    this.#at = Math.max(this.#at, this.#ring.first)
    for (; this.#at < this.#ring.next; this.#at++) {
      const entry = this.#ring.get(this.#at)
      if (entry?.kind === 'forward') this.#expect(entry)
      else if (entry?.direction === 'out') this.#match(entry)
    }
  }

  rowOf(frame: CapturedFrame): FrameRow {
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

  clear(): void {
    this.#pending.clear()
    this.#at = this.#ring.next
  }

  #expect(forward: CapturedForward): void {
    const { connection } = forward.to
    const pending = this.#pending.get(connection) ?? []
    this.#pending.set(connection, pending)
    if (pending.push(forward) > PENDING_MAX) pending.shift()
    // Connections over HTTP may be many, and each end without a word here.
    if (this.#pending.size > PENDING_MAX) this.#pending.delete([...this.#pending.keys()][0] ?? connection)
  }

  #match(frame: CapturedFrame): void {
    const pending = this.#pending.get(frame.hop.connection)
    const message = messageOf(frame)
    const at = pending?.findIndex((forward) => makes(forward, frame, message)) ?? -1
    if (pending === undefined || at < 0) return
    const [made] = pending.splice(at, 1)
    if (made !== undefined) frame.made = made
    if (pending.length === 0) this.#pending.delete(frame.hop.connection)
  }
}

/** Whether the frame is the output of the forwarded message, as far as both are kept. */
function makes(forward: CapturedForward, frame: CapturedFrame, message: Buffer): boolean {
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
