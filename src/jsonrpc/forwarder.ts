// Every forwarded message is made here: spliced, kept on one line, and shown to the tap.

import { TransportError } from './errors.js'
import type { Frame } from './frame.js'
import type { Line } from './line.js'
import { hasLineBreaks, lineSafe } from './line-safe.js'
import { type Outgoing, spliceParts } from './fast/splice-parts.js'
import { type Edit, SplicedLine, type WireBytes, inOrder, splice } from './splice.js'

/** A longer message is not copied for an edit or two. */
const COPIED_BYTES_MAX = 16 * 1024

type ForwardTap = (input: Uint8Array, edits: readonly Edit[], output: Uint8Array) => void

/** Splices what passes; `fail` hears of a tap that throws, and must then let nothing pass. */
export class Forwarder {
  readonly #tap: ForwardTap | undefined
  readonly #fail: (cause: TransportError) => void

  constructor(tap: ForwardTap | undefined, fail: (cause: TransportError) => void) {
    this.#tap = tap
    this.#fail = fail
  }

  message(frame: Frame, edits: readonly Edit[]): Outgoing {
    if (this.#tap !== undefined || frame.multiline)
      return this.#spliced(frame.line, frame.multiline ? lineSafe(frame.line, edits) : edits)
    const long = frame.kind === 'result' || frame.kind === 'request' ? frame.long : undefined
    if (long !== undefined) return spliceParts(long.head, long.last, inOrder(edits), long.memory)
    const { line } = frame
    if (edits.length === 0) return splice(line, edits)
    return line.length > COPIED_BYTES_MAX
      ? spliceParts([], line, inOrder(edits))
      : new SplicedLine(line, inOrder(edits))
  }

  /** One item of a list. */
  item(line: Line, edits: readonly Edit[]): WireBytes {
    return this.#spliced(line, hasLineBreaks(line) ? lineSafe(line, edits) : edits)
  }

  #spliced(line: Line, edits: readonly Edit[]): WireBytes {
    const ordered = inOrder(edits)
    const output = splice(line, ordered)
    try {
      this.#tap?.(line, ordered, output)
    } catch (error) {
      this.#fail(new TransportError('TRANSPORT_TAP', 'the forward tap failed', { cause: error }))
    }
    return output
  }
}
