/**
 * How long a connection is silent before TCP asks whether the other side is still there.
 *
 * A gateway between the two may forget a silent connection without telling either; without the question a stream of
 * events would wait on it for ever.
 */
export const TCP_KEEP_ALIVE_MS = 30_000
