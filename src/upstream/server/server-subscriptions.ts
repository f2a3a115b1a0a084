// The log level and the subscriptions of a server, which are set again when it comes back.

import { quote } from '../../jsonrpc/text.js'
import type { ServerContext } from './context.js'
import { type Call, isResult, type ClientPort } from '../../calls/call.js'
import { upstreamFailed } from '../../mcp/error-codes.js'
import { asUpstreamError } from '../contracts/upstream-error.js'
import type { ServerConnection } from './server-connection.js'
import { ChurnMap } from '../../jsonrpc/fast/churn-map.js'
import { eachAtOnce } from '../../runtime/each-at-once.js'
import { severity } from '../../mcp/methods.js'
import { isFollowedBy } from '../../mcp/subscription-edits.js'

type SubscriptionsContext = Pick<ServerContext, 'service' | 'tell'> & {
  /** More resources, or tasks, are not followed. */
  readonly limits: { readonly subscriptionsMax: number }
}

/** The log level and the subscriptions of a lane's clients. */
export class Subscriptions {
  readonly #context: SubscriptionsContext
  readonly #clients: LaneClients

  constructor(context: SubscriptionsContext, clients: LaneClients) {
    this.#context = context
    this.#clients = clients
  }

  /** The most verbose level that any client asked for. */
  sendLevel(connection: ServerConnection): void {
    const { level } = this.#clients
    if (level !== undefined && !connection.isStateless)
      void this.#request(connection, 'logging/setLevel', `{"level":${quote(level)}}`)
  }

  /** Resources of a subscription that is still in flight are left to that call. */
  resubscribe(connection: ServerConnection): void {
    if (connection.isStateless) return
    const { resources } = this.#clients
    const isGranted = (uri: string): boolean => [...resources.at(uri).values()].some((each) => each.isGranted)
    void eachAtOnce([...resources.names].filter(isGranted), AT_ONCE, async (uri) => {
      if (resources.has(uri)) await this.#subscribe(connection, uri)
    })
  }

  /** Keeps who follows what; gives the call that the server gets, unless the server must not get it. */
  passing(call: Call, subscribes: boolean, connection: () => ServerConnection | undefined): Call | undefined {
    if (call.row.route.to === 'task') return this.#followingTask(call, subscribes)
    const uri = call.frame.params.members.string('uri')
    if (uri === undefined) return call
    if (subscribes) return this.#following(call, uri)
    const { resources } = this.#clients
    if (resources.remove(call.client, uri) || resources.of(uri).size === 0)
      return this.#leaving(call, uri, connection)
    call.settle({ kind: 'result', result: '{}' })
    return undefined
  }

  /**
   * A client follows from now on, since updates may come before the answer, and no longer when it is refused. Of several
   * requests for the same, one that is granted is enough.
   */
  #following(call: Call, uri: string): Call | undefined {
    const { client } = call
    const { resources } = this.#clients
    const known = resources.at(uri).get(client)
    if (known?.open === 0) return call
    if (known === undefined && this.#isFull(call, resources.size, 'resources')) return undefined
    const following = known ?? { open: 0, isGranted: false }
    if (known === undefined) resources.add(client, uri, following)
    following.open++
    return call.attempt({
      settled: (_attempt, outcome) => {
        following.isGranted ||= isResult(outcome)
        const isRefused = --following.open === 0 && !following.isGranted
        if (isRefused && resources.at(uri).get(client) === following) resources.remove(client, uri)
        call.settle(outcome)
      },
    })
  }

  /** A client has one subscription to a task at a time. */
  #followingTask(call: Call, subscribes: boolean): Call | undefined {
    const { client } = call
    const { tasks } = this.#clients
    const id = call.frame.params.members.string('taskId') ?? ''
    if (!subscribes) {
      tasks.remove(client, id)
      return call
    }
    if (this.#isFull(call, tasks.size, 'tasks')) return undefined
    tasks.add(client, id)
    return call.attempt({
      settled: (_attempt, outcome) => {
        if (!isResult(outcome)) tasks.remove(client, id)
        call.settle(outcome)
      },
    })
  }

  #isFull(call: Call, size: number, what: string): boolean {
    const { service, limits } = this.#context
    if (size < limits.subscriptionsMax) return false
    const message = `'${service}' is followed in ${limits.subscriptionsMax} ${what} already`
    call.fail(upstreamFailed(service, 'overloaded', message))
    return true
  }

  #leaving(call: Call, uri: string, connection: () => ServerConnection | undefined): Call {
    return call.attempt({
      settled: (_attempt, outcome) => {
        call.settle(outcome)
        const current = connection()
        if (current !== undefined) void this.#unsubscribed(current, uri)
      },
    })
  }

  /** Over HTTP messages overtake each other: who has begun to follow meanwhile may have been unsubscribed with it. */
  async #unsubscribed(connection: ServerConnection, uri: string): Promise<void> {
    if (this.#clients.resources.has(uri)) await this.#subscribe(connection, uri)
  }

  /** The client follows what it followed elsewhere before. */
  follow(client: ClientPort, uri: string, connection: ServerConnection | undefined): void {
    if (this.#clients.resources.add(client, uri) && connection !== undefined)
      void this.#subscribe(connection, uri)
  }

  async #subscribe(connection: ServerConnection, uri: string): Promise<void> {
    if (connection.isStateless) return connection.listening?.renew()
    return this.#request(connection, 'resources/subscribe', `{"uri":${quote(uri)}}`)
  }

  unsubscribe(connection: ServerConnection | undefined, uris: readonly string[]): void {
    if (connection === undefined || uris.length === 0) return
    if (connection.isStateless) return connection.listening?.renew()
    void eachAtOnce(uris, AT_ONCE, async (uri) => {
      if (this.#clients.resources.has(uri)) return
      await this.#request(connection, 'resources/unsubscribe', `{"uri":${quote(uri)}}`)
      await this.#unsubscribed(connection, uri)
    })
  }

  /** A failure is the server's own business. */
  async #request(connection: ServerConnection, method: string, params: string): Promise<void> {
    try {
      await connection.ask(method, params)
    } catch (error) {
      const { service, tell } = this.#context
      tell('debug', `${method}: ${asUpstreamError(service, error).message}`)
    }
  }
}

/**
 * There may be thousands, and a server has other things to do; what was due may be so no longer when its turn comes.
 */
const AT_ONCE = 64

/** Clients, the log levels they asked for, and the resources they follow. */
export class LaneClients {
  /** By their serials. */
  readonly #clients = new ChurnMap<number, ClientPort>()
  readonly #levels = new Map<ClientPort, string>()
  /** Of resources, by their URIs. */
  readonly resources: Follows = new Follows()
  /** Of the tasks of the extension Tasks. */
  readonly tasks: Follows = new Follows()
  /** A client has left, and the server may still work for it. */
  #mixed = false
  /** The one client there is; undefined when what belongs to one cannot be told from what belongs to another. */
  only: ClientPort | undefined

  get size(): number {
    return this.#clients.size
  }

  [Symbol.iterator](): IterableIterator<ClientPort> {
    return this.#clients.values()
  }

  /** Whether a client follows a resource or a task. */
  get areFollowing(): boolean {
    return this.resources.size > 0 || this.tasks.size > 0
  }

  add(client: ClientPort): void {
    this.#clients.set(client.serial, client)
    this.#findOnly()
  }

  /** Forgets a client; returns the resources that no client follows any more. */
  remove(client: ClientPort): string[] {
    const was = this.#clients.take(client.serial)
    if (was !== undefined && was.asksNothing !== true) this.#mixed = true
    this.#findOnly()
    this.#levels.delete(client)
    this.tasks.removeAll(client)
    return this.resources.removeAll(client)
  }

  /** The server has started anew and works for no client yet. */
  renew(): void {
    this.#mixed = false
    this.#findOnly()
  }

  /** One that asks nothing may be there beside it: the first lists may still be read when the first client calls. */
  #findOnly(): void {
    const few = this.size > 2 || this.#mixed ? [] : [...this]
    const [first, second] = few.filter(({ asksNothing }) => asksNothing !== true)
    this.only = second === undefined ? first : undefined
  }

  setLevel(client: ClientPort, level: string): void {
    this.#levels.set(client, level)
  }

  /** The most verbose level that any client asked for. */
  get level(): string | undefined {
    let most: string | undefined
    for (const level of this.#levels.values()) {
      if (most === undefined || severity(level) < severity(most)) most = level
    }
    return most
  }
}

/** A client that follows something: its requests for that which are not answered, and whether one was granted. */
interface Following {
  open: number
  isGranted: boolean
}

/** The clients of one lane that follow something: the first one asks the server for it, and the last one ends that. */
export class Follows {
  readonly #clients = new Map<string, Map<ClientPort, Following>>()

  /** How many things are followed. */
  get size(): number {
    return this.#clients.size
  }

  /** The names that are followed. */
  get names(): IterableIterator<string> {
    return this.#clients.keys()
  }

  has(name: string): boolean {
    return this.#clients.has(name)
  }

  /** The clients that follow exactly this. */
  at(name: string): ReadonlyMap<ClientPort, Following> {
    return this.#clients.get(name) ?? new Map()
  }

  /** Whether this is the first one who follows it. */
  add(client: ClientPort, name: string, following: Following = { open: 0, isGranted: true }): boolean {
    const clients = this.#clients.get(name) ?? new Map<ClientPort, Following>()
    clients.set(client, following)
    this.#clients.set(name, clients)
    return clients.size === 1
  }

  /** Whether this was the last one who followed it. */
  remove(client: ClientPort, name: string): boolean {
    const clients = this.#clients.get(name)
    if (clients === undefined || !clients.delete(client) || clients.size > 0) return false
    return this.#clients.delete(name)
  }

  /** The client follows nothing here any more; returns what it followed. */
  takeAll(client: ClientPort): string[] {
    const followed = [...this.names].filter((name) => this.at(name).has(client))
    for (const name of followed) this.remove(client, name)
    return followed
  }

  /** The client follows nothing any more; returns the names that no client follows now. */
  removeAll(client: ClientPort): string[] {
    return this.takeAll(client).filter((name) => !this.has(name))
  }

  /**
   * The clients that follow this resource.
   *
   * The updated URI may be a sub-resource of the followed one (MCP, Resources: subscriptions).
   */
  of(uri: string): Set<ClientPort> {
    const found = new Set(this.at(uri).keys())
    for (const [followed, clients] of this.#clients)
      if (followed !== uri && isFollowedBy(uri, followed))
        for (const client of clients.keys()) found.add(client)
    return found
  }
}
