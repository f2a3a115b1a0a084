// The header fields of a response about its connection (RFC 9112, section 9.3).

/** It ends with the response. */
export const CLOSES = 'connection: close\r\n'

/** A client counts from when it has the answer, and what it sends at the last moment is on its way for a while. */
const ON_THE_WAY_MS = 2000

/** Another request may follow within this time; what is announced is a little less. */
export function stays(idleMs: number): string {
  const announcedMs = Math.max(0, idleMs - ON_THE_WAY_MS)
  return `connection: keep-alive\r\nkeep-alive: timeout=${Math.floor(announcedMs / 1000)}\r\n`
}
