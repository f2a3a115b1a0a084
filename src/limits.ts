// Every limit of the proxy, with its reason. Everything that stores data has a limit.
// `transports/http-server/front-limits.ts` has the limits of the HTTP front.

const MiB = 1024 * 1024

const table = {
  /** How long running calls may take to finish once the proxy stops. */
  drainMs: 5000,
  /**
   * The longest time that the answer to `initialize` waits for servers whose lists are not known yet. Clients
   * time out, or show no tools, if the answer takes long. A slower server announces its lists later.
   */
  initializeGraceMs: 1000,
  /** The limits of one client. */
  session: {
    /** Clients send arguments, and servers send files, so `upstream` allows more. */
    ndjson: { lineBytesMax: 16 * MiB, backlogBytesHigh: MiB, closeWaitMs: 5000 },
    /** Requests of servers to this client that have no answer yet. */
    inflightMax: 1024,
    /** Calls of this client that wait for servers. */
    callsMax: 4096,
    /**
     * Bytes of calls that wait for the first lists of servers, or for the answer to `initialize`: as many as
     * may wait for one server.
     */
    waitingBytesMax: 64 * MiB,
    /** Bytes that a client may leave unread. The proxy then disconnects it. */
    backlogBytesMax: 128 * MiB,
    /**
     * Bytes that all clients of all schemas together may leave unread. The proxy then disconnects the slowest
     * client. Two clients at their limit fit. With less, a client that only reads a long answer slowly would
     * be disconnected: the proxy cannot slow a shared server down, and must read a response that has begun.
     */
    unreadBytesMax: 256 * MiB,
    /** The longest page of a list; clients limit their lines too. */
    listPageBytesMax: 4 * MiB,
    /** The instructions of all servers together: clients put them into the context of a model. */
    instructionsLengthMax: 64 * 1024,
    /** Limits for servers that ask for input during a call. */
    input: {
      roundsMax: 10,
      /** Requests in one round. */
      requestsMax: 16,
      /** How long a client may take to answer one round. A person may have to look up the answers. */
      waitMs: 600_000,
      /** The first and the longest delay before the proxy repeats a call that its server only wants repeated. */
      againMs: 250,
      againMsMax: 5_000,
    },
    /**
     * Requests of servers that wait until the client is ready. Between the answer to `initialize` and
     * `initialized`, every server asks for roots once.
     */
    earlyMax: 64,
    /** One notification reports all changes of lists within this time. */
    changeDelayMs: 50,
    /** Unfinished tasks of this client. Each may have a result of any size at its server, and takes memory here. */
    tasksMax: 256,
    /** The longest task id of a server, in UTF-16 units. */
    taskIdLengthMax: 1024,
  },
  /** Clients without sessions. They differ by the capabilities that they declare, and few combinations exist. */
  stateless: {
    statelessMax: 256,
    /** Clients of one principal that can answer requests of servers. */
    statelessOfOneMax: 16,
    /** Open `subscriptions/listen` requests, of all these clients together and of one principal. */
    listensMax: 1024,
    listensOfOneMax: 512,
    /** Resources and tasks that one of these clients follows. */
    urisMax: 1024,
    /** How long the proxy remembers an idle client. */
    statelessIdleMs: 300_000,
  },
  /** Calls that wait for answers of clients without sessions. Each occupies its server with a process or a stream. */
  pendingInput: {
    /** Calls of all clients, and of one principal. */
    callsMax: 256,
    callsOfOneMax: 128,
    /** Open questions of one call. */
    questionsMax: 16,
    /** Bytes of requests, questions, answers, and results that wait for a request; and the bytes of one principal. */
    heldBytesMax: 128 * MiB,
    heldBytesOfOneMax: 64 * MiB,
    /** The proxy sends all questions that a server asks within this time in one turn. */
    gatherMs: 20,
    /** How long a client may take to answer. */
    lifeMs: 300_000,
  },
  upstream: {
    ndjson: { lineBytesMax: 64 * MiB, backlogBytesHigh: MiB, closeWaitMs: 500 },
    /**
     * How long each step of a stop waits (MCP, Lifecycle: shutdown over stdio): after stdin is closed, after
     * SIGKILL to the process group, and, after the exit, for the last output. The server's `stopTimeout`
     * counts between the first two steps.
     */
    ladder: { stdinWaitMs: 1000, killWaitMs: 2000, outputWaitMs: 250 },
    /**
     * Lines and bytes of stdout without a message between them. A greeting has a few lines; a thousand lines
     * are a mistake.
     */
    noise: { linesMax: 1000, bytesMax: 16 * MiB },
    /** The proxy cuts a longer line of stderr, and counts and drops further lines of a second. */
    stderr: { lineBytesMax: 8 * 1024, linesPerSecondMax: 100 },
    /** How often the proxy measures the memory of a server with `memoryLimitMB`. Each time it reads all processes. */
    memoryWatchMs: 2000,
    /**
     * How much of a list the proxy reads before it treats the server as broken. After a failed read, it reads
     * the list again after a delay that doubles up to `retryMsMax`, `retriesMax` times. A server without a
     * list after five minutes needs a person.
     */
    lists: { pagesMax: 1000, itemsMax: 10_000, retryMs: 1000, retryMsMax: 30_000, retriesMax: 12 },
    /** Resources that the clients of one lane may follow. Every new process gets a subscription for each. */
    subscriptionsMax: 10_000,
    inflightMax: 1024,
    /** Calls in flight on one session with a remote server: as many as a direct client would send. */
    remoteConcurrency: 64,
    /** Users with an open session at one server where each user has a login. */
    remoteUsersMax: 1000,
    /** How long the proxy relies on the era of a remote server, which may get a new version meanwhile. */
    remoteEraMs: 3_600_000,
    /**
     * How long a server may take to answer which revisions it supports. Most servers that do not know the
     * request refuse it immediately; some never answer.
     */
    probeMs: 5000,
    /**
     * How long a session with a remote server stays open after its last client has left: long enough for a
     * client that calls repeatedly without a session.
     */
    remoteRestMs: 300_000,
    /** Processes of one client without a session. A call that waits for the client keeps its process. */
    statelessProcessesMax: 8,
    /** How long a process of one client, or of one principal, runs on after its last call, response or stream. */
    clientProcessIdleMs: 120_000,
    /** Calls that wait for one process or one of its slots. */
    queueMax: 1024,
    /** Bytes that one process has not read, and bytes of calls that wait for it. Further calls are refused. */
    outgoingBytesMax: 64 * MiB,
    /** Child processes of all schemas together. */
    processesMax: 256,
    restart: {
      /** The limit of the delay before a restart, which doubles with every crash. */
      delayMsMax: 30_000,
      /** Crashes within the window that open the breaker. */
      crashesMax: 5,
      windowMs: 60_000,
      /** How long the open breaker fails calls, before one attempt that may close it. */
      holdMs: 30_000,
      /** Uptime after which the proxy forgets crashes. A successful start is not enough. */
      healthyMs: 60_000,
    },
  },
  kept: {
    /** Servers in memory, and in the file of one configuration. The longest unused server is removed first. */
    serversMax: 1024,
    /** The longest file of one configuration. The largest of 31 real servers needed a tenth of a megabyte. */
    fileBytesMax: 32 * MiB,
    /** How long an unused entry or file is kept. */
    unusedMsMax: 30 * 24 * 3_600_000,
  },
}

type Fixed<T> = { readonly [Key in keyof T]: T[Key] extends object ? Fixed<T[Key]> : T[Key] }

export type Limits = Fixed<typeof table>
export const limits: Limits = table
