// Reading the next message of somebody who has said nearly the same before.
//
// Between two calls of one tool a client changes the id and the arguments, and
// between two answers a server changes the id and the result; every other byte is
// what it was. So the bytes of one message are kept without these two, and a
// message that has the same bytes in the same places is known to be in order but
// for its id and its value, which alone are read anew. Whatever differs is read as
// a whole.

import { FrameError } from './errors.js'
import { FamiliarShape } from './familiar-shape.js'
import { type Frame, readFrame } from './frame.js'
import { type FrameLimits, defaultFrameLimits } from './frame-limits.js'
import type { Line } from './line.js'

/** After so many messages of other shapes, one of them is kept in place of the last. */
const STRANGERS_MAX = 4

/** Reads the messages of one connection. */
export class FamiliarFrames {
  readonly #limits: FrameLimits
  #shape: FamiliarShape | undefined
  #strangers = STRANGERS_MAX

  constructor(limits: FrameLimits = defaultFrameLimits) {
    this.#limits = limits
  }

  /** What `readFrame` reads, or why it refuses. */
  read(line: Line): Frame | FrameError {
    try {
      return this.#shape?.read(line, this.#limits.depthMax) ?? this.#readWhole(line)
    } catch (error) {
      if (error instanceof FrameError) return error
      throw error
    }
  }

  #readWhole(line: Line): Frame {
    const frame = readFrame(line, this.#limits)
    if (this.#strangers < STRANGERS_MAX) this.#strangers++
    else {
      this.#shape = FamiliarShape.of(frame) ?? this.#shape
      this.#strangers = 1
    }
    return frame
  }
}
