// Requests without a session over HTTP: each is a POST of its own, and has a response of its own.
//
// MCP 2026-07-28, Transports, Streamable HTTP: whoever closes a response gives its request up, and what was said on it
// cannot be had again.

import type { AnswerHead } from './answer-reader.js'
import { headLines, isWrongHead, repeatedOf } from './request-head.js'
import type { ClientInbox } from './client-inbox.js'
import type { Said } from './client-wire.js'
import type { ToldEvent } from './event-reader.js'
import type { HttpRequestsParts } from './http-requests.js'
import type { HttpLine } from './http-line.js'
import { HttpLines } from './http-lines.js'
import { refuse } from './http-refusals.js'
import { requestText } from './http-request.js'
import {
  type Answer,
  Response,
  type ResponseOwner,
  type ClientExchange,
  entriesOf,
  excuse,
  newExchange,
} from './client-exchange.js'
import { at, numberAt, parse, rawId } from './json.js'
import type { Entry } from './ledger.js'
import type { Random } from './random.js'

/** By then the proxy has seen that nobody listens on a connection. */
const SEEN_MS = 5000

const ACCEPT = 'application/json, text/event-stream'

/** How the proxy refuses a head that says something else than the message. */
const MISMATCH = -32020

const badRequests: readonly number[] = [-32020, -32021, -32022, -32600, -32700]

/** The connections of one client that carry nothing else. */
export class StatelessPosts implements ResponseOwner {
  readonly #parts: HttpRequestsParts
  readonly #random: Random
  readonly #lines: HttpLines
  readonly #inbox: () => ClientInbox | undefined
  readonly #open = new Map<ClientExchange, HttpLine>()
  #count = 0
  #isOver = false

  constructor(parts: HttpRequestsParts, inbox: () => ClientInbox | undefined) {
    const { context, front, plan } = parts
    this.#parts = parts
    this.#inbox = inbox
    this.#random = context.dice(`${plan.name} posts`)
    this.#lines = new HttpLines(
      (script, number) => front.connect(`${plan.name}.p${number}`, plan, script),
      (what) => this.#bad(what),
    )
  }

  get backlogBytes(): number {
    return this.#lines.backlogBytes
  }

  get released(): boolean {
    return this.#lines.released
  }

  send(said: Said): void {
    const [entry] = said.entries
    if (entry !== undefined && isWrong(entry, said)) {
      entry.isMisheaded = true
      entry.mustSucceed = false
    }
    this.#post(newExchange(`${this.#parts.plan.name}/p${++this.#count}`, said))
  }

  /** Gives up a request by closing its response; `seen` is called when the proxy knows. */
  close(entry: Entry, seen: () => void): void {
    const [exchange, line] = [...this.#open].find(([each]) => entriesOf(each).includes(entry)) ?? []
    if (exchange === undefined || line === undefined) return
    this.#open.delete(exchange)
    this.#watch(line, entry, seen)
    line.cut(this.#random.pick(['reset', 'close']))
  }

  read(on: boolean): void {
    this.#lines.read(on)
  }

  /** Whoever goes wants none of the answers. */
  leave(): void {
    this.#isOver = true
    this.#drop(() => true)
    this.#lines.leave('close')
  }

  /** Some connections are lost. */
  cut(): void {
    this.#drop(() => this.#random.chance(0.8))
  }

  head({ headers }: AnswerHead, exchange: ClientExchange): void {
    if (headers.has('mcp-session-id')) this.#wrongForm(`${exchange.name} was given a session`)
    const isStream = headers.get('content-type') === 'text/event-stream'
    if (isStream && headers.get('x-accel-buffering') !== 'no')
      this.#wrongForm(`${exchange.name} may be kept back on its way`)
  }

  arrived(exchange: ClientExchange): void {
    if (exchange.said === undefined || exchange.heard) return
    exchange.heard = true
    exchange.said.read()
  }

  answering(): void {}

  event({ id, data, upTo }: ToldEvent, exchange: ClientExchange): void {
    if (id !== undefined) this.#wrongForm(`${exchange.name} was given an event with an id: ${data}`)
    if (data !== '') this.#told(data, upTo, exchange)
  }

  answered(answer: Answer, exchange: ClientExchange): void {
    this.#open.delete(exchange)
    const message = parse(answer.text)
    if (at(message, 'jsonrpc') === '2.0' && rawId(answer.text) !== undefined) {
      this.#judge(answer, message, exchange)
      this.#told(answer.text, answer.upTo, exchange)
    } else this.#refused(answer, exchange)
    this.#closeIdle()
  }

  ended(exchange: ClientExchange): void {
    this.#open.delete(exchange)
    for (const entry of entriesOf(exchange)) {
      if (entry.isMisheaded) this.#served(entry, 'a stream')
      if (entry.answers.length === 0) entry.excused ||= !this.#parts.front.listening || this.#lines.wasPaused
    }
    this.#closeIdle()
  }

  /** The proxy has ended the connection: a request that it has not got can be sent again. */
  lost(exchange: ClientExchange): void {
    if (!this.#open.delete(exchange)) return
    const { front, http, context } = this.#parts
    if (!exchange.heard && front.listening && !this.#isOver)
      return void context.clock.after(this.#random.next() * http.againMs, () => {
        if (front.listening && !this.#isOver) this.#post(exchange)
        else excuse(exchange)
      })
    if (!front.listening || !exchange.heard || this.#lines.wasPaused) excuse(exchange)
  }

  #post(exchange: ClientExchange): void {
    const { http } = this.#parts
    const text = exchange.said?.text ?? ''
    const [entry] = entriesOf(exchange)
    const method = entry?.method ?? ''
    const head = this.#parts.context.wrong.rightHeads === true ? 'right' : (entry?.head ?? 'right')
    const fields = headLines(head, repeatedOf(method, text))
    const accept = http.accept.includes('event-stream') ? http.accept : ACCEPT
    const request = { method: 'POST', session: undefined, revision: undefined, body: text, fields } as const
    const line = this.#lines.ask(
      requestText(request, { ...http, accept }, this.#random),
      new Response(this, exchange, this.#parts.context),
    )
    exchange.line = line
    this.#open.set(exchange, line)
  }

  /** The connections of these requests are lost, and with them whatever the proxy says about them. */
  #drop(isLost: () => boolean): void {
    for (const [exchange, line] of this.#open) {
      if (!isLost()) continue
      const { ledger } = this.#parts
      this.#open.delete(exchange)
      for (const entry of entriesOf(exchange)) {
        entry.excused = true
        entry.mustSucceed = false
        this.#watch(line, entry, () => {
          if (entry.heardAt !== undefined) ledger.givenUp(entry)
        })
      }
      line.cut(this.#random.pick(['reset', 'close']))
      for (const entry of entriesOf(exchange)) this.#inbox()?.lost(entry)
    }
  }

  /** Sees to it that the proxy sees it. */
  #watch({ socket }: HttpLine, entry: Entry, seen: () => void): void {
    const { context, ledger } = this.#parts
    entry.isClosed = true
    socket.once('close', seen)
    context.clock.after(SEEN_MS, () => {
      if (!socket.destroyed)
        ledger.fail('not-cancelled', `${entry.nonce} is not seen to be given up: its connection is open`)
    })
  }

  #told(text: string, upTo: number, exchange: ClientExchange): void {
    const answers = (entry: Entry): boolean => entriesOf(exchange).includes(entry)
    this.#inbox()?.told(text, { stream: exchange.name, upTo, answers })
  }

  #judge({ status, text }: Answer, message: unknown, exchange: ClientExchange): void {
    const code = numberAt(message, 'error', 'code')
    for (const entry of entriesOf(exchange))
      if (entry.isMisheaded && code !== MISMATCH) this.#served(entry, text)
    const isInvalid = status === 400 && code === -32602
    if (status !== statusOf(code) && !isInvalid)
      this.#wrongForm(`${exchange.name} was answered with ${status} ${text}`)
  }

  #served({ nonce }: Entry, what: string): void {
    this.#parts.ledger.fail('wrong-head', `${nonce} says something else in its head and was given ${what}`)
  }

  #refused(answer: Answer, exchange: ClientExchange): void {
    refuse(exchange, answer, this.#parts, this.#inbox())
  }

  #closeIdle(): void {
    this.#lines.closeIdle(this.#isOver ? 0 : this.#parts.http.idleMax)
  }

  #wrongForm(what: string): void {
    this.#parts.ledger.fail('wrong-form', what)
  }

  #bad(what: string): void {
    this.#parts.ledger.fail('bad-line', `${this.#parts.plan.name}: ${what}`)
  }
}

function isWrong({ head, method }: Entry, { text }: Said): boolean {
  return isWrongHead(head, repeatedOf(method, text))
}

/** Of an error that is the whole answer; of a result without one. */
function statusOf(code: number | undefined): number {
  if (code === undefined) return 200
  if (code === -32601) return 404
  return badRequests.includes(code) ? 400 : 200
}
