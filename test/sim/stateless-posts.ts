// Requests without a session over HTTP, next to the session of the same client. Each is a separate POST with its own
// response. A client that closes a response cancels its request, and the response cannot be resumed (MCP 2026-07-28,
// Transports, Streamable HTTP).

import type { ClientWire, Said } from './client.js'
import { type Answer, ClientExchange, type ResponseOwner } from './client-exchange.js'
import type { ToldEvent } from './http-reader.js'
import { type HttpLine, HttpRequests, type WireParts } from './http-requests.js'
import { at, numberAt, parse, rawId } from './json.js'
import type { Entry } from './ledger.js'
import { headLines, isWrongHead, namedIn } from './request-meta.js'

/** The proxy notices a closed connection within this time. */
const SEEN_MS = 5000
const ACCEPT = 'application/json, text/event-stream'
const MISMATCH = -32020

const badRequests: readonly (number | undefined)[] = [-32020, -32021, -32022, -32600, -32700]

export class MixedWire implements ClientWire {
  readonly #old: ClientWire
  readonly #posts: StatelessPosts

  constructor(parts: WireParts, old: ClientWire) {
    this.#old = old
    this.#posts = new StatelessPosts(parts)
  }

  get speaks(): boolean {
    return this.#old.speaks
  }

  get hears(): boolean {
    return this.#old.hears
  }

  get lines(): ClientWire['lines'] {
    return [...this.#old.lines, this.#posts.requests]
  }

  send(said: Said): void {
    const [entry] = said.entries
    if (said.cancels?.root !== undefined) this.#posts.close(said.cancels, said.read)
    else if (entry?.root === undefined) this.#old.send(said)
    else this.#posts.send(said, entry)
  }

  /** Requests without a session are in no order with other messages. */
  taken(entry: Entry): number | undefined {
    return entry.root === undefined ? this.#old.taken(entry) : undefined
  }

  finish(): void {
    this.#old.finish()
    this.#posts.leave()
  }

  gone(): void {
    this.#posts.leave()
  }

  vanish(): void {
    this.#old.vanish()
    this.#posts.leave()
  }

  cut(): void {
    this.#old.cut()
    this.#posts.cut()
  }
}

/** The connections of one client for such requests. */
class StatelessPosts implements ResponseOwner {
  readonly requests: HttpRequests
  readonly #parts: WireParts
  readonly #open = new Map<ClientExchange, HttpLine>()
  #count = 0

  constructor(parts: WireParts) {
    const { plan, http } = parts
    const accept = http.accept.includes('event-stream') ? http.accept : ACCEPT
    // Each of these requests names its own revision, unlike those of a session.
    this.#parts = { ...parts, http: { ...http, accept, session: true } }
    this.requests = new HttpRequests(this.#parts, 'posts', (number) => `${plan.name}.p${number}`)
  }

  send(said: Said, entry: Entry): void {
    if (isWrongHead(entry.head, namedIn(entry.method, parse(said.text)))) {
      entry.isMisheaded = true
      entry.mustSucceed = false
    }
    this.#post(new ClientExchange(this, this.#parts, `p${++this.#count}`, said))
  }

  /** Cancels a request by closing its response. `seen` is called when the proxy notices. */
  close(entry: Entry, seen: () => void): void {
    const [exchange, line] = [...this.#open].find(([{ entries }]) => entries.includes(entry)) ?? []
    if (exchange === undefined || line === undefined) return
    this.#open.delete(exchange)
    this.#watch(line, entry, seen)
    line.cut(this.requests.random.pick(['reset', 'close']))
  }

  leave(): void {
    this.requests.isOver = true
    this.#drop(() => true)
    this.requests.leave('close')
  }

  cut(): void {
    this.#drop(() => this.requests.random.chance(0.8))
  }

  order(): undefined {}

  head(_status: number, headers: ReadonlyMap<string, string>, { name }: ClientExchange): void {
    if (headers.has('mcp-session-id')) this.#wrongForm(`${name} was given a session`)
    const isStream = headers.get('content-type') === 'text/event-stream'
    if (isStream && headers.get('x-accel-buffering') !== 'no')
      this.#wrongForm(`${name} may be kept back on its way`)
  }

  event({ id, data, upTo }: ToldEvent, exchange: ClientExchange): void {
    if (id !== undefined) this.#wrongForm(`${exchange.name} was given an event with an id: ${data}`)
    if (data !== '') exchange.told(data, upTo)
  }

  answered(answer: Answer, exchange: ClientExchange): void {
    this.#open.delete(exchange)
    const message = parse(answer.text)
    if (at(message, 'jsonrpc') === '2.0' && rawId(answer.text) !== undefined) {
      this.#judge(answer, message, exchange)
      exchange.told(answer.text, answer.upTo)
    } else exchange.refuse(answer)
    this.requests.closeIdle()
  }

  ended(exchange: ClientExchange): void {
    this.#open.delete(exchange)
    for (const entry of exchange.entries) {
      if (entry.isMisheaded) this.#served(entry, 'a stream')
      if (entry.answers.length === 0)
        entry.excused ||= !this.#parts.front.listening || this.requests.wasPaused
    }
    this.requests.closeIdle()
  }

  /** The proxy ended the connection. The client repeats a request that did not arrive. */
  lost(exchange: ClientExchange): void {
    if (!this.#open.delete(exchange)) return
    const { front, http, context } = this.#parts
    const isThere = (): boolean => front.listening && !this.requests.isOver
    if (!exchange.heard && isThere())
      return void context.clock.after(this.requests.random.next() * http.againMs, () => {
        if (isThere()) this.#post(exchange)
        else exchange.excuse()
      })
    if (!front.listening || !exchange.heard || this.requests.wasPaused) exchange.excuse()
  }

  #post(exchange: ClientExchange): void {
    const text = exchange.said?.text ?? ''
    const { method = '', head: own = 'right' } = exchange.entries[0] ?? {}
    const head = this.#parts.context.wrong.rightHeads === true ? 'right' : own
    const fields = headLines(head, method, namedIn(method, parse(text)))
    exchange.ask(this.requests, { method: 'POST', body: text, fields })
    if (exchange.line !== undefined) this.#open.set(exchange, exchange.line)
  }

  /** Loses some connections, with the requests and responses on them. */
  #drop(isLost: () => boolean): void {
    const { context, inbox } = this.#parts
    for (const [exchange, line] of this.#open) {
      if (!isLost()) continue
      this.#open.delete(exchange)
      for (const entry of exchange.entries) {
        entry.excused = true
        entry.mustSucceed = false
        this.#watch(line, entry, () => {
          if (entry.heardAt !== undefined) context.ledger.givenUp(entry)
        })
      }
      line.cut(this.requests.random.pick(['reset', 'close']))
      for (const entry of exchange.entries) inbox.lost(entry)
    }
  }

  /** Checks that the proxy notices the closed connection. */
  #watch({ socket }: HttpLine, entry: Entry, seen: () => void): void {
    const { ledger, clock } = this.#parts.context
    entry.isClosed = true
    socket.once('close', seen)
    clock.after(SEEN_MS, () => {
      if (!socket.destroyed)
        ledger.fail('not-cancelled', `${entry.nonce} is not seen to be given up: its connection is open`)
    })
  }

  #judge({ status, text }: Answer, message: unknown, { name, entries }: ClientExchange): void {
    const code = numberAt(message, 'error', 'code')
    for (const entry of entries) if (entry.isMisheaded && code !== MISMATCH) this.#served(entry, text)
    const isInvalid = status === 400 && code === -32602
    const expected = code === -32601 ? 404 : badRequests.includes(code) ? 400 : 200
    if (status !== expected && !isInvalid) this.#wrongForm(`${name} was answered with ${status} ${text}`)
  }

  #served({ nonce }: Entry, what: string): void {
    const said = `${nonce} says something else in its head and was given ${what}`
    this.#parts.context.ledger.fail('wrong-head', said)
  }

  #wrongForm(what: string): void {
    this.#parts.context.ledger.fail('wrong-form', what)
  }
}
