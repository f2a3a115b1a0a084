// A scripted client at the proxy's stdin and stdout.

import type { Connection } from '../../src/jsonrpc/connection.js'
import type { LastWaits } from '../../src/transports/last-waits.js'
import { NdjsonConnection, type NdjsonOptions } from '../../src/transports/ndjson.js'
import { type Asking, spelt } from './asking.js'
import type { Around } from './byte-flow.js'
import { ClientEars } from './client-ears.js'
import type { Entry, Ledger } from './ledger.js'
import type { Servers } from './list-watch.js'
import { ReadableEnd, WritableEnd } from './pipes.js'
import type { ClientPlan } from './plan.js'

/** What servers that are still starting are given before a client is answered. */
const GRACE_MS = 1000

/** One client, from its first byte to its last. */
export class SimClient {
  readonly name: string
  readonly plan: ClientPlan
  readonly connection: Connection
  readonly ears: ClientEars
  /** Resources that it was granted to follow, and those that it did not want to follow any more at some time. */
  readonly followed: Set<string> = new Set()
  readonly unfollowed: Set<string> = new Set()
  readonly #around: Around
  readonly #ledger: Ledger
  readonly #input: ReadableEnd
  readonly #output: WritableEnd
  #count = 0
  #held: Said[] | undefined

  constructor(
    around: Around,
    plan: ClientPlan,
    ledger: Ledger,
    proxy: { readonly ndjson: NdjsonOptions; readonly timers: LastWaits },
    servers: Servers,
  ) {
    this.name = plan.name
    this.plan = plan
    this.#around = around
    this.#ledger = ledger
    this.ears = new ClientEars(this, ledger, servers)
    this.#input = new ReadableEnd(around, `${plan.name}>`, plan.input)
    this.#output = new WritableEnd(around, `${plan.name}<`, plan.output, {
      bytes: (chunk) => this.ears.hear(chunk),
      end: () => this.ears.gone(),
    })
    this.connection = new NdjsonConnection(
      this.#input.stream,
      this.#output.stream,
      proxy.ndjson,
      proxy.timers,
    )
  }

  /** It has not ended its own side, and has not been left. */
  get speaks(): boolean {
    return !this.#input.flow.ending && !this.ears.left
  }

  /** Bytes that the proxy keeps for it. */
  get backlogBytes(): number {
    return this.connection.backlogBytes
  }

  /** Both streams are given back. */
  get released(): boolean {
    return this.#input.stream.destroyed && this.#output.stream.destroyed
  }

  shakeHands(): void {
    const { manners, revision, capabilities } = this.plan
    if (manners === 'bare') return
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
    { method, service, budgetMs, mustSucceed, spelling, token }: Asking,
    params: (nonce: string) => string,
    made?: (entry: Waiting) => void,
  ): { readonly entry: Entry; readonly text: string } {
    const count = ++this.#count
    const nonce = `${this.name}-${count}`
    const id = spelt(spelling, count)
    // What comes before the answer to `initialize` waits for it, as long as servers may take to start.
    const waitMs = this.plan.manners === 'eager' ? GRACE_MS : 0
    const budget = budgetMs + waitMs
    const entry = this.#ledger.sent({
      client: this.name,
      nonce,
      id,
      method,
      service,
      budgetMs: budget,
      mustSucceed,
    })
    const waiting: Waiting = { entry, next: undefined }
    this.ears.expect(waiting)
    made?.(waiting)
    const tokenText = token ? `,"progressToken":${count}` : ''
    const members = params(nonce)
    entry.args = /"arguments":(.*)$/.exec(members)?.[1]
    const meta = `"_meta":{"about":"n:${nonce};"${tokenText}}${members === '' ? '' : `,${members}`}`
    return { entry, text: `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":{${meta}}}` }
  }

  /** Asks something else with an id that is in use. */
  again(id: string): void {
    const nonce = `${this.name}-${++this.#count}`
    const asking = { method: 'ping', service: undefined, budgetMs: 100, mustSucceed: false }
    const entry = this.#ledger.sent({ client: this.name, nonce, id, ...asking })
    this.ears.expect({ entry, next: undefined })
    this.say(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`, [entry])
  }

  /** Gives up a request of its own. */
  cancel(entry: Entry): void {
    entry.cancelledAt = this.#around.clock.now
    const text = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${entry.id}}}`
    let before: { readonly at: number; readonly taken: number } | undefined
    const arrives = (): void => {
      if (this.backlogBytes === 0) before = { at: this.#around.clock.now, taken: this.#output.taken }
    }
    this.#say({ text, entries: [], read: () => this.#cancelRead(entry, before), arrives })
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
    this.#around.clock.after(delayMs, () => this.say(text))
  }

  /** Stops or goes on reading. */
  read(on: boolean): void {
    this.ears.paused(!on)
    this.#output.flow.open(on)
  }

  /** Has nothing more to say, and listens on. */
  finish(): void {
    for (const said of this.#held?.splice(0) ?? []) this.#send(said)
    this.#input.flow.end()
  }

  /** Is gone from one moment to the next. */
  vanish(): void {
    this.ears.vanished()
    this.#input.flow.end()
    this.#output.break()
  }

  #say(said: Said): void {
    if (!this.speaks) return
    if (this.#held !== undefined && said.entries[0]?.method !== 'initialize') this.#held.push(said)
    else this.#send(said)
  }

  /** From here on the client hears nothing of that request, but for what is on its way already. */
  #cancelRead(entry: Entry, before: { readonly at: number; readonly taken: number } | undefined): void {
    const { now } = this.#around.clock
    this.#ledger.givenUp(entry)
    // What waited to be read may have been answered in the meantime, and so may a request that came with its cancel.
    const isExact = before?.at === now && entry.heardAt !== now
    if (isExact) entry.silentFrom = before?.taken
    else this.#around.clock.after(0, () => this.#silence(entry))
  }

  #silence(entry: Entry): void {
    if (this.connection.backlogBytes === 0) entry.silentFrom = this.#output.taken
  }

  #initialized(): void {
    const held = this.#held
    this.#held = undefined
    this.notify('notifications/initialized')
    for (const said of held ?? []) this.#send(said)
  }

  #send({ text, entries, read, arrives }: Said): void {
    const isRead = (): void => {
      for (const entry of entries) entry.heardAt = this.#around.clock.now
      read?.()
    }
    this.#input.add(Buffer.from(`${text}\n`), isRead, arrives)
  }
}

/** A line, and the requests in it. */
interface Said {
  readonly text: string
  readonly entries: readonly Entry[]
  /** Called when the proxy has read it. */
  readonly read: (() => void) | undefined
  /** Called when it is about to. */
  readonly arrives: (() => void) | undefined
}

/** A request that waits for its answer, and what the client does then. */
export interface Waiting {
  readonly entry: Entry
  next: ((ok: boolean) => void) | undefined
}
