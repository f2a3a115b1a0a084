// Readers that have stopped reading.

import type { ServerResponse } from 'node:http'

/**
 * Cuts a response whose client takes nothing of it for `stallMs`, or up to twice as long.
 *
 * Node looks at what the system has taken since the last look, so a reader that is
 * slow but steady goes on for as long as it needs. Silence with nothing unread is none.
 */
export function cutWhenStalled(response: ServerResponse, stallMs: number): void {
  response.setTimeout(stallMs, () => {
    if (response.writableLength > 0) response.destroy()
  })
}
