// A connection over two byte streams, one message per line.
//
// MCP, Transports, stdio: UTF-8, delimited by line feeds, no embedded newline.

import type { Readable, Writable } from 'node:stream'
import type { Message } from '../../jsonrpc/splice.js'
import type { Connection, Sink } from '../../jsonrpc/connection.js'
import { TransportError } from '../../jsonrpc/jsonrpc-errors.js'
import { ReadThrottle } from '../../runtime/read-throttle.js'
import { type LineSink, LineSplitter } from './line-splitter.js'
import { type Clock, realClock } from '../../runtime/deadline.js'
import { LongLine, readLong } from '../../jsonrpc/long-line.js'
import { Pieces } from '../pieces.js'
import { passesTap } from '../tap.js'
import { errorText } from '../../text/error-text.js'

export interface NdjsonOptions {
  readonly lineBytesMax: number
  /** Above this number of queued bytes the connection is congested. */
  readonly backlogBytesHigh: number
  /** How long `close` waits for the other end to read the queue. */
  readonly closeWaitMs: number
  /** Keeps the output open: it may be a socket that other processes write to, and an end would end it for them too. */
  readonly leavesOutputOpen?: boolean
}

const MiB = 1024 * 1024
const defaultNdjsonOptions: NdjsonOptions = {
  lineBytesMax: 64 * MiB,
  backlogBytesHigh: MiB,
  closeWaitMs: 2000,
}

/** Newline-delimited messages over a readable and a writable stream. Both are destroyed when it closes. */
export class NdjsonConnection implements Connection {
  readonly transport = 'stdio'
  readonly #input: Readable
  readonly #output: Writable
  readonly #options: NdjsonOptions
  readonly #timers: Pick<Clock, 'setTimer'>
  /** The messages of this turn of the event loop, which leave as one write. */
  readonly #outbox = new Pieces()
  readonly #throttle: ReadThrottle
  congested = false
  #sink: Sink | undefined
  #flushScheduled = false
  /** The number of messages in the current chunk. */
  #messages = 0
  /** Whether the system has not accepted all of the last write. */
  #isWriting = false
  readonly #written = (error?: Error | null): void => {
    // Runs before the stream emits 'error', so that queued messages do not seem to be sent.
    if (error) return this.#loseOutput(streamFailure(error))
    this.#isWriting = false
    if (this.#outbox.bytes > 0) {
      if (this.#flushScheduled) return
      this.#flush()
    }
    this.#ending?.()
    if (this.#isWriting || !this.congested) return
    this.congested = false
    if (!this.#closed) this.#sink?.drained()
  }
  /** Ends the output when the queue is empty. */
  #ending: (() => void) | undefined
  /** The number of messages that the owner has sent. */
  sentCount = 0
  #inputEnded = false
  #outputGone = false
  /** Whether the output gets no more bytes. */
  #isOutputEnded = false
  #cause: TransportError | undefined
  #lastWords: { cancel(): void } | undefined
  #closing: Promise<void> | undefined
  #closed = false

  constructor(
    input: Readable,
    output: Writable,
    options: NdjsonOptions = defaultNdjsonOptions,
    timers: Pick<Clock, 'setTimer'> = realClock,
  ) {
    this.#input = input
    this.#output = output
    this.#options = options
    this.#throttle = new ReadThrottle(input)
    this.#timers = timers
    // Without a listener from the start, an 'error' event would end the process.
    input.on('error', (error) => this.#end(streamFailure(error)))
    input.on('close', () => this.#inputEnded || this.#end(undefined))
    output.on('error', (error) => this.#loseOutput(streamFailure(error)))
    output.on('close', () => this.#loseOutput(undefined))
    // A stream that has ended already emits no event.
    this.#inputEnded = input.readableEnded
    if (input.closed && !this.#inputEnded) this.#end(input.errored ? streamFailure(input.errored) : undefined)
  }

  get backlogBytes(): number {
    return this.#outbox.bytes + this.#output.writableLength
  }

  start(sink: Sink): void {
    this.#sink = sink
    if (this.#closed) return void setImmediate(() => sink.closed(this.#cause))
    if (this.#inputEnded) return void setImmediate(() => this.#endInput())
    const splitter = new LineSplitter(this.#whileOpen(sink), this.#options.lineBytesMax)
    this.#input.on('data', (chunk: Buffer) => {
      if (this.#closed || (sink.wire !== undefined && !this.#passes('in', chunk))) return
      this.#messages = 0
      splitter.push(chunk)
      this.#throttle.onRead(chunk, this.#messages)
    })
    this.#input.on('end', () => {
      splitter.end()
      this.#endInput()
    })
  }

  /** A message of a chunk may close the connection. Later messages of the chunk are then dropped. */
  #whileOpen(sink: Sink): LineSink {
    return {
      line: (line) => {
        this.#messages++
        if (this.#closed) return
        if (!(line instanceof LongLine)) sink.message(line)
        else if (sink.received === undefined) sink.message(line.line)
        else sink.received(readLong(line))
      },
      oversize: (id, bytes, isCall) => this.#closed || sink.oversize(id, bytes, isCall),
    }
  }

  send(message: Message): void {
    if (this.#closed || this.#closing !== undefined) return
    this.sentCount++
    if (this.#outputGone) return
    this.#outbox.addMessage(message)
    if (this.#isWriting) {
      if (this.backlogBytes > this.#options.backlogBytesHigh) this.congested = true
    } else if (!this.#flushScheduled) {
      this.#flushScheduled = true
      setImmediate(this.#flush)
    }
  }

  read(on: boolean): void {
    this.#throttle.setReading(on)
  }

  close(atOnce = false): Promise<void> {
    if (atOnce) this.#end(undefined)
    this.#closing ??= this.#finish()
    return this.#closing
  }

  /** Sends the queue and ends the output, once `after` has settled. Messages of the peer still arrive. */
  endOutput(after?: Promise<unknown>): void {
    this.#flush()
    this.#isOutputEnded = true
    if (after === undefined) this.#output.end()
    else void after.then(() => this.#output.end())
  }

  async #finish(): Promise<void> {
    this.#flush()
    await this.#endOutput()
    this.#end(undefined)
  }

  /** Ends the output, and waits at most `closeWaitMs` until the other end has read everything. */
  #endOutput(): Promise<void> {
    const output = this.#output
    if (output.destroyed || output.writableFinished) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = this.#timers.setTimer(this.#options.closeWaitMs, resolve)
      const done = (): void => {
        timer.cancel()
        resolve()
      }
      const end = (): void => {
        if (this.#options.leavesOutputOpen === true) output.write('', done)
        else output.end(done)
      }
      output.once('close', done)
      if (this.#outbox.bytes === 0) end()
      else this.#ending = end
    })
  }

  readonly #flush = (): void => {
    this.#flushScheduled = false
    if (this.#isWriting) return
    const buffers = this.#outbox.take()
    if (buffers.length === 0 || this.#outputGone || this.#isOutputEnded || !this.#output.writable) return
    this.#isWriting = true
    if (buffers.length > 1) this.#output.cork()
    const last = buffers.at(-1)
    for (const buffer of buffers) {
      if (this.#sink?.wire !== undefined && !this.#passes('out', buffer)) return
      if (buffer === last) this.#output.write(buffer, this.#written)
      else this.#output.write(buffer)
    }
    if (buffers.length > 1) this.#output.uncork()
    if (this.#output.writableLength > this.#options.backlogBytesHigh) this.congested = true
  }

  #endInput(): void {
    this.#inputEnded = true
    if (this.#outputGone) this.#end(this.#cause)
    else if (!this.#closed) this.#sink?.ended()
  }

  /**
   * The input stays open for `closeWaitMs`, because the last messages of the peer may still be readable.
   * If the proxy ended the output itself, the input has no such limit.
   */
  #loseOutput(cause: TransportError | undefined): void {
    if (this.#outputGone || this.#closed) return
    this.#outputGone = true
    this.#cause = cause
    if (this.#inputEnded) this.#end(cause)
    else if (!this.#output.writableEnded)
      this.#lastWords = this.#timers.setTimer(this.#options.closeWaitMs, () => this.#end(cause))
  }

  #passes(direction: 'in' | 'out', bytes: Uint8Array): boolean {
    return passesTap(this.#sink, direction, bytes, (cause) => this.#end(cause))
  }

  #end(cause: TransportError | undefined): void {
    if (this.#closed) return
    this.#closed = true
    this.#cause = cause
    this.#lastWords?.cancel()
    this.congested = false
    this.#input.destroy()
    this.#output.destroy()
    this.#sink?.closed(cause)
  }
}

/** The connection to the client that started this process. Nothing else may write to stdout while it is open. */
export function stdio(options: NdjsonOptions = defaultNdjsonOptions): Connection {
  return new NdjsonConnection(process.stdin, process.stdout, { ...options, leavesOutputOpen: true })
}

function streamFailure(error: unknown): TransportError {
  const message = errorText(error)
  return new TransportError('TRANSPORT_IO', `the stream failed: ${message}`, { cause: error })
}
