// Every limit of the proxy, with its reason. Nothing that holds data is without one. The HTTP front has a separate table,
// `transports/http-server/limits.ts`.

import { type FrameLimits, defaultFrameLimits } from './jsonrpc/frame.js'
import type { InputLimits } from './proxy/input/input-rounds.js'
import type { PendingInputLimits } from './proxy/input/pending-input.js'
import type { NdjsonOptions } from './transports/stdio/ndjson.js'
import type { DirectoryLimits } from './proxy/clients/stateless-client.js'
import type { UpstreamLimits } from './upstream/server/context.js'

const MiB = 1024 * 1024

/** The limits of one client. */
export interface SessionLimits {
  readonly frame: FrameLimits
  readonly ndjson: NdjsonOptions
  /** Requests of servers that wait for this client. */
  readonly inflightMax: number
  /** Calls of this client that wait for servers. */
  readonly callsMax: number
  /** Bytes of its calls that wait until servers have said what they have, and of those before `initialize` is answered. */
  readonly waitingBytesMax: number
  /** Bytes that a client may leave unread before it is taken to be gone. */
  readonly backlogBytesMax: number
  /** Bytes that all clients of all schemas together may leave unread before the slowest of them is taken to be gone. */
  readonly unreadBytesMax: number
  /** One page of a list; clients have line limits too. */
  readonly listPageBytesMax: number
  /** Instructions of all servers together. */
  readonly instructionsLengthMax: number
  /** Of servers that ask before they go on with a call. */
  readonly input: InputLimits
  /** Questions of servers that wait for the client to be ready. */
  readonly earlyMax: number
  /** Changes of lists within this time are one notification. */
  readonly changeDelayMs: number
  /** Tasks of this client that are not over. */
  readonly tasksMax: number
  /** The id that a server gives a task. */
  readonly taskIdLengthMax: number
}

/** The limits of kept facts. */
export interface KeptLimits {
  /** Servers in memory, and in the file of one configuration; the one that was not used for longest goes first. */
  readonly serversMax: number
  /** The file of one configuration. */
  readonly fileBytesMax: number
  /** How long an unused entry or file stays. */
  readonly unusedMsMax: number
}

export interface Limits {
  readonly session: SessionLimits
  readonly stateless: DirectoryLimits
  /** Of calls that wait for the answers of clients without sessions. */
  readonly pendingInput: PendingInputLimits
  readonly upstream: UpstreamLimits
  readonly kept: KeptLimits
  /** How long calls may still finish once the proxy is asked to stop. */
  readonly drainMs: number
  /** How long the answer to `initialize` waits for servers of which nothing is known. */
  readonly initializeGraceMs: number
}

/** No real message nests deeper, and a parser that recurses overflows soon after. */
const frame = defaultFrameLimits

export const limits: Limits = {
  drainMs: 5000,
  // Clients give up, or show nothing, when this takes long.
  initializeGraceMs: 1000,
  // A server that takes longer announces its lists by itself.
  session: {
    frame,
    // Clients send arguments; servers send files.
    ndjson: { lineBytesMax: 16 * MiB, backlogBytesHigh: MiB, closeWaitMs: 5000 },
    inflightMax: 1024,
    callsMax: 4096,
    // As many as may wait for one server.
    waitingBytesMax: 64 * MiB,
    backlogBytesMax: 128 * MiB,
    // Two slow clients with the most that one may leave have room. With less, a client that is only slow with a long
    // answer is cut: its server is shared and cannot be held back, and a response that has begun has to be read.
    unreadBytesMax: 256 * MiB,
    listPageBytesMax: 4 * MiB,
    // Clients put them into the context of a model.
    instructionsLengthMax: 64 * 1024,
    // Between the answer to `initialize` and `initialized` every server asks for roots, once.
    earlyMax: 64,
    // A person reads each question, and may have to look the answer up.
    input: { roundsMax: 10, requestsMax: 16, waitMs: 600_000, againMs: 250, againMsMax: 5_000 },
    changeDelayMs: 50,
    // Each may hold a result of any size at its server, and is in memory here until its time is over.
    tasksMax: 256,
    taskIdLengthMax: 1024,
  },
  // Clients differ by the capabilities that they declare, and few combinations exist.
  stateless: {
    statelessMax: 256,
    statelessOfOneMax: 16,
    listensMax: 1024,
    listensOfOneMax: 512,
    urisMax: 1024,
    statelessIdleMs: 300_000,
  },
  pendingInput: {
    // Each keeps a call of its server open, and a process or a stream with it.
    callsMax: 256,
    callsOfOneMax: 128,
    questionsMax: 16,
    heldBytesMax: 128 * MiB,
    heldBytesOfOneMax: 64 * MiB,
    // A server that asks for several things asks for all in one turn.
    gatherMs: 20,
    lifeMs: 300_000,
  },
  upstream: {
    frame,
    ndjson: { lineBytesMax: 64 * MiB, backlogBytesHigh: MiB, closeWaitMs: 500 },
    // The closed stdin and the last wait, as in the specification's shutdown; between them `stopTimeout` of the server counts.
    ladder: { stdinWaitMs: 1000, killWaitMs: 2000, outputWaitMs: 250 },
    // A greeting has a few lines; a thousand without a message between them are no accident.
    noise: { linesMax: 1000, bytesMax: 16 * MiB },
    // Enough for a stack trace; what says more in a second is a flood.
    stderr: { lineBytesMax: 8 * 1024, linesPerSecondMax: 100 },
    // All processes of the machine are read for it.
    memoryWatchMs: 2000,
    // A server that has not listed anything after five minutes needs a repair by a person.
    lists: { pagesMax: 1000, itemsMax: 10_000, retryMs: 1000, retryMsMax: 30_000, retriesMax: 12 },
    // Every process that is started gets each of them again.
    subscriptionsMax: 10_000,
    inflightMax: 1024,
    // As much as a direct client would use on a server that declares no limit.
    remoteConcurrency: 64,
    remoteUsersMax: 1000,
    // A server that was renewed meanwhile is known for what it is within this.
    remoteEraMs: 3_600_000,
    // Most servers that do not know the question refuse it immediately; some never answer.
    probeMs: 5000,
    // Long enough for a client that calls repeatedly without a session.
    remoteRestMs: 300_000,
    statelessProcessesMax: 8,
    // A process that only one client uses ends this long after the last call, response or stream of the client.
    clientProcessIdleMs: 120_000,
    queueMax: 1024,
    outgoingBytesMax: 64 * MiB,
    // Of all schemas together.
    processesMax: 256,
    restart: { delayMsMax: 30_000, crashesMax: 5, windowMs: 60_000, holdMs: 30_000, healthyMs: 60_000 },
  },
  kept: {
    serversMax: 1024,
    // The largest server of 31 had a tenth of a megabyte.
    fileBytesMax: 32 * MiB,
    unusedMsMax: 30 * 24 * 3_600_000,
  },
}
