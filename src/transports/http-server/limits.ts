// The limits of the HTTP front, each with its reason. All that a client can make grow has one.

import { type FrameLimits, defaultFrameLimits } from '../../jsonrpc/frame.js'

const KiB = 1024
const MiB = 1024 * KiB

export interface HttpServerLimits {
  readonly frame: FrameLimits
  /** Bytes of one request's header fields, and how many of them. */
  readonly headersBytesMax: number
  readonly headersMax: number
  /** How long the header fields may take to arrive, and a body whose reader has not begun; one that is read may take as long as it does not drip. */
  readonly headersTimeoutMs: number
  readonly requestTimeoutMs: number
  /** How often requests that are late, and connections that have lain idle, are looked for. */
  readonly lateCheckMs: number
  readonly connectionsMax: number
  /** Of these, how many of one address that have not shown the token that is asked for. */
  readonly strangersMax: number
  /** For so long there may be more of them. */
  readonly strangerMs: number
  /** How long a connection may lie idle between two requests, while there is room. */
  readonly idleConnectionMs: number
  readonly bodyBytesMax: number
  /** Up to here a body is small. */
  readonly smallBodyBytes: number
  /** What all large bodies together may hold, on their way and until they are answered. */
  readonly bodiesBytesMax: number
  /** A body must bring this many bytes in each such time, or end; looked at every `lateCheckMs`. */
  readonly slowBodyMs: number
  readonly slowBodyBytes: number
  /** How long the rest of a refused body is read, so that its sender can read why. */
  readonly refusedBodyMs: number
  readonly sessionsMax: number
  readonly sessionIdleMs: number
  /** How often idle sessions and old events are looked for. */
  readonly sweepMs: number
  /** Requests without a session that are being served. */
  readonly sessionlessMax: number
  /** How long a connection stays that requests without a session have shared. */
  readonly statelessIdleMs: number
  /** How long an answer may take before the response becomes an event stream. */
  readonly answerWaitMs: number
  /** Silence on an event stream after which a comment is sent. */
  readonly keepAliveMs: number
  /** After how long a client should resume a stream that broke. */
  readonly retryMs: number
  /** Ended event streams of a session that can still be resumed. */
  readonly endedStreamsMax: number
  /** Those of a session that it may ask for again; `totalBytesMax` is of all sessions together. */
  readonly events: Readonly<Record<'eventsMax' | 'bytesMax' | 'totalBytesMax' | 'ageMsMax', number>>
  /** Above this many bytes that a client has not taken, its session is congested. */
  readonly backlogBytesHigh: number
  /** Above this many, a stream is cut; the client may resume it. */
  readonly backlogBytesMax: number
  /** How long a client may take nothing of what was sent; up to twice as long where it took something in between. */
  readonly stallMs: number
  /** How long `close` waits for clients to take their last answers. */
  readonly closeWaitMs: number
}

export const defaultHttpServerLimits: HttpServerLimits = {
  frame: defaultFrameLimits,
  headersBytesMax: 16 * KiB,
  headersMax: 100,
  // A real client sends its header fields in one packet; what drips in is an attack.
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  // Twice a second, so that many who are late do not all go in one turn.
  lateCheckMs: 500,
  connectionsMax: 1024,
  strangersMax: 64,
  // A proxy in front opens hundreds at once; what they say is on its way.
  strangerMs: 1000,
  // Balancers keep theirs for 60 to 600 seconds, and whoever closes first must not be the server.
  idleConnectionMs: 620_000,
  // As on stdio: clients send arguments, servers send files.
  bodyBytesMax: 16 * MiB,
  // Nearly all are; a small one on every connection is another 64 MiB.
  smallBodyBytes: 64 * KiB,
  // Sixteen of the largest at once; who comes then is told to come again.
  bodiesBytesMax: 256 * MiB,
  // A telephone brings this much in one second; what drips holds a connection and brings nothing.
  slowBodyMs: 8000,
  slowBodyBytes: 16 * KiB,
  refusedBodyMs: 1000,
  sessionsMax: 1000,
  // Clients that go away without DELETE are the rule.
  sessionIdleMs: 30 * 60_000,
  sweepMs: 30_000,
  sessionlessMax: 1024,
  // What is made anew then costs a few requests.
  statelessIdleMs: 5 * 60_000,
  // Long enough for nearly every call to be answered in plain JSON, short enough for a person.
  answerWaitMs: 250,
  // Proxies on the way cut a connection that is silent for 30 to 60 seconds.
  keepAliveMs: 15_000,
  retryMs: 1000,
  endedStreamsMax: 256,
  events: { eventsMax: 1024, bytesMax: 4 * MiB, totalBytesMax: 64 * MiB, ageMsMax: 5 * 60_000 },
  backlogBytesHigh: MiB,
  backlogBytesMax: 16 * MiB,
  // What a slow reader takes shows in steps of what the system buffers, which is megabytes.
  stallMs: 30_000,
  closeWaitMs: 5000,
}
