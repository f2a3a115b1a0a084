// The limits of the HTTP front, each with its reason. All that a client can make grow has one.

import { type FrameLimits, defaultFrameLimits } from '../../jsonrpc/frame.js'

const KiB = 1024
const MiB = 1024 * KiB

/** The limits, with their usual values. */
class Limits {
  readonly frame: FrameLimits = defaultFrameLimits
  /** Bytes of one request's header fields, and how many of them. */
  readonly headersBytesMax: number = 16 * KiB
  readonly headersMax: number = 100
  /**
   * How long the header fields may take to arrive. A real client sends them in one packet; what drips in is an attack.
   */
  readonly headersTimeoutMs: number = 10_000
  /** How long a body may wait whose reader has not begun; one that is read may take as long as it does not drip. */
  readonly requestTimeoutMs: number = 30_000
  /**
   * How often requests that are late, and connections that have lain idle, are looked for: twice a second, so that many
   * who are late do not all go in one turn.
   */
  readonly lateCheckMs: number = 500
  readonly connectionsMax: number = 1024
  /** Of these, how many of one address that have not shown the token that is asked for. */
  readonly strangersMax: number = 64
  /** For so long there may be more of them: a proxy in front opens hundreds at once, and what they say is on its way. */
  readonly strangerMs: number = 1000
  /**
   * How long a connection may lie idle between two requests, while there is room. Balancers keep theirs for 60 to 600
   * seconds, and whoever closes first must not be the server.
   */
  readonly idleConnectionMs: number = 620_000
  /** As on stdio: clients send arguments, servers send files. */
  readonly bodyBytesMax: number = 16 * MiB
  /** Up to here a body is small. Nearly all are; a small one on every connection is another 64 MiB. */
  readonly smallBodyBytes: number = 64 * KiB
  /**
   * What all large bodies together may hold, on their way and until they are answered: sixteen of the largest at once.
   * Who comes then is told to come again.
   */
  readonly bodiesBytesMax: number = 256 * MiB
  /**
   * A body must bring `slowBodyBytes` in each such time, or end; looked at every `lateCheckMs`. A telephone brings this
   * much in one second; what drips holds a connection and brings nothing.
   */
  readonly slowBodyMs: number = 8000
  readonly slowBodyBytes: number = 16 * KiB
  /** How long the rest of a refused body is read, so that its sender can read why. */
  readonly refusedBodyMs: number = 1000
  readonly sessionsMax: number = 1000
  /** Clients that go away without DELETE are the rule. */
  readonly sessionIdleMs: number = 30 * 60_000
  /** How often idle sessions and old events are looked for. */
  readonly sweepMs: number = 30_000
  /** Requests without a session that are being served. */
  readonly sessionlessMax: number = 1024
  /** How long a connection stays that requests without a session have shared. What is made anew then costs a few requests. */
  readonly statelessIdleMs: number = 5 * 60_000
  /**
   * How long an answer may take before the response becomes an event stream: long enough for nearly every call to be
   * answered in plain JSON, short enough for a person.
   */
  readonly answerWaitMs: number = 250
  /** Silence on an event stream after which a comment is sent. Proxies on the way cut a connection that is silent for 30 to 60 seconds. */
  readonly keepAliveMs: number = 15_000
  /** After how long a client should resume a stream that broke. */
  readonly retryMs: number = 1000
  /** Ended event streams of a session that can still be resumed. */
  readonly endedStreamsMax: number = 256
  /** Those of a session that it may ask for again; `totalBytesMax` is of all sessions together. */
  readonly events: Readonly<Record<'eventsMax' | 'bytesMax' | 'totalBytesMax' | 'ageMsMax', number>> = {
    eventsMax: 1024,
    bytesMax: 4 * MiB,
    totalBytesMax: 64 * MiB,
    ageMsMax: 5 * 60_000,
  }
  /** Above this many bytes that a client has not taken, its session is congested. */
  readonly backlogBytesHigh: number = MiB
  /** Above this many, a stream is cut; the client may resume it. */
  readonly backlogBytesMax: number = 16 * MiB
  /**
   * How long a client may take nothing of what was sent; up to twice as long where it took something in between. What a
   * slow reader takes shows in steps of what the system buffers, which is megabytes.
   */
  readonly stallMs: number = 30_000
  /** How long `close` waits for clients to take their last answers. */
  readonly closeWaitMs: number = 5000
}

export type HttpServerLimits = Readonly<Limits>
export const defaultHttpServerLimits: HttpServerLimits = new Limits()
