// One transcript of HTTP itself against one server.
//
// Lines are gone through in their order: a request is sent, a response or an event is
// waited for on the request it belongs to. What comes on other requests meanwhile waits.
// A difference does not stop the replay; what does not come, does.

import type { Runtime } from '../runtime/runtime.js'
import { errorText } from '../text/error-text.js'
import { type HttpCheck, check, partBytes, stepBytes, stepTitle } from './http-check.js'
import { ReplayHttpExchange, type Part } from './http-exchange.js'
import type { ExpectedStep, HttpStep, RequestStep, ResponseStep } from './http-line.js'
import type { Event, Place } from './outcome.js'
import type { Transcript } from './transcript.js'
import { Values } from './values.js'

export interface HttpReplayOptions {
  /** What the requests go to. */
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly runtime: Runtime
  /** How long one part may take to come. */
  readonly timeoutMs: number
}

/** How long a response that nothing more is expected of may still say something. */
const END_WAIT_MS = 5000

/** Replays one transcript; lives for one run. */
export class HttpReplay {
  readonly #transcript: Transcript
  readonly #options: HttpReplayOptions
  readonly #exchanges = new Map<string, ReplayHttpExchange>()
  /** Every one of them, also those whose name another one has now. */
  readonly #all = new Set<ReplayHttpExchange>()
  readonly #values = new Values()
  readonly #events: Event[] = []

  constructor(transcript: Transcript, options: HttpReplayOptions) {
    this.#transcript = transcript
    this.#options = options
  }

  async run(): Promise<readonly Event[]> {
    try {
      if (await this.#talk()) await this.#listen()
    } finally {
      for (const exchange of this.#all) exchange.cut()
    }
    return this.#events
  }

  /** False when something did not come. */
  async #talk(): Promise<boolean> {
    for (const step of this.#transcript.exchanges) if (!(await this.#go(step))) return false
    return true
  }

  async #go(step: HttpStep): Promise<boolean> {
    if (step.kind === 'request') return this.#tryToAsk(step)
    const exchange = this.#exchanges.get(step.on)
    if (exchange === undefined) {
      this.#events.push({ kind: 'failed', why: `line ${step.line} belongs to no request` })
      return false
    }
    if (step.kind === 'cut') {
      // What was on its way is of no interest any more.
      exchange.cut()
      this.#all.delete(exchange)
    } else if (step.kind === 'event' && step.optional) exchange.optional = [...exchange.optional, step]
    else return this.#expect(step, exchange)
    return true
  }

  /** A target or a field may be one that cannot be sent. */
  #tryToAsk(step: RequestStep): boolean {
    try {
      this.#ask(step)
      return true
    } catch (error) {
      this.#events.push({ kind: 'failed', why: `line ${step.line}: ${errorText(error)}` })
      return false
    }
  }

  #ask({ method, target, fields, body, line, on }: RequestStep): void {
    const to = this.#values.text(target) ?? ''
    const sent = body && this.#values.frame(body)
    const request = { method, url: this.#urlOf(to), headers: this.#written(fields, sent), body: sent }
    const exchange = new ReplayHttpExchange(request, this.#options.runtime)
    this.#exchanges.set(on, exchange)
    this.#all.add(exchange)
    const bytes = Buffer.concat([Buffer.from(`${method} ${to} `), sent ?? Buffer.alloc(0)])
    this.#events.push({ kind: 'sent', step: { line, bytes }, bytes })
  }

  /**
   * Header fields, names and values in turn: those of this request, those of every request of the transcript as far as
   * values are known and there is a body to describe, those of the command line, and what no request is without.
   */
  #written(fields: RequestStep['fields'], body: Buffer | undefined): string[] {
    const { url, headers } = this.#options
    const common = this.#transcript.header.headers.filter(
      ({ name }) => !names(fields, name) && (body !== undefined || name.toLowerCase() !== 'content-type'),
    )
    const own = [...common, ...fields]
    const written = own.flatMap(({ name, values }) =>
      (values ?? []).flatMap((value) => {
        const text = this.#values.text(value)
        return text === undefined ? [] : [name, text]
      }),
    )
    const length = body === undefined ? [] : [['Content-Length', String(body.length)] as const]
    const others = [['Host', url.host] as const, ...Object.entries(headers), ...length]
    return [...others.filter(([name]) => !names(own, name)).flat(), ...written]
  }

  /** The path of the transcript's own server stands for that of the one we were given. */
  #urlOf(target: string): URL {
    const { url } = this.#options
    const own = new URL((this.#transcript.header.url ?? '/mcp').replaceAll('$port', '1'), 'http://127.0.0.1')
    if (target === own.pathname) return url
    const to = new URL(target, url)
    return new URL(to.pathname + to.search, url)
  }

  async #expect(step: ExpectedStep, exchange: ReplayHttpExchange): Promise<boolean> {
    const { runtime, timeoutMs } = this.#options
    const title = stepTitle(step, exchange.method)
    const place = { line: step.line, bytes: stepBytes(step), title }
    const part = await this.#next(step, exchange, runtime.now() + timeoutMs)
    if (typeof part !== 'string' && part.kind === step.kind) {
      this.#judge(check(step, part, this.#values.known(false)), place, part)
      return true
    }
    const why = typeof part === 'string' ? part : `instead came: ${partBytes(part).toString()}`
    this.#events.push({ kind: 'missing', step: place, why })
    return false
  }

  /** The next part that has to be there; a text says why there is none. */
  async #next(step: ExpectedStep, exchange: ReplayHttpExchange, deadline: number): Promise<Part | string> {
    for (;;) {
      const part = await this.#take(exchange, deadline)
      if (typeof part === 'string') return part
      if (part.kind === 'response' && step.kind === 'response' && mayBeEvent(step, part))
        return this.#asBody(part, exchange, deadline)
      if (!this.#isOptional(part, exchange)) return part
    }
  }

  /** The first message of the stream in place of a body. */
  async #asBody(
    head: Extract<Part, { kind: 'response' }>,
    exchange: ReplayHttpExchange,
    deadline: number,
  ): Promise<Part | string> {
    for (;;) {
      const part = await this.#take(exchange, deadline)
      if (typeof part === 'string' || part.kind !== 'event') return part
      // An event without data gives nothing but an id.
      if (part.data.length > 0) return { ...head, body: part.data }
    }
  }

  async #take(exchange: ReplayHttpExchange, deadline: number): Promise<Part | string> {
    const part = await exchange.parts.next(deadline)
    if (part.kind === 'too-late') return `nothing came within ${this.#options.timeoutMs} ms`
    if (part.kind === 'ended') return 'the response is over'
    return part.kind === 'broken' ? part.why : part
  }

  #judge(found: HttpCheck, step: Place, part: Part): void {
    if (found.kind === 'different') {
      const { difference, expected, came } = found
      this.#events.push({ kind: 'different', step: { ...step, bytes: expected }, bytes: came, difference })
      return
    }
    const bytes = partBytes(part)
    if (found.kind === 'unlike') return void this.#events.push({ ...found, step, bytes })
    this.#values.learn(found.bound)
    this.#events.push({ kind: 'equal', step, bytes, times: 0, early: false })
  }

  /** Whether a part is one that need not have come. */
  #isOptional(part: Part, exchange: ReplayHttpExchange): boolean {
    if (part.kind !== 'event') return false
    const known = this.#values.known(false)
    const came = exchange.optional.find((step) => check(step, part, known).kind === 'equal')
    exchange.optional = exchange.optional.filter((step) => step !== came)
    return came !== undefined
  }

  /** What comes after the last line is not expected; a stream of the server's own may go on. */
  async #listen(): Promise<void> {
    const { runtime, timeoutMs } = this.#options
    const now = runtime.now()
    for (const exchange of this.#all) {
      const deadline = exchange.method === 'GET' ? now : now + Math.min(timeoutMs, END_WAIT_MS)
      let part = await this.#take(exchange, deadline)
      for (; typeof part !== 'string'; part = await this.#take(exchange, deadline)) {
        if (part.kind === 'end' || this.#isOptional(part, exchange)) continue
        const title = `what came on ${exchange.method}`
        this.#events.push({ kind: 'unexpected', bytes: partBytes(part), title })
      }
    }
  }
}

function names(fields: RequestStep['fields'], name: string): boolean {
  return fields.some((field) => field.name.toLowerCase() === name.toLowerCase())
}

/** A server may give its answer as an event where the transcript does not say how it comes. */
function mayBeEvent(
  { payload, fields }: ResponseStep,
  { body }: Extract<Part, { kind: 'response' }>,
): boolean {
  const isNamed = fields.some(({ name }) => name.toLowerCase() === 'content-type')
  return body === undefined && payload !== undefined && !isNamed
}
