// A sink that handles some events itself and passes on the others.

import type { Sink } from '../jsonrpc/connection.js'

/** `sink`, with `changes` in its place where they are given. */
export function sinkWith(sink: Sink, changes: Partial<Sink>): Sink {
  return {
    message: (line, during) => sink.message(line, during),
    long: sink.long && ((long, during) => sink.long?.(long, during)),
    frame: sink.frame && ((frame) => sink.frame?.(frame)),
    failed: (id, error) => sink.failed?.(id, error),
    oversize: (id, bytes, isCall) => sink.oversize(id, bytes, isCall),
    missed: () => sink.missed?.(),
    drained: () => sink.drained(),
    ended: () => sink.ended(),
    closed: (cause) => sink.closed(cause),
    wire: sink.wire,
    ...changes,
  }
}
