// The limits of the HTTP front, each with its reason. Everything that a client can make grow has a limit.

const limits = {
  /** Bytes of one request's header fields, and how many of them. */
  headersBytesMax: 16_384, // 16 KiB
  headersMax: 100,
  /**
   * How long the header fields may take to arrive. A real client sends them in one packet; a client that sends them
   * byte by byte attacks.
   */
  headersTimeoutMs: 10_000,
  /** How long a body may wait whose reader has not begun. A body that is being read has the limit of `slowBodyMs`. */
  requestTimeoutMs: 30_000,
  /**
   * How often the front looks for late requests and idle connections: twice a second, so that many late requests do not
   * all end in one turn of the event loop.
   */
  lateCheckMs: 500,
  connectionsMax: 1024,
  /**
   * How long a connection may lie idle between two requests, while there is room. Balancers keep theirs for 60 to 600
   * seconds, and the server must not be the one that closes first.
   */
  idleConnectionMs: 620_000,
  /**
   * The same while the front drains, and how often it looks. A client that uses its connection more often than that finds it
   * closed by a response that says so, and never between its request and the answer.
   */
  lastIdleMs: 1000,
  lastCheckMs: 50,
  /** As on stdio: clients send arguments, servers send files. */
  bodyBytesMax: 16_777_216, // 16 MiB
  /** Up to here a body is small. Nearly all are; a small one on every connection is another 64 MiB. */
  smallBodyBytes: 65_536, // 64 KiB
  /**
   * The memory of all large bodies together, from their first byte until they are answered: sixteen of the largest.
   * A client that comes then is refused with 503 and Retry-After.
   */
  bodiesBytesMax: 268_435_456, // 256 MiB
  /**
   * A body must bring `slowBodyBytes` in each such time, or end; looked at every `lateCheckMs`. A telephone sends this
   * much in one second; a slower body only holds a connection.
   */
  slowBodyMs: 8000,
  slowBodyBytes: 16_384, // 16 KiB
  /** How long a refused body is read further, so that its sender can read the refusal. */
  refusedBodyMs: 1000,
  sessionsMax: 1000,
  /** Most clients go away without DELETE. */
  sessionIdleMs: 1_800_000, // 30 minutes
  /** How often the front looks for idle sessions. */
  sweepMs: 30_000,
  /** Requests without a session that are being served. */
  sessionlessMax: 1024,
  /** How long an unused connection stays that requests without a session share. A new connection costs as much as a few requests. */
  statelessIdleMs: 300_000, // 5 minutes
  /**
   * How long an answer may take before the response becomes an event stream: long enough for nearly every call to be
   * answered in plain JSON, short enough for a person.
   */
  answerWaitMs: 250,
  /** Silence on an event stream after which a comment is sent. Proxies on the way cut a connection that is silent for 30 to 60 seconds. */
  keepAliveMs: 15_000,
  /** After how long a client should resume a stream that broke, or that a draining front has ended. */
  retryMs: 1000,
  /** Ended event streams of a session that can still be resumed. */
  endedStreamsMax: 256,
  /** Stored events of a session; `totalBytesMax` is of all sessions, and beyond it the largest store drops events. */
  events: {
    eventsMax: 1024,
    bytesMax: 4_194_304, // 4 MiB
    totalBytesMax: 67_108_864, // 64 MiB
  },
  /** Above this many bytes that a client has not taken, its session is congested. */
  backlogBytesHigh: 1_048_576, // 1 MiB
  /** Above this many, a stream is cut; the client may resume it. */
  backlogBytesMax: 16_777_216, // 16 MiB
  /**
   * How long a client may read nothing; up to twice as long where it read something in between. The progress of a slow
   * reader shows in steps of the system's buffers, which are megabytes.
   */
  stallMs: 30_000,
  /** How long `close` waits for clients to take their last answers. */
  closeWaitMs: 5000,
}

export type HttpServerLimits = Readonly<typeof limits>
export const defaultHttpServerLimits: HttpServerLimits = limits
