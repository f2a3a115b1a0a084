// Every limit of the proxy, with its reason. Nothing that holds data is without one. The HTTP front has a separate table,
// `transports/http-server/front-limits.ts`.

const MiB = 1024 * 1024

const table = {
  /** How long calls may still finish once the proxy is asked to stop. */
  drainMs: 5000,
  /**
   * How long the answer to `initialize` waits for servers of which nothing is known. Clients give up, or show nothing, when
   * this takes long, and a server that takes longer announces its lists by itself.
   */
  initializeGraceMs: 1000,
  /** The limits of one client. */
  session: {
    /** Clients send arguments; servers send files. */
    ndjson: { lineBytesMax: 16 * MiB, backlogBytesHigh: MiB, closeWaitMs: 5000 },
    /** Requests of servers that wait for this client. */
    inflightMax: 1024,
    /** Calls of this client that wait for servers. */
    callsMax: 4096,
    /**
     * Bytes of its calls that wait until servers have said what they have, and of those before `initialize` is answered: as
     * many as may wait for one server.
     */
    waitingBytesMax: 64 * MiB,
    /** Bytes that a client may leave unread before it is taken to be gone. */
    backlogBytesMax: 128 * MiB,
    /**
     * Bytes that all clients of all schemas together may leave unread before the slowest of them is taken to be gone. Two
     * slow clients with the most that one may leave have room. With less, a client that is only slow with a long answer is
     * cut: its server is shared and cannot be held back, and a response that has begun has to be read.
     */
    unreadBytesMax: 256 * MiB,
    /** One page of a list; clients have line limits too. */
    listPageBytesMax: 4 * MiB,
    /** Instructions of all servers together: clients put them into the context of a model. */
    instructionsLengthMax: 64 * 1024,
    /** Of servers that ask before they go on with a call. */
    input: {
      roundsMax: 10,
      /** In one round. */
      requestsMax: 16,
      /** How long a client may take to answer one round. A person reads each question, and may have to look the answer up. */
      waitMs: 600_000,
      /** How long the proxy waits before it repeats a call that its server only wants repeated: at first, and at most. */
      againMs: 250,
      againMsMax: 5_000,
    },
    /**
     * Questions of servers that wait for the client to be ready: between the answer to `initialize` and `initialized` every
     * server asks for roots, once.
     */
    earlyMax: 64,
    /** Changes of lists within this time are one notification. */
    changeDelayMs: 50,
    /** Tasks of this client that are not over. Each may hold a result of any size at its server, and is in memory here. */
    tasksMax: 256,
    /** The id that a server gives a task. */
    taskIdLengthMax: 1024,
  },
  /** Clients without sessions. They differ by the capabilities that they declare, and few combinations exist. */
  stateless: {
    statelessMax: 256,
    /** Of one principal, which can be asked something. */
    statelessOfOneMax: 16,
    /** Requests that stay open, of all of them together, and of one principal. */
    listensMax: 1024,
    listensOfOneMax: 512,
    /** Resources and tasks that one of them follows. */
    urisMax: 1024,
    /** How long one stays that asks nothing. */
    statelessIdleMs: 300_000,
  },
  /** Calls that wait for the answers of clients without sessions. Each keeps a call of its server open, and a process or a stream with it. */
  pendingInput: {
    /** Of all clients, and of one principal. */
    callsMax: 256,
    callsOfOneMax: 128,
    /** Of one call at the same time. */
    questionsMax: 16,
    /** Bytes of requests, of questions and their answers, and of results for which no request waits; and of one principal. */
    heldBytesMax: 128 * MiB,
    heldBytesOfOneMax: 64 * MiB,
    /** Questions of a server within this time are asked together: a server that asks for several things asks for all in one turn. */
    gatherMs: 20,
    /** How long a client may take to come back. */
    lifeMs: 300_000,
  },
  upstream: {
    ndjson: { lineBytesMax: 64 * MiB, backlogBytesHigh: MiB, closeWaitMs: 500 },
    /**
     * How long each rung of the stop ladder waits (MCP, Lifecycle: shutdown over stdio): after closing stdin, after SIGKILL to
     * the process group, and after an exit for what the child wrote before. Between the first two the server's `stopTimeout`
     * counts.
     */
    ladder: { stdinWaitMs: 1000, killWaitMs: 2000, outputWaitMs: 250 },
    /**
     * Lines and bytes on stdout without a message between them. A greeting has a few lines; a thousand without a message are
     * no accident.
     */
    noise: { linesMax: 1000, bytesMax: 16 * MiB },
    /**
     * A longer line of stderr is cut, and further lines of a second are counted and dropped: enough for a stack trace; what
     * says more is a flood.
     */
    stderr: { lineBytesMax: 8 * 1024, linesPerSecondMax: 100 },
    /** How often the memory of a server with `memoryLimitMB` is looked at. All processes of the machine are read for it. */
    memoryWatchMs: 2000,
    /**
     * How much of a list is read before the server is taken to be broken, and the delay before a list that could not be read is
     * read again: it doubles up to `retryMsMax`, `retriesMax` times. A server that has not listed anything after five minutes
     * needs a repair by a person.
     */
    lists: { pagesMax: 1000, itemsMax: 10_000, retryMs: 1000, retryMsMax: 30_000, retriesMax: 12 },
    /** Resources that the clients of one lane may follow. Every process that is started gets each of them again. */
    subscriptionsMax: 10_000,
    inflightMax: 1024,
    /** Calls that are in flight together on one session with a remote server: as many as a direct client would send. */
    remoteConcurrency: 64,
    /** Users whose sessions are open at the same time, of one server at which each user has a login. */
    remoteUsersMax: 1000,
    /** How long the proxy relies on the era that it found for a remote server, which may be renewed meanwhile. */
    remoteEraMs: 3_600_000,
    /**
     * How long a server has for the question which revisions it speaks. Most servers that do not know the question refuse it
     * immediately; some never answer.
     */
    probeMs: 5000,
    /**
     * How long an unused session with a remote server stays open after its last client has left: long enough for a client that
     * calls repeatedly without a session.
     */
    remoteRestMs: 300_000,
    /** Processes of one client without a session, where a call that waits for its client keeps its process. */
    statelessProcessesMax: 8,
    /** How long a process of one client, or of one principal, runs on after the last call, response or stream. */
    clientProcessIdleMs: 120_000,
    /** Calls that wait for one process, or for a slot of it. */
    queueMax: 1024,
    /** Bytes that one process has not taken yet, and of calls that wait for it, above which calls are refused. */
    outgoingBytesMax: 64 * MiB,
    /** Child processes of all schemas together. */
    processesMax: 256,
    restart: {
      /** The delay before a restart doubles with every crash, up to this. */
      delayMsMax: 30_000,
      /** Crashes within the window that open the breaker. */
      crashesMax: 5,
      windowMs: 60_000,
      /** How long the open breaker fails calls without an attempt, before the one attempt that may close it. */
      holdMs: 30_000,
      /** Uptime after which crashes are forgotten; a start that succeeds says little. */
      healthyMs: 60_000,
    },
  },
  /** The limits of kept facts. */
  kept: {
    /** Servers in memory, and in the file of one configuration; the one that was not used for longest goes first. */
    serversMax: 1024,
    /** The file of one configuration. The largest server of 31 had a tenth of a megabyte. */
    fileBytesMax: 32 * MiB,
    /** How long an unused entry or file stays. */
    unusedMsMax: 30 * 24 * 3_600_000,
  },
}

type Fixed<T> = { readonly [Key in keyof T]: T[Key] extends object ? Fixed<T[Key]> : T[Key] }

export type Limits = Fixed<typeof table>
export const limits: Limits = table
