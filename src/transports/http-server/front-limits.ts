// The limits of the HTTP front, each with its reason. Everything that a client can make grow has a limit.

const limits = {
  /** The bytes and the number of the header fields of one request. */
  headersBytesMax: 16_384, // 16 KiB
  headersMax: 100,
  /**
   * How long the header fields may take to arrive. A real client sends them in one packet. A client that
   * sends them byte by byte attacks.
   */
  headersTimeoutMs: 10_000,
  /** How long a body may wait for its reader. `slowBodyMs` limits a body that is being read. */
  requestTimeoutMs: 30_000,
  /**
   * How often the front looks for late requests and idle connections. Half a second, so that many late
   * requests do not end in the same turn of the event loop.
   */
  lateCheckMs: 500,
  connectionsMax: 1024,
  /**
   * How long a connection may be idle between two requests, while there is room. Load balancers keep theirs
   * open for 60 to 600 seconds, and the server must not close first.
   */
  idleConnectionMs: 620_000,
  /**
   * The same while the front drains, and how often it looks. A client that uses its connection more often
   * learns from a response that the connection ends, and never loses an answer.
   */
  lastIdleMs: 1000,
  lastCheckMs: 50,
  /** As on stdio: clients send arguments, servers send files. */
  bodyBytesMax: 16_777_216, // 16 MiB
  /** The limit of a small body. Nearly all bodies are small; one on every connection takes 64 MiB. */
  smallBodyBytes: 65_536, // 64 KiB
  /**
   * The memory of all large bodies together, from their first byte until they are answered: sixteen of the
   * largest. Further clients get 503 with Retry-After.
   */
  bodiesBytesMax: 268_435_456, // 256 MiB
  /**
   * A body must deliver `slowBodyBytes` in each `slowBodyMs`, checked every `lateCheckMs`. A mobile phone
   * sends this much in one second. A slower body only blocks a connection.
   */
  slowBodyMs: 8000,
  slowBodyBytes: 16_384, // 16 KiB
  /** How long a refused body is read, so that its sender can read the refusal. */
  refusedBodyMs: 1000,
  sessionsMax: 1000,
  /** Most clients leave without DELETE. */
  sessionIdleMs: 1_800_000, // 30 minutes
  /** How often the front looks for idle sessions. */
  sweepMs: 30_000,
  /** Connections for requests without a session. */
  sessionlessMax: 1024,
  /** How long an unused shared connection stays. A new connection costs as much as a few requests. */
  statelessIdleMs: 300_000, // 5 minutes
  /**
   * How long an answer may take before the response becomes an event stream. Long enough for a plain JSON
   * answer to nearly every call, short enough for a person.
   */
  answerWaitMs: 250,
  /** The silence on an event stream before a comment. Reverse proxies cut connections after 30 to 60 silent seconds. */
  keepAliveMs: 15_000,
  /** The delay before a client resumes a stream that broke, or that a draining front has ended. */
  retryMs: 1000,
  /** Ended event streams of a session that the client can still resume. */
  endedStreamsMax: 256,
  /** Stored events of a session. `totalBytesMax` limits all sessions: above it, the largest store drops events. */
  events: {
    eventsMax: 1024,
    bytesMax: 4_194_304, // 4 MiB
    totalBytesMax: 67_108_864, // 64 MiB
  },
  /** Above this number of unread bytes, a session is congested. */
  backlogBytesHigh: 1_048_576, // 1 MiB
  /** Above this number of unread bytes, a stream is cut. The client may resume it. */
  backlogBytesMax: 16_777_216, // 16 MiB
  /**
   * How long a client may read nothing; up to twice as long if it read something in between. The progress of
   * a slow reader is visible only in steps of the system's buffers, which are megabytes.
   */
  stallMs: 30_000,
  /** How long `close` waits for clients to read their last answers. */
  closeWaitMs: 5000,
}

export type HttpServerLimits = Readonly<typeof limits>
export const defaultHttpServerLimits: HttpServerLimits = limits
