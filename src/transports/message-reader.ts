// Reading messages that came whole, in a body or an event.

import { type FrameLimits, type Frame, readFrame } from '../jsonrpc/frame.js'
import type { Line } from '../jsonrpc/line.js'
import { readLongFrame } from '../jsonrpc/fast/long-frame.js'
import { LONG_BYTES_MIN, LongLines } from './long-lines.js'

/** Reads the messages of one place, long ones by their strings. */
export class MessageReader {
  readonly #limits: FrameLimits
  readonly #longLines = new LongLines()

  constructor(limits: FrameLimits) {
    this.#limits = limits
  }

  /** @throws FrameError when the line is not one acceptable message */
  read(line: Line): Frame {
    const long = line.length < LONG_BYTES_MIN ? undefined : this.#longLines.whole(line)
    return (long && readLongFrame(long, this.#limits)) ?? readFrame(line, this.#limits)
  }
}
