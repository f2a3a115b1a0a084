// The clients of a lane, with their log levels and subscriptions, which the proxy restores when the server
// comes back.

import { ChurnMap } from '../../jsonrpc/churn-map.js'
import type { ErrorBody } from '../../jsonrpc/build.js'
import { quote } from '../../jsonrpc/text.js'
import { type Call, type ClientPort, isResult } from '../../calls/call.js'
import { upstreamFailed } from '../../mcp/error-codes.js'
import { followables, severity, type Topic, topicKinds } from '../../mcp/methods.js'
import { isFollowedBy } from '../../mcp/subscription-edits.js'
import { eachAtOnce } from '../../runtime/deferred.js'
import { asUpstreamError } from '../contracts/upstream-error.js'
import type { ServerContext } from './context.js'
import type { ServerConnection } from './server-connection.js'

/** The most subscription requests in flight at the same time; there may be thousands. */
const AT_ONCE = 64

type ClientsContext = Pick<ServerContext, 'service' | 'tell'> & {
  readonly limits: { readonly subscriptionsMax: number }
}

export function topicOf({ frame, row }: Call): Topic {
  const kind = row.route.to === 'task' ? 'taskIds' : 'resourceSubscriptions'
  return { kind, name: frame.params.members.string(followables[kind].member) ?? '' }
}

export class LaneClients {
  readonly #context: ClientsContext
  readonly #clients = new ChurnMap<number, ClientPort>()
  readonly #levels = new Map<ClientPort, string>()
  readonly resources: Follows = new Follows()
  /** Tasks of the extension Tasks. */
  readonly tasks: Follows = new Follows()
  /** Whether a client has left, for which the server may still work. */
  #mixed = false
  /** The only client; undefined if a message could belong to several clients. */
  only: ClientPort | undefined

  constructor(context: ClientsContext) {
    this.#context = context
  }

  get size(): number {
    return this.#clients.size
  }

  [Symbol.iterator](): IterableIterator<ClientPort> {
    return this.#clients.values()
  }

  get hasFollowers(): boolean {
    return this.resources.size > 0 || this.tasks.size > 0
  }

  get topics(): Topic[] {
    return topicKinds.flatMap((kind) => [...this.followed(kind).names].map((name) => ({ kind, name })))
  }

  followed(kind: Topic['kind']): Follows {
    return kind === 'taskIds' ? this.tasks : this.resources
  }

  add(client: ClientPort): void {
    this.#clients.set(client.serial, client)
    this.#findOnly()
  }

  /** Forgets a client; returns the resources that no client follows any more. */
  remove(client: ClientPort): string[] {
    const was = this.#clients.take(client.serial)
    if (was !== undefined && was.isWarmUp !== true) this.#mixed = true
    this.#findOnly()
    this.#levels.delete(client)
    this.tasks.takeAll(client)
    return this.resources.takeAll(client).filter((uri) => !this.resources.has(uri))
  }

  renew(): void {
    this.#mixed = false
    this.#findOnly()
  }

  /** Ignores a client that makes no calls, such as one for the first lists. */
  #findOnly(): void {
    const few = this.size > 2 || this.#mixed ? [] : [...this]
    const [first, second] = few.filter(({ isWarmUp }) => isWarmUp !== true)
    this.only = second === undefined ? first : undefined
  }

  // Log levels:

  setLevel(client: ClientPort, level: string): void {
    this.#levels.set(client, level)
  }

  get level(): string | undefined {
    let most: string | undefined
    for (const level of this.#levels.values()) {
      if (most === undefined || severity(level) < severity(most)) most = level
    }
    return most
  }

  sendLevel(connection: ServerConnection): void {
    const { level } = this
    if (level !== undefined && !connection.isStateless)
      void this.#request(connection, 'logging/setLevel', `{"level":${quote(level)}}`)
  }

  // Subscriptions. A server without sessions gets all of them as one filter, which its connection keeps.

  /** Subscribes again to granted resources. A subscription in flight belongs to its call. */
  resubscribe(connection: ServerConnection): void {
    if (connection.isStateless) return
    const { resources } = this
    const granted = [...resources.names].filter((uri) =>
      [...resources.at(uri).values()].some(({ isGranted }) => isGranted),
    )
    void eachAtOnce(granted, AT_ONCE, (uri) => this.#subscribe(connection, uri))
  }

  /** Records a subscription or its end; returns the call for the server, if the server must get one. */
  passing(call: Call, subscribes: boolean, connection: () => ServerConnection | undefined): Call | undefined {
    const { client } = call
    const { kind, name } = topicOf(call)
    const followed = this.followed(kind)
    if (!subscribes) {
      const isLast = followed.remove(client, name) || followed.of(name).size === 0
      if (isLast) return this.#leaving(call, name, connection)
      call.settle({ kind: 'result', result: '{}' })
      return undefined
    }
    const isNew = !followed.at(name).has(client)
    if (isNew && followed.size >= this.#context.limits.subscriptionsMax) {
      call.fail(this.#full(followed === this.tasks ? 'tasks' : 'resources'))
      return undefined
    }
    // Updates may arrive before the answer.
    if (isNew) followed.add(client, name, false)
    const follow = followed.at(name).get(client)
    if (follow !== undefined) follow.pending++
    const first = connection()
    return call.attempt({
      onSettled: (_attempt, outcome) => {
        // The client may have ended this subscription meanwhile, and begun another one.
        if (follow !== undefined && followed.at(name).get(client) === follow) {
          follow.pending--
          follow.isGranted ||= isResult(outcome)
          if (!follow.isGranted && follow.pending === 0) followed.remove(client, name)
          // A process may grant it after another process has taken its place.
          if (follow.isGranted && first !== undefined && connection() !== first)
            void this.#subscribe(connection(), name)
        }
        call.settle(outcome)
      },
    })
  }

  #full(what: string): ErrorBody {
    const { service, limits } = this.#context
    const message = `'${service}' is followed in ${limits.subscriptionsMax} ${what} already`
    return upstreamFailed(service, 'overloaded', message)
  }

  #leaving(call: Call, name: string, connection: () => ServerConnection | undefined): Call {
    return call.attempt({
      onSettled: (_attempt, outcome) => {
        call.settle(outcome)
        void this.#subscribe(connection(), name)
      },
    })
  }

  follow(client: ClientPort, uri: string, connection: ServerConnection | undefined): void {
    if (this.resources.add(client, uri)) void this.#subscribe(connection, uri)
  }

  unsubscribe(connection: ServerConnection | undefined, uris: readonly string[]): void {
    if (connection === undefined || uris.length === 0) return
    if (connection.isStateless) return connection.listening?.renew()
    void eachAtOnce(uris, AT_ONCE, async (uri) => {
      if (this.resources.has(uri)) return
      await this.#request(connection, 'resources/unsubscribe', `{"uri":${quote(uri)}}`)
      await this.#subscribe(connection, uri)
    })
  }

  /** Repeated after each unsubscription, which over HTTP may overtake a new client's subscription. */
  async #subscribe(connection: ServerConnection | undefined, uri: string): Promise<void> {
    if (connection === undefined || !this.resources.has(uri)) return
    if (connection.isStateless) connection.listening?.renew()
    else await this.#request(connection, 'resources/subscribe', `{"uri":${quote(uri)}}`)
  }

  async #request(connection: ServerConnection, method: string, params: string): Promise<void> {
    try {
      await connection.ask(method, params)
    } catch (error) {
      const { service, tell } = this.#context
      tell('debug', `${method}: ${asUpstreamError(service, error).message}`)
    }
  }
}

interface Follow {
  isGranted: boolean
  /** How many requests of the client for it are in flight. */
  pending: number
}

/** The followers of each topic. The first client subscribes at the server, and the last unsubscribes. */
export class Follows {
  readonly #clients = new Map<string, Map<ClientPort, Follow>>()

  get size(): number {
    return this.#clients.size
  }

  get names(): IterableIterator<string> {
    return this.#clients.keys()
  }

  has(name: string): boolean {
    return this.#clients.has(name)
  }

  /** The clients that follow exactly this topic. */
  at(name: string): ReadonlyMap<ClientPort, Follow> {
    return this.#clients.get(name) ?? new Map()
  }

  add(client: ClientPort, name: string, isGranted: boolean = true): boolean {
    const clients = this.#clients.get(name) ?? new Map<ClientPort, Follow>()
    clients.set(client, { isGranted, pending: 0 })
    this.#clients.set(name, clients)
    return clients.size === 1
  }

  remove(client: ClientPort, name: string): boolean {
    const clients = this.#clients.get(name)
    if (clients === undefined || !clients.delete(client) || clients.size > 0) return false
    return this.#clients.delete(name)
  }

  /** Removes the client everywhere; returns the topics that it followed. */
  takeAll(client: ClientPort): string[] {
    const followed = [...this.names].filter((name) => this.at(name).has(client))
    for (const name of followed) this.remove(client, name)
    return followed
  }

  /**
   * The clients that follow this resource, or a resource above it (MCP, Resources: subscriptions).
   */
  of(uri: string): Set<ClientPort> {
    const found = new Set(this.at(uri).keys())
    for (const [followed, clients] of this.#clients)
      if (followed !== uri && isFollowedBy(uri, followed))
        for (const client of clients.keys()) found.add(client)
    return found
  }
}
