// The limits that the upstream layer works under; `src/limits.ts` holds the numbers and their reasons.

import type { FrameLimits } from '../../jsonrpc/frame.js'
import type { NdjsonOptions } from '../../transports/stdio/ndjson.js'
import type { AbandonedLimits } from './attribution.js'
import type { FirstQuestionsLimits } from './first-questions.js'
import type { NoiseLimits } from './noise.js'
import type { StopLadder } from '../process/process.js'
import type { StderrLimits } from '../process/stderr-log.js'
import type { RestartPolicy } from './restarts.js'

/** How much of a list is read before the server is taken to be broken. */
interface ListLimits {
  readonly pagesMax: number
  readonly itemsMax: number
  /** Before a list that could not be read is read again; doubles up to `retryMsMax`, `retriesMax` times. */
  readonly retryMs: number
  readonly retryMsMax: number
  readonly retriesMax: number
}

export interface UpstreamLimits {
  readonly frame: FrameLimits
  readonly ndjson: NdjsonOptions
  readonly ladder: StopLadder
  /** How often the memory of a server with `memoryLimitMB` is looked at. */
  readonly memoryWatchMs: number
  readonly lists: ListLimits
  readonly noise: NoiseLimits
  readonly stderr: StderrLimits
  readonly abandoned: AbandonedLimits
  readonly firstQuestions: FirstQuestionsLimits
  /** How long the end of a connection waits for the exit that explains it. */
  readonly exitWaitMs: number
  readonly inflightMax: number
  /** How long a server may take to start before the event `late` is reported. */
  readonly lateMs: number
  /** Resources that the clients of one lane may follow. */
  readonly subscriptionsMax: number
  /** Calls that are in flight together on one session with a remote server. */
  readonly remoteConcurrency: number
  /** Users whose sessions are open at the same time, of one server at which each user has a login. */
  readonly remoteUsersMax: number
  /** How long the proxy relies on the era that it found for a remote server. */
  readonly remoteEraMs: number
  /** How long a server has to acknowledge a subscription. */
  readonly listenAckMs: number
  /** How long two subscriptions overlap, when one replaces the other. */
  readonly listenOverlapMs: number
  /** How long a server has for the question which revisions it speaks. */
  readonly probeMs: number
  /** How long an unused session with a remote server stays open after its last client has left. */
  readonly remoteRestMs: number
  /** Processes of one client without a session, where a call that waits for its client keeps its process. */
  readonly guestProcessesMax: number
  /** How long a process that only one client uses outlives the last word of the client. */
  readonly clientProcessIdleMs: number
  /** Calls that wait for one process, or for a slot of it. */
  readonly queueMax: number
  /** Bytes that one process has not taken yet, and of calls that wait for it, above which calls are refused. */
  readonly outgoingBytesMax: number
  /** Child processes in all. */
  readonly processesMax: number
  readonly restart: RestartPolicy
}
