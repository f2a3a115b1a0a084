// Reading messages that came whole, in a body or an event.

import { FrameError } from '../jsonrpc/errors.js'
import { FamiliarFrames } from '../jsonrpc/familiar-frames.js'
import type { FrameLimits } from '../jsonrpc/frame-limits.js'
import type { Frame } from '../jsonrpc/frame.js'
import type { Line } from '../jsonrpc/line.js'
import { readLongFrame } from '../jsonrpc/long-frame.js'
import { LONG_BYTES_MIN, LongLines } from './long-lines.js'

/** Reads the messages of one place: long ones by their strings, the others by what was read before. */
export class MessageReader {
  readonly #limits: FrameLimits
  readonly #longLines = new LongLines()
  readonly #frames: FamiliarFrames

  constructor(limits: FrameLimits) {
    this.#limits = limits
    this.#frames = new FamiliarFrames(limits)
  }

  /** @throws FrameError when the line is not one acceptable message */
  read(line: Line): Frame {
    const long = line.length < LONG_BYTES_MIN ? undefined : this.#longLines.whole(line)
    const frame = (long && readLongFrame(long, this.#limits)) ?? this.#frames.read(line)
    if (frame instanceof FrameError) throw frame
    return frame
  }
}
