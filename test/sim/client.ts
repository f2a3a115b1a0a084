// A scripted client, however it reaches the proxy.

import { type Asking, spelt } from './asking.js'
import type { SimContext } from './byte-flow.js'
import { metaMembers } from './request-meta.js'
import { ClientInbox } from './client-inbox.js'
import type { ClientWire } from './client-wire.js'
import { GRACE_MS } from './configuration.js'
import { noncesIn } from './json.js'
import type { Entry, Ledger } from './ledger.js'
import type { Servers } from './list-watch.js'
import type { ClientPlan } from './plan.js'

/** One client, from its first byte to its last. */
export class SimClient {
  readonly name: string
  readonly plan: ClientPlan
  readonly inbox: ClientInbox
  /** Resources that it was granted to follow, and those that it did not want to follow any more at some time. */
  readonly followed: Set<string> = new Set()
  readonly unfollowed: Set<string> = new Set()
  readonly #context: SimContext
  readonly #ledger: Ledger
  readonly #wire: ClientWire
  #count = 0
  #held: Spoken[] | undefined

  constructor(context: SimContext, plan: ClientPlan, ledger: Ledger, wire: ClientWire, servers: Servers) {
    this.name = plan.name
    this.plan = plan
    this.#context = context
    this.#ledger = ledger
    this.#wire = wire
    this.inbox = new ClientInbox(this, ledger, servers, context)
    wire.start(this.inbox)
  }

  /** It has not ended its own side, and has not been left. */
  get speaks(): boolean {
    return this.#wire.speaks && !this.inbox.left
  }

  /** It is told of what belongs to no request, too. */
  get hears(): boolean {
    return this.#wire.hears
  }

  /** Bytes that the proxy keeps for it. */
  get backlogBytes(): number {
    return this.#wire.backlogBytes
  }

  /** The id of its session, where it has one. */
  get session(): string | undefined {
    return this.#wire.session
  }

  /** Its streams are given back. */
  get released(): boolean {
    return this.#wire.released
  }

  shakeHands(): void {
    const { manners, revision, capabilities } = this.plan
    if (manners === 'session') return
    if (manners === 'proper') this.#held = []
    const declared = capabilities.map((name) => `"${name}":{}`).join(',')
    const info = `{"name":"${this.name}","version":"1"}`
    this.request(
      {
        method: 'initialize',
        service: undefined,
        budgetMs: 1200,
        mustSucceed: true,
        spelling: 'number',
        token: false,
      },
      () => `"protocolVersion":"${revision}","capabilities":{${declared}},"clientInfo":${info}`,
      (entry) => {
        entry.next = () => this.#initialized()
      },
    )
    if (manners === 'eager') this.notify('notifications/initialized')
  }

  /** Sends a request; `params` are the members besides `_meta`, made with its nonce. */
  request(asking: Asking, params: (nonce: string) => string, made?: (entry: Waiting) => void): Entry {
    const { entry, text } = this.prepare(asking, params, made)
    this.say(text, [entry])
    return entry
  }

  /** A request that is noted as sent, and is sent by whoever asked for it. */
  prepare(
    { method, service, budgetMs, mustSucceed, spelling, token, meta }: Asking,
    params: (nonce: string) => string,
    made?: (entry: Waiting) => void,
  ): { readonly entry: Entry; readonly text: string } {
    const count = ++this.#count
    const nonce = `${this.name}-${count}`
    const id = spelt(spelling, count)
    const budget = budgetMs + this.#waitMs
    const entry = this.#ledger.sent({
      client: this.name,
      nonce,
      id,
      method,
      service,
      budgetMs: budget,
      mustSucceed,
    })
    if (meta !== undefined) {
      entry.root = meta.root ?? entry
      entry.head = meta.head ?? 'right'
      // Requests that belong to no session have no order among each other.
      entry.order = undefined
    }
    const waiting: Waiting = { entry, next: undefined }
    this.inbox.expect(waiting)
    made?.(waiting)
    const tokenText = token ? `,"progressToken":${count}` : ''
    const members = params(nonce)
    entry.args = /"arguments":(.*)$/.exec(members)?.[1]
    entry.about = noncesIn(entry.args ?? '')[0]
    const metaText = `"_meta":{"about":"n:${nonce};"${tokenText}${metaMembers(meta)}}${members === '' ? '' : `,${members}`}`
    return { entry, text: `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":{${metaText}}}` }
  }

  /** Asks something else with an id that is in use. */
  again(id: string): void {
    const nonce = `${this.name}-${++this.#count}`
    const asking = { method: 'ping', service: undefined, budgetMs: 100 + this.#waitMs, mustSucceed: false }
    const entry = this.#ledger.sent({ client: this.name, nonce, id, ...asking })
    this.inbox.expect({ entry, next: undefined })
    this.say(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`, [entry])
  }

  /** Gives up a request of its own. */
  cancel(entry: Entry): void {
    entry.cancelledAt = this.#context.clock.now
    const text = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${entry.id}}}`
    let before: { readonly at: number; readonly taken: number } | undefined
    const arrives = (): void => {
      const taken = this.#wire.taken(entry)
      if (taken !== undefined) before = { at: this.#context.clock.now, taken }
    }
    this.#say({ text, entries: [], read: () => this.#cancelRead(entry, before), arrives, cancels: entry })
  }

  notify(method: string, params = '{}'): void {
    this.say(`{"jsonrpc":"2.0","method":"${method}","params":${params}}`)
  }

  /** Says a line, which holds these requests; nothing but the first is said before the handshake is over. */
  say(text: string, entries: readonly Entry[] = []): void {
    this.#say({ text, entries, read: undefined, arrives: undefined })
  }

  /** Later, unless it is gone by then. */
  sayLater(delayMs: number, text: string): void {
    this.#context.clock.after(delayMs, () => this.say(text))
  }

  /** Stops or goes on reading. */
  read(on: boolean): void {
    this.inbox.paused(!on)
    this.#wire.read(on)
  }

  /** Has nothing more to say, and listens on. */
  finish(): void {
    for (const said of this.#held?.splice(0) ?? []) {
      // They come before the answer to `initialize`, and wait for it.
      for (const entry of said.entries) entry.budgetMs += GRACE_MS
      this.#send(said)
    }
    // Whoever says nothing more answers no question, and nobody at a server without sessions waits for that.
    for (const { entry } of this.inbox.waiting)
      entry.untimed ||= this.#ledger.sessionless.has(entry.service ?? '')
    this.#ledger.endedInput(this.name)
    this.#wire.finish()
  }

  /** Loses its connections, where it has any that it can lose. */
  cut(): void {
    this.#wire.cut()
  }

  /** The proxy has let its session go. */
  gone(): void {
    this.#wire.gone?.()
  }

  /** Is gone from one moment to the next. */
  vanish(): void {
    this.inbox.vanished()
    this.#wire.vanish()
  }

  /** What comes before the answer to `initialize` waits for it, as long as servers may take to start. */
  get #waitMs(): number {
    return (this.plan.patienceMs ?? 0) + (this.plan.manners === 'eager' ? GRACE_MS : 0)
  }

  #say(said: Spoken): void {
    if (!this.speaks) return
    const [first] = said.entries
    // What belongs to no session does not wait for one.
    const isFree = first?.method === 'initialize' || (first ?? said.cancels)?.root !== undefined
    if (this.#held !== undefined && !isFree) this.#held.push(said)
    else this.#send(said)
  }

  /** From here on the client hears nothing of that request, but for what is on its way already. */
  #cancelRead(entry: Entry, before: { readonly at: number; readonly taken: number } | undefined): void {
    // Where messages may overtake each other, the proxy gives up nothing that it has not got yet.
    const { heardAt } = entry
    if (heardAt === undefined) return
    // Another instance than the one that learns of the cancel first may have got its call after it.
    if (this.#ledger.isSeveral && heardAt > (entry.cancelledAt ?? heardAt)) return
    const { now } = this.#context.clock
    this.#ledger.givenUp(entry)
    // What waited to be read may have been answered in the meantime, and so may a request that came with its cancel.
    const isExact = before?.at === now && heardAt !== now
    if (isExact) entry.silentFrom = before?.taken
    else this.#context.clock.after(0, () => this.#silence(entry))
  }

  #silence(entry: Entry): void {
    entry.silentFrom = this.#wire.taken(entry)
  }

  #initialized(): void {
    const held = this.#held
    this.#held = undefined
    this.notify('notifications/initialized')
    for (const said of held ?? []) this.#send(said)
  }

  #send({ text, entries, read, arrives, cancels }: Spoken): void {
    const isRead = (): void => {
      for (const entry of entries) entry.heardAt = this.#context.clock.now
      read?.()
    }
    const said = this.#context.wrong.fromClient?.(text) ?? text
    this.#wire.send({ text: said, entries, read: isRead, arrives, cancels })
  }
}

/** A message, and the requests in it. */
interface Spoken {
  readonly text: string
  readonly entries: readonly Entry[]
  /** Called when the proxy has read it. */
  readonly read: (() => void) | undefined
  /** Called when it is about to. */
  readonly arrives: (() => void) | undefined
  /** The request that it gives up. */
  readonly cancels?: Entry | undefined
}

/** A request that waits for its answer, and what the client does then. */
export interface Waiting {
  readonly entry: Entry
  next: ((ok: boolean, text: string) => void) | undefined
}
