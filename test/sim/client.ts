import type { SimContext } from './byte-flow.js'
import { ClientInbox } from './client-inbox.js'
import { GRACE_MS } from './configuration.js'
import { noncesIn } from './json.js'
import type { Entry } from './ledger.js'
import type { Servers } from './list-watch.js'
import type { ClientPlan, Spelling } from './plan.js'
import { type RequestMeta, metaMembers } from './request-meta.js'

export interface Said {
  readonly text: string
  readonly entries: readonly Entry[]
  readonly read: () => void
  /** Called just before the proxy reads it, if the transport can tell. */
  readonly arrives?: (() => void) | undefined
  /** The request that this message cancels. */
  readonly cancels?: Entry | undefined
}

/** The connections between a client and the proxy. */
interface Lines {
  /** Bytes that the proxy buffers for the client. */
  readonly backlogBytes: number
  readonly released: boolean
  read(on: boolean): void
}

/** The transport between a client and the proxy. */
export interface ClientWire {
  readonly speaks: boolean
  /** It receives messages outside of requests. */
  readonly hears: boolean
  readonly session?: string | undefined
  readonly lines: readonly Lines[]
  send(said: Said): void
  /** Bytes that the proxy has sent on the stream of the answer to this request. Undefined if unknown. */
  taken(entry: Entry): number | undefined
  finish(): void
  /** The session has ended, so the remaining connections end too. */
  gone?(): void
  vanish(): void
  cut(): void
}

export interface Asking {
  readonly method: string
  readonly service?: string | undefined
  readonly budgetMs: number
  readonly mustSucceed?: boolean
  readonly spelling?: Spelling
  /** The request has a progress token. Other clients use the same tokens. */
  readonly token?: boolean
  readonly meta?: RequestMeta | undefined
}

export type Waiting = { readonly entry: Entry; next?: (ok: boolean, text: string) => void }

export class SimClient {
  readonly name: string
  readonly plan: ClientPlan
  readonly wire: ClientWire
  readonly inbox: ClientInbox
  /** Resources that the client may follow, and those that it was to stop following at some time. */
  readonly followed: Set<string> = new Set()
  readonly unfollowed: Set<string> = new Set()
  readonly #context: SimContext
  #count = 0
  #held: Said[] | undefined

  constructor(
    context: SimContext,
    plan: ClientPlan,
    servers: Servers,
    wireOf: (inbox: ClientInbox) => ClientWire,
  ) {
    this.name = plan.name
    this.plan = plan
    this.#context = context
    this.inbox = new ClientInbox(this, servers, context)
    this.wire = wireOf(this.inbox)
  }

  /** The client has not ended its input, and the proxy has not dropped it. */
  get speaks(): boolean {
    return this.wire.speaks && !this.inbox.left
  }

  get backlogBytes(): number {
    return this.wire.lines.reduce((sum, { backlogBytes }) => sum + backlogBytes, 0)
  }

  get released(): boolean {
    return this.wire.lines.every(({ released }) => released)
  }

  shakeHands(): void {
    const { manners, revision, capabilities } = this.plan
    if (manners === 'session') return
    if (manners === 'proper') this.#held = []
    const declared = capabilities.map((name) => `"${name}":{}`).join(',')
    const info = `{"name":"${this.name}","version":"1"}`
    this.request(
      { method: 'initialize', budgetMs: 1200, mustSucceed: true },
      () => `"protocolVersion":"${revision}","capabilities":{${declared}},"clientInfo":${info}`,
      (waiting) => (waiting.next = () => this.#initialized()),
    )
    if (manners === 'eager') this.notify('notifications/initialized')
  }

  /** `params` makes the members other than `_meta` from the nonce. */
  request(
    asking: Asking,
    params: (nonce: string) => string = () => '',
    made?: (waiting: Waiting) => void,
  ): Entry {
    const { entry, text } = this.prepare(asking, params, made)
    this.say(text, [entry])
    return entry
  }

  /** Records a request as sent. The caller sends the text. */
  prepare(
    { method, service, budgetMs, mustSucceed = false, spelling = 'number', token = false, meta }: Asking,
    params: (nonce: string) => string,
    made?: (waiting: Waiting) => void,
  ): { readonly entry: Entry; readonly text: string } {
    const nonce = `${this.name}-${++this.#count}`
    const [count, id] = [this.#count, spelt[spelling](this.#count)]
    const entry = this.#sent({ nonce, id, method, service, budgetMs, mustSucceed })
    if (meta !== undefined) {
      entry.root = meta.root ?? entry
      entry.head = meta.head ?? 'right'
      // Requests without a session have no order.
      entry.order = undefined
    }
    const waiting: Waiting = { entry }
    this.inbox.expect(waiting)
    made?.(waiting)
    const tokenText = token ? `,"progressToken":${count}` : ''
    const members = params(nonce)
    entry.args = /"arguments":(.*)$/.exec(members)?.[1]
    entry.about = noncesIn(entry.args ?? '')[0]
    const metaText = `"_meta":{"about":"n:${nonce};"${tokenText}${metaMembers(meta)}}${members === '' ? '' : `,${members}`}`
    return { entry, text: `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":{${metaText}}}` }
  }

  again(id: string): void {
    const nonce = `${this.name}-${++this.#count}`
    const asking = { method: 'ping', service: undefined, budgetMs: 100, mustSucceed: false }
    const entry = this.#sent({ nonce, id, ...asking })
    this.inbox.expect({ entry })
    this.say(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`, [entry])
  }

  cancel(entry: Entry): void {
    entry.cancelledAt = this.#context.clock.now
    const text = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${entry.id}}}`
    let before: { readonly at: number; readonly taken: number } | undefined
    const arrives = (): void => {
      const taken = this.wire.taken(entry)
      if (taken !== undefined) before = { at: this.#context.clock.now, taken }
    }
    this.#say({ text, entries: [], read: () => this.#cancelRead(entry, before), arrives, cancels: entry })
  }

  notify(method: string, params = '{}'): void {
    this.say(`{"jsonrpc":"2.0","method":"${method}","params":${params}}`)
  }

  /** Sends a line with these requests. Until the handshake is over, only the first line is sent. */
  say(text: string, entries: readonly Entry[] = []): void {
    this.#say({ text, entries, read: () => {} })
  }

  read(on: boolean): void {
    this.inbox.paused(!on)
    for (const line of this.wire.lines) line.read(on)
  }

  /** Ends the input and continues to read. */
  finish(): void {
    const { ledger } = this.#context
    for (const said of this.#held?.splice(0) ?? []) {
      // These lines precede the answer to `initialize`, and wait for it.
      for (const entry of said.entries) entry.budgetMs += GRACE_MS
      this.#send(said)
    }
    // The client answers no more questions. At a server without sessions no process waits for an answer, so the call
    // stays open.
    for (const { entry } of this.inbox.waiting) entry.untimed ||= ledger.sessionless.has(entry.service ?? '')
    ledger.endedInput(this.name)
    this.wire.finish()
  }

  vanish(): void {
    this.inbox.vanished()
    this.wire.vanish()
  }

  /** A request that precedes the answer to `initialize` waits as long as servers may take to start. */
  #sent(request: Omit<Parameters<SimContext['ledger']['sent']>[0], 'client'>): Entry {
    const { patienceMs = 0, manners } = this.plan
    const waitMs = patienceMs + (manners === 'eager' ? GRACE_MS : 0)
    const budgetMs = request.budgetMs + waitMs
    return this.#context.ledger.sent({ ...request, client: this.name, budgetMs })
  }

  #say(said: Said): void {
    if (!this.speaks) return
    const [first] = said.entries
    // A request without a session does not wait for the handshake.
    const isFree = first?.method === 'initialize' || (first ?? said.cancels)?.root !== undefined
    if (this.#held !== undefined && !isFree) this.#held.push(said)
    else this.#send(said)
  }

  /** The proxy has read the cancel, so no answer may follow except bytes that are already on their way. */
  #cancelRead(entry: Entry, before: { readonly at: number; readonly taken: number } | undefined): void {
    const { ledger, clock } = this.#context
    // A cancel that overtakes its request has no effect.
    const { heardAt } = entry
    if (heardAt === undefined) return
    // The call may reach its instance after another instance has learned of the cancel.
    if (ledger.isSeveral && heardAt > (entry.cancelledAt ?? heardAt)) return
    ledger.givenUp(entry)
    // A buffered cancel may be read after the answer was sent, and so may one that came together with its request.
    const isExact = before?.at === clock.now && heardAt !== clock.now
    if (isExact) entry.silentFrom = before?.taken
    else clock.after(0, () => (entry.silentFrom = this.wire.taken(entry)))
  }

  #initialized(): void {
    const held = this.#held
    this.#held = undefined
    this.notify('notifications/initialized')
    for (const said of held ?? []) this.#send(said)
  }

  #send(said: Said): void {
    const { clock, wrong } = this.#context
    const read = (): void => {
      for (const entry of said.entries) entry.heardAt = clock.now
      said.read()
    }
    this.wire.send({ ...said, text: wrong.fromClient?.(said.text) ?? said.text, read })
  }
}

const spelt: Readonly<Record<Spelling, (count: number) => string>> = {
  number: String,
  string: (count) => `"${count}"`,
  decimal: (count) => `${count}.0`,
  text: (count) => `"é${count}\\u0041"`,
}
