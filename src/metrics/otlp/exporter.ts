// Sends telemetry to a collector, by OTLP/HTTP in JSON.
//
// No call waits for the collector. At most one request for each kind of telemetry is under way. Spans wait in a queue for
// it, and those that do not fit are dropped and counted. Metrics are counted from the start of the process, so one
// export that fails costs nothing that the next does not bring.

import type { LogSink, Runtime, Timer } from '../../runtime/runtime.js'
import { errorText } from '../../text/error-text.js'
import type { OtlpOptions } from './options.js'

/** Spans that are sent together. */
export const BATCH_MAX = 512

/** Spans that wait for their request. */
export const QUEUE_MAX = 2048

/** How long a span waits for others. */
const BATCH_MS = 5000

/** Sends a body and gives the status of the answer; rejects where there is none in time. */
export type Post = (url: string, body: string, signal: AbortSignal) => Promise<number>

/** The bodies of requests to the collector. */
export interface Exported<Span> {
  /** The metrics as they are now. */
  metrics(): string
  spans(spans: readonly Span[]): string
}

/** Exports the spans that it is given, and the metrics every now and then. */
export class OtlpExporter<Span> {
  readonly #options: OtlpOptions
  readonly #exported: Exported<Span>
  readonly #post: Post
  readonly #runtime: Pick<Runtime, 'setTimer'>
  readonly #log: LogSink
  readonly #queue: Span[] = []
  readonly #metricsUrl: string | undefined
  #metricsTimer: Timer | undefined
  #batchTimer: Timer | undefined
  /** The requests that are under way. */
  #sendingSpans: Promise<void> | undefined
  #sendingMetrics: Promise<void> | undefined
  readonly #closing = new AbortController()
  #isFailing = false
  /** Spans that did not reach the collector. */
  dropped = 0

  constructor(
    options: OtlpOptions,
    exported: Exported<Span>,
    post: Post,
    runtime: Pick<Runtime, 'setTimer'>,
    log: LogSink,
  ) {
    this.#options = options
    this.#exported = exported
    this.#post = post
    this.#runtime = runtime
    this.#log = log
    this.#metricsUrl = options.metricsUrl
    if (this.#metricsUrl !== undefined) this.#measureLater()
  }

  add(span: Span): void {
    if (this.#options.tracesUrl === undefined) return
    if (this.#queue.length >= QUEUE_MAX) {
      this.dropped++
      return
    }
    this.#queue.push(span)
    if (this.#queue.length >= BATCH_MAX) this.#sendBatch()
    else this.#batchTimer ??= this.#runtime.setTimer(BATCH_MS, () => this.#sendBatch())
  }

  /** Sends what waits, for up to `graceMs`. */
  async close(graceMs: number): Promise<void> {
    this.#metricsTimer?.cancel()
    await new Promise<void>((resolve) => {
      const timer = this.#runtime.setTimer(graceMs, resolve)
      void this.#flush().then(() => {
        timer.cancel()
        resolve()
      })
    })
    this.#batchTimer?.cancel()
    this.#closing.abort()
    this.dropped += this.#queue.splice(0).length
  }

  async #flush(): Promise<void> {
    const metrics = this.#sendMetrics()
    while (this.#queue.length > 0 || this.#sendingSpans !== undefined) {
      this.#sendBatch()
      await this.#sendingSpans
    }
    await metrics
  }

  #measureLater(): void {
    this.#metricsTimer = this.#runtime.setTimer(this.#options.metricsIntervalMs, () => {
      void this.#sendMetrics()
      this.#measureLater()
    })
  }

  async #sendMetrics(): Promise<void> {
    if (this.#metricsUrl === undefined) return
    await this.#sendingMetrics
    this.#sendingMetrics = this.#send(this.#metricsUrl, this.#exported.metrics()).then(() => {
      this.#sendingMetrics = undefined
    })
    await this.#sendingMetrics
  }

  #sendBatch(): void {
    const { tracesUrl } = this.#options
    if (tracesUrl === undefined || this.#sendingSpans !== undefined || this.#closing.signal.aborted) return
    this.#batchTimer?.cancel()
    this.#batchTimer = undefined
    const batch = this.#queue.splice(0, BATCH_MAX)
    if (batch.length === 0) return
    this.#sendingSpans = this.#send(tracesUrl, this.#exported.spans(batch)).then((isSent) => {
      if (!isSent) this.dropped += batch.length
      this.#sendingSpans = undefined
      if (this.#queue.length >= BATCH_MAX) this.#sendBatch()
      else if (this.#queue.length > 0)
        this.#batchTimer ??= this.#runtime.setTimer(BATCH_MS, () => this.#sendBatch())
    })
  }

  async #send(url: string, body: string): Promise<boolean> {
    const late = new AbortController()
    const timer = this.#runtime.setTimer(this.#options.timeoutMs, () => late.abort())
    try {
      const status = await this.#post(url, body, AbortSignal.any([late.signal, this.#closing.signal]))
      if (status < 200 || status > 299) throw new Error(`the status of the answer is ${status}`)
      if (this.#isFailing) this.#log({ level: 'info', message: `telemetry reaches ${hostOf(url)} again` })
      this.#isFailing = false
      return true
    } catch (error) {
      const why = late.signal.aborted ? `no answer within ${this.#options.timeoutMs} ms` : errorText(error)
      this.#failed(url, why)
      return false
    } finally {
      timer.cancel()
    }
  }

  /** One warning for each time that the collector is away. */
  #failed(url: string, why: string): void {
    if (!this.#isFailing && !this.#closing.signal.aborted)
      this.#log({ level: 'warn', message: `telemetry does not reach ${hostOf(url)}: ${why}` })
    this.#isFailing = true
  }
}

/** Of an address, which may hold a key. */
function hostOf(url: string): string {
  return new URL(url).host
}
