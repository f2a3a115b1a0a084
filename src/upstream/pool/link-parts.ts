// The options of a link, and the events that it reports to its lane.

import type { Edit } from '../../jsonrpc/splice.js'
import type { NotificationFrame, RequestFrame } from '../../jsonrpc/frame.js'
import type { PeerOptions } from '../../jsonrpc/peer.js'
import type { ServerRedactor } from '../../transports/http-client/redactor.js'
import type { Call } from '../../mcp/call.js'
import type { ServerNotificationRow, ServerRequestRow } from '../../mcp/methods/method-row.js'
import type { AbandonedLimits } from './abandoned.js'
import type { LogRecord, Runtime } from '../../runtime/runtime.js'
import type { LastAnswersWaits } from './last-answers.js'
import type { Link } from './link.js'
import type { NoiseLimits } from './noise.js'
import type { ServerTimes } from '../contracts/server-config.js'

/** The owner of a link, which gets all that its server sends except answers. */
export interface LinkOwner {
  /** The connection carries one client, whose ids and tokens may stay as they are. */
  readonly carriesOneClient: boolean
  /** What it says by itself matters to somebody, so that it may not rest. */
  readonly isNeeded: boolean
  /** Its lists are being read, or it waits for the answer of a client. */
  readonly isAtWork: boolean
  /** The server asks something that only a client can answer, during a call where the transport tells. */
  asked(frame: RequestFrame, row: ServerRequestRow, link: Link, during: Call | undefined): void
  /** `row` is undefined for a notification that no revision has. */
  told(
    frame: NotificationFrame,
    row: ServerNotificationRow | undefined,
    link: Link,
    during: Call | undefined,
  ): void
  /** A call has ended, and its slot is free. */
  ended(call: Call, link: Link): void
  /** Takes back a call for the link that follows this one; false when there will be none. */
  again(call: Call, edits: readonly Edit[], link: Link): boolean
  /** A call took too long. */
  timedOut(link: Link): void
  /** What the server said unasked until now may be lost. */
  missed(link: Link): void
  drained(): void
  closed(link: Link): void
}

export interface LinkOptions {
  readonly runtime: Runtime
  readonly service: string
  /** For what the server says that people are shown. */
  readonly discretion: ServerRedactor
  readonly log: (record: LogRecord) => void
  readonly peer: PeerOptions
  readonly times: ServerTimes
  readonly noise: NoiseLimits
  readonly abandoned: AbandonedLimits
  readonly lastAnswers: LastAnswersWaits
  /** How long the end of a connection waits for the exit that explains it. */
  readonly exitWaitMs: number
}
