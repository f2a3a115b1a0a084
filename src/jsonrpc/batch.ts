// A batch: an array of messages on one line (JSON-RPC 2.0 section 6).

import { OPEN_ARRAY, isSpace } from './ascii.js'
import { FrameError } from './jsonrpc-errors.js'
import { type FrameLimits, defaultFrameLimits } from './frame.js'
import { type Line, toLine } from './line.js'
import { itemsAt } from './members.js'
import { scanText } from './scan.js'

/** How many messages one batch may hold. */
const BATCH_MAX = 100

/** Whether the first byte that is not white space opens an array: a batch of messages. */
export function isBatch(line: Uint8Array): boolean {
  for (const c of line) {
    if (!isSpace(c)) return c === OPEN_ARRAY
  }
  return false
}

/** Whether a line has white space alone: a person who presses a key, and no message. */
export function isBlank(line: Uint8Array): boolean {
  return line.every(isSpace)
}

/**
 * The messages of a batch, each as a separate line.
 *
 * @throws FrameError when the line is not JSON, is empty, or holds more messages than allowed
 */
export function splitBatch(line: Line, limits: FrameLimits = defaultFrameLimits): Line[] {
  const span = scanText(line, limits.depthMax)
  const items = itemsAt(line, span, BATCH_MAX)
  if (items.length === 0) throw new FrameError('FRAME_ENVELOPE', 'a batch is not empty', span.start)
  if (items.length > BATCH_MAX) {
    throw new FrameError('FRAME_TOO_LARGE', `a batch holds at most ${BATCH_MAX} messages`, span.start)
  }
  return items.map((item) => toLine(line.subarray(item.start, item.end)))
}
