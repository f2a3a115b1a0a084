// The limits of the HTTP front, each with its reason. All that a client can make grow has one.

import { type FrameLimits, defaultFrameLimits } from '../../jsonrpc/frame.js'

/** The limits, with their usual values. */
const limits = {
  /** Bytes of one request's header fields, and how many of them. */
  headersBytesMax: 16_384, // 16 KiB
  headersMax: 100,
  /**
   * How long the header fields may take to arrive. A real client sends them in one packet; what drips in is an attack.
   */
  headersTimeoutMs: 10_000,
  /** How long a body may wait whose reader has not begun; one that is read may take as long as it does not drip. */
  requestTimeoutMs: 30_000,
  /**
   * How often requests that are late, and connections that have lain idle, are looked for: twice a second, so that many
   * who are late do not all go in one turn.
   */
  lateCheckMs: 500,
  connectionsMax: 1024,
  /** Of these, how many of one address that have not shown the token that is asked for. */
  strangersMax: 64,
  /** For so long there may be more of them: a proxy in front opens hundreds at once, and what they say is on its way. */
  strangerMs: 1000,
  /**
   * How long a connection may lie idle between two requests, while there is room. Balancers keep theirs for 60 to 600
   * seconds, and whoever closes first must not be the server.
   */
  idleConnectionMs: 620_000,
  /** As on stdio: clients send arguments, servers send files. */
  bodyBytesMax: 16_777_216, // 16 MiB
  /** Up to here a body is small. Nearly all are; a small one on every connection is another 64 MiB. */
  smallBodyBytes: 65_536, // 64 KiB
  /**
   * What all large bodies together may hold, on their way and until they are answered: sixteen of the largest at once.
   * Who comes then is told to come again.
   */
  bodiesBytesMax: 268_435_456, // 256 MiB
  /**
   * A body must bring `slowBodyBytes` in each such time, or end; looked at every `lateCheckMs`. A telephone brings this
   * much in one second; what drips holds a connection and brings nothing.
   */
  slowBodyMs: 8000,
  slowBodyBytes: 16_384, // 16 KiB
  /** How long the rest of a refused body is read, so that its sender can read why. */
  refusedBodyMs: 1000,
  sessionsMax: 1000,
  /** Clients that go away without DELETE are the rule. */
  sessionIdleMs: 1_800_000, // 30 minutes
  /** How often idle sessions and old events are looked for. */
  sweepMs: 30_000,
  /** Requests without a session that are being served. */
  sessionlessMax: 1024,
  /** How long a connection stays that requests without a session have shared. What is made anew then costs a few requests. */
  statelessIdleMs: 300_000, // 5 minutes
  /**
   * How long an answer may take before the response becomes an event stream: long enough for nearly every call to be
   * answered in plain JSON, short enough for a person.
   */
  answerWaitMs: 250,
  /** Silence on an event stream after which a comment is sent. Proxies on the way cut a connection that is silent for 30 to 60 seconds. */
  keepAliveMs: 15_000,
  /** After how long a client should resume a stream that broke. */
  retryMs: 1000,
  /** Ended event streams of a session that can still be resumed. */
  endedStreamsMax: 256,
  /** Those of a session that it may ask for again; `totalBytesMax` is of all sessions together. */
  events: {
    eventsMax: 1024,
    bytesMax: 4_194_304, // 4 MiB
    totalBytesMax: 67_108_864, // 64 MiB
    ageMsMax: 300_000, // 5 minutes
  },
  /** Above this many bytes that a client has not taken, its session is congested. */
  backlogBytesHigh: 1_048_576, // 1 MiB
  /** Above this many, a stream is cut; the client may resume it. */
  backlogBytesMax: 16_777_216, // 16 MiB
  /**
   * How long a client may take nothing of what was sent; up to twice as long where it took something in between. What a
   * slow reader takes shows in steps of what the system buffers, which is megabytes.
   */
  stallMs: 30_000,
  /** How long `close` waits for clients to take their last answers. */
  closeWaitMs: 5000,
}

export type HttpServerLimits = Readonly<typeof limits> & { readonly frame: FrameLimits }
export const defaultHttpServerLimits: HttpServerLimits = { ...limits, frame: defaultFrameLimits }
