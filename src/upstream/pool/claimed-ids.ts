// The requests that an unacceptable message would have answered.

import type { FrameError } from '../../jsonrpc/errors.js'
import { IdFinder } from '../../jsonrpc/id-finder.js'
import type { RequestId } from '../../jsonrpc/request-id.js'

/** The ids that it claims to answer; with two it is the answer of neither. */
export function claimedIds(error: FrameError, line: Uint8Array): readonly RequestId[] {
  // A line of a log may be JSON too, and may well have an `id`.
  if (error.unreadable || !Buffer.from(line.buffer, line.byteOffset, line.length).includes('"jsonrpc"')) {
    return []
  }
  const finder = new IdFinder()
  finder.push(line)
  // The id of a question is the server's own, and no call of ours.
  return finder.isCall ? [] : finder.claims
}
