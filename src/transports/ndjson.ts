// A connection over two byte streams, one message a line.
//
// MCP, Transports, stdio: UTF-8, delimited by line feeds, no embedded newline.

import type { Readable, Writable } from 'node:stream'
import type { Connection, Sink } from '../jsonrpc/connection.js'
import { TransportError } from '../jsonrpc/errors.js'
import type { WireBytes } from '../jsonrpc/splice.js'
import { LineSplitter } from './line-splitter.js'
import { Outbox } from './outbox.js'

export interface NdjsonOptions {
  readonly lineBytesMax: number
  /** Above this many queued bytes the connection is congested. */
  readonly backlogBytesHigh: number
  /** How long `close` waits for the other end to take what is queued. */
  readonly closeWaitMs: number
}

export const defaultNdjsonOptions: NdjsonOptions = {
  lineBytesMax: 64 * 1024 * 1024,
  backlogBytesHigh: 1024 * 1024,
  closeWaitMs: 2000,
}

const DONE = Promise.resolve()

/** Newline-delimited messages over a readable and a writable stream. */
export class NdjsonConnection implements Connection {
  readonly #input: Readable
  readonly #output: Writable
  readonly #options: NdjsonOptions
  readonly #outbox = new Outbox()
  #sink: Sink | undefined
  #closed = false
  #closing = false
  #inputEnded = false
  #flushScheduled = false
  #drain: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined

  constructor(input: Readable, output: Writable, options: NdjsonOptions = defaultNdjsonOptions) {
    this.#input = input
    this.#output = output
    this.#options = options
    // From the first moment: an 'error' that nobody hears would end the process.
    input.on('error', (error) => this.#lost(error))
    output.on('error', (error) => this.#lost(error))
  }

  get backlogBytes(): number {
    return this.#outbox.bytes + this.#output.writableLength
  }

  get congested(): boolean {
    return this.#drain !== undefined
  }

  start(sink: Sink): void {
    this.#sink = sink
    const splitter = new LineSplitter(
      { line: (line) => sink.message(line), oversize: (id, bytes) => sink.oversize(id, bytes) },
      this.#options.lineBytesMax,
    )
    this.#input.on('data', (chunk: Buffer) => {
      if (this.#closed) return
      this.#watch('in', chunk)
      splitter.push(chunk)
    })
    this.#input.on('end', () => {
      this.#inputEnded = true
      splitter.end()
      if (!this.#closed) sink.ended()
    })
    this.#input.on('close', () => {
      if (!this.#inputEnded) this.#end(undefined)
    })
    this.#output.on('drain', () => this.#drained())
  }

  send(bytes: WireBytes): Promise<void> {
    if (this.#closed || this.#closing) return DONE
    this.#outbox.add(bytes)
    if (!this.#flushScheduled) {
      this.#flushScheduled = true
      process.nextTick(() => this.#flush())
    }
    return this.#drain?.promise ?? DONE
  }

  read(on: boolean): void {
    if (on) this.#input.resume()
    else this.#input.pause()
  }

  async close(): Promise<void> {
    if (this.#closing) return
    this.#flush()
    this.#closing = true
    await this.#finishOutput()
    this.#input.destroy()
    this.#end(undefined)
  }

  /** Ends our side and waits, but not for ever, until the other end has taken everything. */
  #finishOutput(): Promise<void> {
    if (this.#output.destroyed || this.#output.writableFinished) return DONE
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, this.#options.closeWaitMs)
      this.#output.once('close', resolve)
      this.#output.end(() => {
        clearTimeout(timer)
        resolve()
      })
    })
  }

  #flush(): void {
    this.#flushScheduled = false
    if (this.#closed || this.#outbox.bytes === 0 || !this.#output.writable) return
    const buffers = this.#outbox.take()
    if (buffers.length > 1) this.#output.cork()
    for (const buffer of buffers) {
      this.#watch('out', buffer)
      this.#output.write(buffer)
    }
    if (buffers.length > 1) this.#output.uncork()
    if (this.#output.writableLength > this.#options.backlogBytesHigh) this.#congest()
  }

  #congest(): void {
    if (this.#drain !== undefined) return
    let resolve = (): void => {}
    const promise = new Promise<void>((done) => {
      resolve = done
    })
    this.#drain = { promise, resolve }
  }

  #drained(): void {
    const drain = this.#drain
    if (drain === undefined) return
    this.#drain = undefined
    drain.resolve()
    this.#sink?.drained()
  }

  #watch(direction: 'in' | 'out', bytes: Uint8Array): void {
    try {
      this.#sink?.wire?.(direction, bytes)
    } catch (error) {
      this.#end(new TransportError('TRANSPORT_TAP', 'the wire tap failed', { cause: error }))
      this.#input.destroy()
      this.#output.destroy()
    }
  }

  #lost(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error)
    this.#end(new TransportError('TRANSPORT_IO', `the stream failed: ${message}`, { cause: error }))
  }

  #end(cause: TransportError | undefined): void {
    if (this.#closed) return
    this.#closed = true
    this.#drain?.resolve()
    this.#drain = undefined
    this.#sink?.closed(cause)
  }
}
