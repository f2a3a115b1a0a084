// How a worker starts a process: its turn among the starts of all servers, its place among all processes, and the
// handshake.

import type { ListItem } from '../../mcp/lists.js'
import { ServerConnection } from './connection.js'
import type { Lease } from './admission.js'
import type { Inbox } from './inbox.js'
import type { LaneScope } from './sharing.js'
import type { ServerContext } from './context.js'
import type { Worker } from './worker.js'

/** A connection that is being opened; `ready` rejects with UpstreamError. */
export interface OpeningConnection {
  readonly connection: ServerConnection
  readonly ready: Promise<unknown>
}

/** Starts the processes of one worker, one after the other. */
export class Starter {
  readonly #context: ServerContext
  readonly #scope: LaneScope
  readonly #inbox: Inbox
  readonly #worker: Worker
  readonly #isFirst: boolean
  /** Lets another install begin. */
  #endInstall: () => void = () => {}
  #starts = 0

  /** The first process of a lane gets the subscriptions, and its lists are read. */
  constructor(context: ServerContext, scope: LaneScope, inbox: Inbox, worker: Worker, isFirst: boolean) {
    this.#context = context
    this.#scope = scope
    this.#inbox = inbox
    this.#worker = worker
    this.#isFirst = isFirst
  }

  /** Whether the process is needed now. */
  get isWanted(): boolean {
    return this.isWantedUncalled || this.hasCalls
  }

  /** Whether the process is needed without a call. */
  get isWantedUncalled(): boolean {
    return !this.#scope.startsOnCall || this.#inbox.clients.areFollowing
  }

  /** Lists a tool of the proxy's own until the server has listed its tools. */
  showTool(tool: ListItem): void {
    this.#inbox.lists.showOwnTool(tool)
  }

  /** Whether calls wait for it. */
  get hasCalls(): boolean {
    return this.#worker.load.queued > 0
  }

  /** Resolves when the process may start; undefined when it may now. */
  turn(): Promise<void> | undefined {
    const eraKnown = this.#scope.eraKnown?.()
    return eraKnown === undefined ? this.#turn() : eraKnown.then(() => this.#turn())
  }

  #turn(): Promise<void> | undefined {
    const { dialer, installs, kind, keptLists, starts } = this.#context
    if (kind !== 'stdio' || dialer.hasAdopted) return undefined
    if (installs !== true || keptLists.kept?.description !== undefined) return starts.take()
    // One that did not answer the last time would hold back the others.
    const isLast = keptLists.kept?.isGivenUp === true
    return starts.install(isLast).then((end) => {
      this.#endInstall = end
      if (this.#inbox.isClosed) end()
      return starts.take()
    })
  }

  /** The place of the process; undefined for an adopted one. @throws UpstreamError when there is none */
  async admit(isCalled: boolean): Promise<Lease | undefined> {
    const { admission, dialer, service: server } = this.#context
    if (dialer.hasAdopted) return undefined
    const { principal, startsOnCall } = this.#scope
    const idleSince = (): number | undefined => (startsOnCall ? this.#worker.idleSince : undefined)
    return admission.admit({ server, principal, isCalled, idleSince })
  }

  open(lease: Lease | undefined): OpeningConnection {
    const { dialer } = this.#context
    const { client, declared, opening } = this.#scope
    const { dialed, report } = dialer.take(lease)
    const connection = new ServerConnection(dialed, this.#context, this.#inbox, this.#worker)
    void lease?.lost.then(() => this.#worker.onLeaseLost(connection))
    const ready = connection.start(declared, opening).then((server) => {
      dialer.connected()
      this.#worker.onOpened(connection.isTyped)
      this.#inbox.opened(connection, server, this.#isFirst)
      const { lists } = this.#inbox
      void lists.opening.then(() => report.ready(server, lists.items('tools').length))
    })
    void ready.catch((error: unknown) => report.failed(error)).then(() => this.#endInstall())
    report.usedBy(connection, client, this.#starts++, () => this.#inbox.isClosed)
    return { connection, ready }
  }

  /** Nothing is installed any more. */
  close(): void {
    this.#endInstall()
  }
}
