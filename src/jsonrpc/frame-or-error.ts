// Reads a message and returns the error instead of throwing it, where invalid input is common.

import { FrameError } from './errors.js'
import { type Frame, readFrame } from './frame.js'
import type { FrameLimits } from './frame-limits.js'
import type { Line } from './line.js'

/** Reads one message, or says why it cannot be read. */
export function frameOrError(line: Line, limits?: FrameLimits): Frame | FrameError {
  try {
    return readFrame(line, limits)
  } catch (error) {
    if (error instanceof FrameError) return error
    throw error
  }
}
