// The listener for the begin and the end of the front's sessions.

/** How a session is spoken. */
export type SessionTransport = 'streamable-http' | 'http+sse'

/** Is called at the begin and at the end of every session. */
export interface SessionWatch {
  /** Gives the number by which its end is told. */
  opened(endpoint: string, transport: SessionTransport): number
  ended(endpoint: string, transport: SessionTransport, session: number, ms: number): void
}
