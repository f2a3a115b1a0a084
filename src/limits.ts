// Every limit of the proxy, with its reason. Every buffer, queue and table has a limit. The HTTP front has a
// separate table, `transports/http-server/front-limits.ts`.

const MiB = 1024 * 1024

const table = {
  /** How long running calls may continue after the proxy is asked to stop. */
  drainMs: 5000,
  /**
   * How long the answer to `initialize` waits for servers whose lists the proxy does not know. A client that
   * waits longer may give up. A slower server announces its lists later.
   */
  initializeGraceMs: 1000,
  /** The limits of one client. */
  session: {
    /** Lines of clients are shorter than those of servers: clients send arguments, and servers send files. */
    ndjson: { lineBytesMax: 16 * MiB, backlogBytesHigh: MiB, closeWaitMs: 5000 },
    /** Requests of servers that this client has not answered. */
    inflightMax: 1024,
    /** Calls of this client that are not answered. */
    callsMax: 4096,
    /**
     * Bytes of calls that wait for the lists of servers, and of calls that arrive before `initialize` is
     * answered. The limit equals `upstream.outgoingBytesMax`.
     */
    waitingBytesMax: 64 * MiB,
    /** Bytes that a client may leave unread. The proxy disconnects a client with more. */
    backlogBytesMax: 128 * MiB,
    /**
     * Bytes that all clients of all schemas may leave unread. With more, the proxy disconnects the slowest
     * client. The limit has room for two clients with `backlogBytesMax` each: the proxy cannot pause a shared
     * server, so a lower limit would disconnect a client that only reads a long answer slowly.
     */
    unreadBytesMax: 256 * MiB,
    /** The size of one page of a list, because clients also limit the length of a line. */
    listPageBytesMax: 4 * MiB,
    /** The length of the instructions of all servers together. Clients put them into the context of a model. */
    instructionsLengthMax: 64 * 1024,
    /** Limits for a server that asks for input before it continues a call. */
    input: {
      roundsMax: 10,
      /** Questions in one round. */
      requestsMax: 16,
      /** How long a client may take to answer one round. A person reads each question, and may have to look the answer up. */
      waitMs: 600_000,
      /** The first and the longest delay before the proxy repeats a call whose server asks only for a repetition. */
      againMs: 250,
      againMsMax: 5_000,
    },
    /**
     * Requests of servers that wait until the client has sent `initialized`. Before that notification, each
     * server asks for the roots once.
     */
    earlyMax: 64,
    /** The client gets one notification for all list changes within this time. */
    changeDelayMs: 50,
    /** Tasks of this client in memory. The server of each task may keep a result of any size. */
    tasksMax: 256,
    /** The length of the id that a server gives a task. */
    taskIdLengthMax: 1024,
  },
  /** Limits for clients without sessions. One is a combination of principal, name, version, view and capabilities. */
  stateless: {
    statelessMax: 256,
    /** Clients of one principal that servers can ask for input. */
    statelessOfOneMax: 16,
    /** Open `subscriptions/listen` requests of all these clients, and of one principal. */
    listensMax: 1024,
    listensOfOneMax: 512,
    /** Resources and tasks to which one such client subscribes. */
    urisMax: 1024,
    /** How long the proxy remembers such a client after its last request. */
    statelessIdleMs: 300_000,
  },
  /** Calls that wait for input from clients without sessions. Each occupies a process or a stream of its server. */
  pendingInput: {
    /** Calls of all these clients, and of one principal. */
    callsMax: 256,
    callsOfOneMax: 128,
    /** Open questions of one call. */
    questionsMax: 16,
    /** Bytes of requests, questions, answers and uncollected results, of all these clients and of one principal. */
    heldBytesMax: 128 * MiB,
    heldBytesOfOneMax: 64 * MiB,
    /** The questions that a server asks within this time go to the client together. */
    gatherMs: 20,
    /** How long a client may take to return with the answers. */
    lifeMs: 300_000,
  },
  upstream: {
    ndjson: { lineBytesMax: 64 * MiB, backlogBytesHigh: MiB, closeWaitMs: 500 },
    /**
     * How long each step of a stop waits (MCP 2025-11-25, Lifecycle: Shutdown): after the end of stdin, after
     * SIGKILL to the process group, and after the exit for the remaining output. The wait after SIGTERM is the
     * server's `stopTimeout`.
     */
    ladder: { stdinWaitMs: 1000, killWaitMs: 2000, outputWaitMs: 250 },
    /**
     * Lines and bytes on stdout without a message between them. A greeting has a few lines. Beyond the limit,
     * the proxy ends the connection.
     */
    noise: { linesMax: 1000, bytesMax: 16 * MiB },
    /**
     * The proxy cuts longer lines of stderr, and counts and drops further lines of a second. The limits have
     * room for a stack trace.
     */
    stderr: { lineBytesMax: 8 * 1024, linesPerSecondMax: 100 },
    /** The interval of measurements for `memoryLimitMB`. Each measurement reads all processes of the machine. */
    memoryWatchMs: 2000,
    /**
     * A server whose list has more pages or items is broken. The proxy retries a list that it could not read,
     * with a delay that doubles up to `retryMsMax`. A server that fails `retriesMax` retries, in five minutes,
     * needs a repair by a person.
     */
    lists: { pagesMax: 1000, itemsMax: 10_000, retryMs: 1000, retryMsMax: 30_000, retriesMax: 12 },
    /** Resources to which the clients of one lane may subscribe. Each new process gets all these subscriptions. */
    subscriptionsMax: 10_000,
    inflightMax: 1024,
    /** Concurrent calls on one session with a remote server: as many as a direct client would send. */
    remoteConcurrency: 64,
    /** Users with an open session with one server at which each user logs in. */
    remoteUsersMax: 1000,
    /** How long the proxy relies on the detected era of a remote server. An upgrade may change the era. */
    remoteEraMs: 3_600_000,
    /**
     * How long the proxy waits for the answer to `server/discover`. Most servers without this method refuse it
     * immediately; some never answer.
     */
    probeMs: 5000,
    /**
     * How long an unused session with a remote server stays open after its last client has left. A client
     * without a session that calls repeatedly then needs only one session.
     */
    remoteRestMs: 300_000,
    /** Processes for one client without a session, if a call that waits for the client occupies a process. */
    statelessProcessesMax: 8,
    /** How long a process of one client or principal stays idle after its last call, response or stream. */
    clientProcessIdleMs: 120_000,
    /** Calls that wait for one process, or for a slot of the process. */
    queueMax: 1024,
    /** Unread bytes of one process, and bytes of calls that wait for it. The proxy refuses calls above either. */
    outgoingBytesMax: 64 * MiB,
    /** Child processes of all schemas together. */
    processesMax: 256,
    restart: {
      /** The longest delay before a restart. The delay doubles with every crash. */
      delayMsMax: 30_000,
      /** The number of crashes within `windowMs` that opens the circuit breaker. */
      crashesMax: 5,
      windowMs: 60_000,
      /** How long the open breaker fails calls before it allows one attempt that may close it. */
      holdMs: 30_000,
      /** The uptime after which earlier crashes no longer count. A successful start alone proves little. */
      healthyMs: 60_000,
    },
  },
  /** Limits of the facts about servers that the proxy keeps between starts. */
  kept: {
    /** Servers in memory, and in the file of one configuration. The least recently used server makes room. */
    serversMax: 1024,
    /** The size of the file of one configuration. The largest of 31 measured servers needs a tenth of a megabyte. */
    fileBytesMax: 32 * MiB,
    /** How long an unused entry or file stays. */
    unusedMsMax: 30 * 24 * 3_600_000,
  },
}

type Fixed<T> = { readonly [Key in keyof T]: T[Key] extends object ? Fixed<T[Key]> : T[Key] }

export type Limits = Fixed<typeof table>
export const limits: Limits = table
