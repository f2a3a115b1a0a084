// Requests without a session over HTTP: each is a POST of its own, and has a response of its own.
//
// MCP 2026-07-28, Transports, Streamable HTTP: whoever closes a response gives its request up, and what was said on it
// cannot be had again.

import type { AnswerHead } from './answer-reader.js'
import { headLines, isWrongHead, repeatedOf } from './claimed-head.js'
import type { ClientEars } from './client-ears.js'
import type { Said } from './client-wire.js'
import type { ToldEvent } from './event-reader.js'
import type { HttpCourierParts } from './http-courier.js'
import type { HttpLine } from './http-line.js'
import { HttpLines } from './http-lines.js'
import { isCrowded } from './http-refusals.js'
import { requestText } from './http-request.js'
import {
  type Answer,
  Response,
  type ResponseOwner,
  type Telling,
  entriesOf,
  newTelling,
} from './http-telling.js'
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
export class ClaimedPosts implements ResponseOwner {
  readonly #parts: HttpCourierParts
  readonly #random: Random
  readonly #lines: HttpLines
  readonly #ears: () => ClientEars | undefined
  readonly #open = new Map<Telling, HttpLine>()
  #count = 0
  #isOver = false

  constructor(parts: HttpCourierParts, ears: () => ClientEars | undefined) {
    const { around, front, plan } = parts
    this.#parts = parts
    this.#ears = ears
    this.#random = around.dice(`${plan.name} posts`)
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
    this.#post(newTelling(`${this.#parts.plan.name}/p${++this.#count}`, said))
  }

  /** Gives up a request by closing its response; `seen` is called when the proxy knows. */
  close(entry: Entry, seen: () => void): void {
    const [telling, line] = [...this.#open].find(([each]) => entriesOf(each).includes(entry)) ?? []
    if (telling === undefined || line === undefined) return
    this.#open.delete(telling)
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

  head({ headers }: AnswerHead, telling: Telling): void {
    if (headers.has('mcp-session-id')) this.#wrongForm(`${telling.name} was given a session`)
    const isStream = headers.get('content-type') === 'text/event-stream'
    if (isStream && headers.get('x-accel-buffering') !== 'no')
      this.#wrongForm(`${telling.name} may be kept back on its way`)
  }

  arrived(telling: Telling): void {
    if (telling.said === undefined || telling.heard) return
    telling.heard = true
    telling.said.read()
  }

  answering(): void {}

  event({ id, data, upTo }: ToldEvent, telling: Telling): void {
    if (id !== undefined) this.#wrongForm(`${telling.name} was given an event with an id: ${data}`)
    if (data !== '') this.#told(data, upTo, telling)
  }

  answered(answer: Answer, telling: Telling): void {
    this.#open.delete(telling)
    const message = parse(answer.text)
    if (at(message, 'jsonrpc') === '2.0' && rawId(answer.text) !== undefined) {
      this.#judge(answer, message, telling)
      this.#told(answer.text, answer.upTo, telling)
    } else this.#refused(answer, telling)
    this.#closeIdle()
  }

  ended(telling: Telling): void {
    this.#open.delete(telling)
    for (const entry of entriesOf(telling)) {
      if (entry.isMisheaded) this.#served(entry, 'a stream')
      if (entry.answers.length === 0) entry.excused ||= !this.#parts.front.listening || this.#lines.wasPaused
    }
    this.#closeIdle()
  }

  /** The proxy has ended the connection: a request that it has not got can be sent again. */
  lost(telling: Telling): void {
    if (!this.#open.delete(telling)) return
    const { front, http, around } = this.#parts
    if (!telling.heard && front.listening && !this.#isOver)
      return void around.clock.after(this.#random.next() * http.againMs, () => {
        if (front.listening && !this.#isOver) this.#post(telling)
        else this.#excuse(telling)
      })
    if (!front.listening || !telling.heard || this.#lines.wasPaused) this.#excuse(telling)
  }

  #post(telling: Telling): void {
    const { http } = this.#parts
    const text = telling.said?.text ?? ''
    const [entry] = entriesOf(telling)
    const method = entry?.method ?? ''
    const head = this.#parts.around.wrong.rightHeads === true ? 'right' : (entry?.head ?? 'right')
    const fields = headLines(head, repeatedOf(method, text))
    const accept = http.accept.includes('event-stream') ? http.accept : ACCEPT
    const request = { method: 'POST', session: undefined, revision: undefined, body: text, fields } as const
    const line = this.#lines.ask(
      requestText(request, { ...http, accept }, this.#random),
      new Response(this, telling, this.#parts.around),
    )
    telling.line = line
    this.#open.set(telling, line)
  }

  /** The connections of these requests are lost, and with them whatever the proxy says about them. */
  #drop(isLost: () => boolean): void {
    for (const [telling, line] of this.#open) {
      if (!isLost()) continue
      const { ledger } = this.#parts
      this.#open.delete(telling)
      for (const entry of entriesOf(telling)) {
        entry.excused = true
        entry.mustSucceed = false
        this.#watch(line, entry, () => {
          if (entry.heardAt !== undefined) ledger.givenUp(entry)
        })
      }
      line.cut(this.#random.pick(['reset', 'close']))
      for (const entry of entriesOf(telling)) this.#ears()?.lost(entry)
    }
  }

  /** Sees to it that the proxy sees it. */
  #watch({ socket }: HttpLine, entry: Entry, seen: () => void): void {
    const { around, ledger } = this.#parts
    entry.isClosed = true
    socket.once('close', seen)
    around.clock.after(SEEN_MS, () => {
      if (!socket.destroyed)
        ledger.fail('not-cancelled', `${entry.nonce} is not seen to be given up: its connection is open`)
    })
  }

  #told(text: string, upTo: number, telling: Telling): void {
    const answers = (entry: Entry): boolean => entriesOf(telling).includes(entry)
    this.#ears()?.told(text, { stream: telling.name, upTo, answers })
  }

  #judge({ status, text }: Answer, message: unknown, telling: Telling): void {
    const code = numberAt(message, 'error', 'code')
    for (const entry of entriesOf(telling))
      if (entry.isMisheaded && code !== MISMATCH) this.#served(entry, text)
    const isInvalid = status === 400 && code === -32602
    if (status !== statusOf(code) && !isInvalid)
      this.#wrongForm(`${telling.name} was answered with ${status} ${text}`)
  }

  #served({ nonce }: Entry, what: string): void {
    this.#parts.ledger.fail('wrong-head', `${nonce} says something else in its head and was given ${what}`)
  }

  #refused(answer: Answer, telling: Telling): void {
    const { front } = this.#parts
    for (const entry of entriesOf(telling)) {
      entry.mustSucceed &&= !isCrowded(answer, front)
      this.#ears()?.refused(entry, `HTTP ${answer.status} ${answer.text}`)
    }
  }

  #excuse(telling: Telling): void {
    for (const entry of entriesOf(telling)) entry.excused = true
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
