// Every forwarded message is made here: spliced, kept on one line, and shown to the tap.

import { TransportError } from './errors.js'
import type { Frame } from './frame.js'
import type { Line } from './line.js'
import { hasLineBreaks, lineBreakEdits, toOneLine } from './line-safe.js'
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
    if (this.#tap !== undefined) return this.#tapped(frame.line, edits, frame.multiline)
    if (frame.multiline) return spliced(toOneLine(frame.line), edits)
    const long = frame.kind === 'result' || frame.kind === 'request' ? frame.long : undefined
    if (long !== undefined) return spliceParts(long.head, long.last, inOrder(edits))
    return spliced(frame.line, edits)
  }

  /** One item of a list. */
  item(line: Line, edits: readonly Edit[]): WireBytes {
    const hasBreaks = hasLineBreaks(line)
    if (this.#tap !== undefined) return this.#tapped(line, edits, hasBreaks)
    return splice(hasBreaks ? toOneLine(line) : line, inOrder(edits))
  }

  #tapped(line: Line, edits: readonly Edit[], hasBreaks: boolean): WireBytes {
    const all = hasBreaks ? lineBreakEdits(line, edits) : inOrder(edits)
    const output = splice(line, all)
    try {
      this.#tap?.(line, all, output)
    } catch (error) {
      this.#fail(new TransportError('TRANSPORT_TAP', 'the forward tap failed', { cause: error }))
    }
    return output
  }
}

function spliced(line: Line, edits: readonly Edit[]): Outgoing {
  if (edits.length === 0) return splice(line, edits)
  return line.length > COPIED_BYTES_MAX
    ? spliceParts([], line, inOrder(edits))
    : new SplicedLine(line, inOrder(edits))
}
