// The log level and the subscriptions of a server, which are set again when it comes back.

import { quote } from '../../jsonrpc/text.js'
import type { LogSink } from '../../runtime/runtime.js'
import type { Call, ClientPort, Outcome } from '../../mcp/call.js'
import { upstreamFailed } from '../../mcp/error-codes.js'
import type { LaneClients } from './lane-clients.js'
import { asUpstreamError } from '../contracts/errors.js'
import type { Link } from './link.js'

export interface ResubscriptionsParts {
  readonly service: string
  readonly limits: { readonly subscriptionsMax: number }
  readonly log: LogSink
}

/** The subscriptions of one client to one resource that are not answered yet. */
interface Asking {
  open: number
  isGranted: boolean
}

/** The log level and the subscriptions of a lane's clients. */
export class Resubscriptions {
  readonly #parts: ResubscriptionsParts
  readonly #audience: LaneClients
  readonly #asking = new WeakMap<ClientPort, Map<string, Asking>>()

  constructor(parts: ResubscriptionsParts, audience: LaneClients) {
    this.#parts = parts
    this.#audience = audience
  }

  /** The most verbose level that any client asked for. */
  sendLevel(link: Link): void {
    const { level } = this.#audience
    if (level !== undefined && !link.isTyped)
      void this.#tell(link, 'logging/setLevel', `{"level":${quote(level)}}`)
  }

  /** What a call is about to ask for is left to that. */
  resubscribe(link: Link): void {
    if (link.isTyped) return
    const granted = [...this.#audience.followed].filter((uri) => !this.#isOnlyAsked(uri))
    void inTurns(granted, async (uri) => {
      if (this.#audience.isFollowedAt(uri)) await this.#subscribe(link, uri)
    })
  }

  #isOnlyAsked(uri: string): boolean {
    for (const client of this.#audience.followersAt(uri))
      if (this.#asking.get(client)?.get(uri)?.isGranted !== false) return false
    return true
  }

  /** Keeps who follows what; gives the call that the server gets, unless it must not be told. */
  passing(call: Call, subscribes: boolean, link: () => Link | undefined): Call | undefined {
    if (call.row.route.to === 'task') return this.#followingTask(call, subscribes)
    const uri = call.frame.params.members.string('uri')
    if (uri === undefined) return call
    if (subscribes) return this.#following(call, uri)
    const isLast = this.#audience.unfollow(call.client, uri)
    if (isLast || this.#audience.followersOf(uri).size === 0) return this.#leaving(call, uri, link)
    call.settle({ kind: 'result', result: '{}' })
    return undefined
  }

  /** A client follows from now on, since updates may come before the answer, and no longer when it is refused. */
  #following(call: Call, uri: string): Call | undefined {
    const { client } = call
    const asking = this.#asking.get(client)?.get(uri)
    if (!this.#audience.follows(client, uri)) {
      if (this.#isFull(call, this.#audience.followedCount, 'resources')) return undefined
      this.#audience.follow(client, uri)
    } else if (asking === undefined) return call
    return this.#asked(call, uri, asking ?? this.#ask(client, uri))
  }

  /** Whoever follows a task asks for that once at a time. */
  #followingTask(call: Call, subscribes: boolean): Call | undefined {
    const { client } = call
    const { tasks } = this.#audience
    const id = call.frame.params.members.string('taskId') ?? ''
    if (!subscribes) {
      tasks.remove(client, id)
      return call
    }
    if (this.#isFull(call, tasks.size, 'tasks')) return undefined
    tasks.add(client, id)
    return call.attempt((outcome) => {
      if (!isGranted(outcome)) tasks.remove(client, id)
      call.settle(outcome)
    })
  }

  #isFull(call: Call, size: number, what: string): boolean {
    const { limits, service } = this.#parts
    if (size < limits.subscriptionsMax) return false
    const message = `'${service}' is followed in ${limits.subscriptionsMax} ${what} already`
    call.fail(upstreamFailed(service, 'overloaded', message))
    return true
  }

  /** Of several that ask for the same, one that is granted is enough. */
  #asked(call: Call, uri: string, asking: Asking): Call {
    const { client } = call
    asking.open++
    return call.attempt((outcome) => {
      asking.isGranted ||= isGranted(outcome)
      if (--asking.open === 0) {
        this.#asking.get(client)?.delete(uri)
        if (!asking.isGranted) this.#audience.unfollow(client, uri)
      }
      call.settle(outcome)
    })
  }

  #ask(client: ClientPort, uri: string): Asking {
    const asking = { open: 0, isGranted: false }
    const uris = this.#asking.get(client) ?? new Map<string, Asking>()
    this.#asking.set(client, uris.set(uri, asking))
    return asking
  }

  #leaving(call: Call, uri: string, link: () => Link | undefined): Call {
    return call.attempt((outcome) => {
      call.settle(outcome)
      const told = link()
      if (told !== undefined) void this.#unsubscribed(told, uri)
    })
  }

  /** Over HTTP messages overtake each other: who has begun to follow meanwhile may have been unsubscribed with it. */
  async #unsubscribed(link: Link, uri: string): Promise<void> {
    if (this.#audience.isFollowedAt(uri)) await this.#subscribe(link, uri)
  }

  /** The client follows what it followed elsewhere before. */
  follow(client: ClientPort, uri: string, link: Link | undefined): void {
    if (this.#audience.follow(client, uri) && link !== undefined) void this.#subscribe(link, uri)
  }

  async #subscribe(link: Link, uri: string): Promise<void> {
    if (link.isTyped) return link.listening?.renew()
    return this.#tell(link, 'resources/subscribe', `{"uri":${quote(uri)}}`)
  }

  unsubscribe(link: Link | undefined, uris: readonly string[]): void {
    if (link === undefined || uris.length === 0) return
    if (link.isTyped) return link.listening?.renew()
    void inTurns(uris, async (uri) => {
      if (this.#audience.isFollowedAt(uri)) return
      await this.#tell(link, 'resources/unsubscribe', `{"uri":${quote(uri)}}`)
      await this.#unsubscribed(link, uri)
    })
  }

  /** A failure is the server's own business. */
  async #tell(link: Link, method: string, params: string): Promise<void> {
    try {
      await link.ask(method, params)
    } catch (error) {
      const message = `${method}: ${asUpstreamError(link.service, error).message}`
      this.#parts.log({ level: 'debug', service: link.service, message })
    }
  }
}

/** There may be thousands, and a server has other things to do; what was due may be so no longer when its turn comes. */
const AT_ONCE = 64

async function inTurns(uris: readonly string[], tell: (uri: string) => Promise<void>): Promise<void> {
  const waiting = uris.values()
  const each = async (): Promise<void> => {
    for (const uri of waiting) await tell(uri)
  }
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, uris.length) }, each))
}

function isGranted(outcome: Outcome): boolean {
  return outcome.kind === 'result' || (outcome.kind === 'answered' && outcome.frame.kind === 'result')
}
