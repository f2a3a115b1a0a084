// The load generator: one MCP client that costs as little as a Node process can.
//
// Requests are prepared bytes in which only the ids change between runs; what a
// run sends at one moment leaves in one write. Answers are never parsed: their
// length is known, so a reader steps from line to line, reads the id at its
// fixed place, first or last, and checks that it was asked for and had not come yet, and that
// the line ends where it must. With 64 in flight a small call costs about 0.5 to
// 1 µs of processor time here, most of it its share of the system calls (0.3 µs
// with 1,000 in flight), a large answer only what Node's own reading of it costs.

import type { Readable, Writable } from 'node:stream'

import {
  ANSWER_HEAD_BYTES,
  ANSWER_TAIL_BYTES,
  type AroundId,
  ID_DIGITS,
  LARGE_IDS_FROM,
  LAST_MARK,
  LINE_HEAD,
  SMALL_IDS_FROM,
  isSmall,
  readId,
  writeId,
} from './wire.js'

const LF = 10
const SHOWN_BYTES_MAX = 300
/** Lines that a subject may send unasked during one run (notifications). */
const FOREIGN_LINES_MAX = 1000

/** Calls up to this long are copied into the slab; of longer ones the slab has the ids. */
const CALL_COPY_BYTES_MAX = 4096

/** The calls of one run. */
export interface Load {
  /** The kinds of calls, in turn. */
  readonly forms: readonly AroundId[]
  readonly answerBytes: number
  readonly count: number
  /** Over HTTP as many connections, with one call at a time each. */
  readonly inflightMax: number
}

/** A client of either transport. */
export interface Caller {
  /** Sends a line and gives the one that answers it; for the handshake, not for measuring. */
  ask(line: string | Buffer, timeLimitMs: number): Promise<Buffer>
  /** An id that no call of this client has had. */
  takeIds(count: number): number
  /** Sends all calls, never more than `inflightMax` unanswered, and gives the seconds it took. */
  throughput(load: Load): Promise<number>
  /**
   * Sends the calls one at a time and gives each call's time in microseconds.
   *
   * With `flow`, whose client has one connection alone, its calls are kept in flight beside them for as long as small
   * calls are left.
   */
  latencies(load: Load, flow?: Load): Promise<number[]>
  /** Fails the calls that run and all later ones. */
  end(cause: Error): void
}

export const RUN_LIMIT_MS = 120_000

/** Prepared calls of one tool; their ids differ, and their length does not. */
class CallSlab {
  readonly count: number
  readonly #forms: readonly AroundId[]
  readonly #bytes: Buffer
  readonly #stride: number
  readonly #isWhole: boolean

  constructor({ forms, count }: Load) {
    const ids = Buffer.from('0'.repeat(ID_DIGITS))
    const whole = forms.map(({ before, after }) => Buffer.concat([before, ids, after]))
    const [first = ids] = whole
    if (whole.some(({ length }) => length !== first.length)) throw new Error('calls of different lengths')
    this.count = count
    this.#forms = forms
    this.#isWhole = first.length <= CALL_COPY_BYTES_MAX
    this.#stride = this.#isWhole ? first.length : ID_DIGITS
    this.#bytes = this.#isWhole
      ? Buffer.alloc(this.#stride * count, Buffer.concat(whole))
      : Buffer.alloc(this.#stride * count)
  }

  /** Numbers the calls from `first`; only while none of an earlier run waits to be written. */
  renumber(first: number): void {
    for (let n = 0; n < this.count; n += 1) {
      const at = this.#isWhole ? (this.#form(n)?.before.length ?? 0) : 0
      writeId(this.#bytes, n * this.#stride + at, first + n)
    }
  }

  /** Writes the calls `from` to `to`, in one write where they are small and one writev where not. */
  send(to: Writable, from: number, until: number): void {
    if (this.#isWhole) {
      to.write(this.#bytes.subarray(from * this.#stride, until * this.#stride))
      return
    }
    to.cork()
    for (let n = from; n < until; n += 1) {
      const form = this.#form(n)
      if (form === undefined) continue
      to.write(form.before)
      to.write(this.#bytes.subarray(n * this.#stride, (n + 1) * this.#stride))
      to.write(form.after)
    }
    to.uncork()
  }

  #form(n: number): AroundId | undefined {
    return this.#forms[n % this.#forms.length]
  }
}

/** The answers to one load: which of them came, each exactly once. */
class Lane {
  readonly first: number
  readonly count: number
  readonly answerBytes: number
  readonly #seen: Uint8Array
  done = 0

  constructor(first: number, { count, answerBytes }: Load) {
    this.first = first
    this.count = count
    this.answerBytes = answerBytes
    this.#seen = new Uint8Array(count)
  }

  /** False when the id was never sent or was answered before. */
  mark(id: number): boolean {
    const n = id - this.first
    if (n < 0 || n >= this.count || this.#seen[n] === 1) return false
    this.#seen[n] = 1
    return true
  }
}

/** Steps through answers of known length; everything unexpected is an error with the line in it. */
class AnswerReader {
  readonly #small: Lane | undefined
  readonly #large: Lane | undefined
  readonly #head: Buffer = Buffer.alloc(ANSWER_HEAD_BYTES)
  #headFilled = 0
  /** Of the answer that is read, its tail included. */
  #left = 0
  readonly #tail: Buffer = Buffer.alloc(ANSWER_TAIL_BYTES)
  #lane: Lane | undefined
  #isIdLast = false
  #foreign = 0
  #skipping = false

  constructor(small: Lane | undefined, large: Lane | undefined) {
    this.#small = small
    this.#large = large
  }

  push(chunk: Buffer): void {
    let at = 0
    while (at < chunk.length) {
      if (this.#skipping) at = this.#skip(chunk, at)
      else if (this.#left > 0) at = this.#body(chunk, at)
      else at = this.#begin(chunk, at)
    }
  }

  #begin(chunk: Buffer, at: number): number {
    if (this.#headFilled === 0 && chunk.length - at >= ANSWER_HEAD_BYTES) {
      this.#open(chunk, at)
      return at + ANSWER_HEAD_BYTES
    }
    const copied = chunk.copy(this.#head, this.#headFilled, at)
    this.#headFilled += copied
    if (this.#headFilled === ANSWER_HEAD_BYTES) {
      this.#headFilled = 0
      this.#open(this.#head, 0)
    }
    return at + copied
  }

  #open(bytes: Buffer, at: number): void {
    this.#isIdLast = bytes[at + 2] === LAST_MARK
    // Two bytes tell an answer (`"id":` after `"jsonrpc":"2.0",`) from a notification.
    if (!this.#isIdLast && (bytes[at + 18] !== 105 || bytes[at + 19] !== 100)) {
      this.#skipForeign(bytes, at)
      return
    }
    this.#lane = this.#isIdLast ? this.#likely(bytes, at) : this.#marked(bytes, at + LINE_HEAD.length)
    this.#left = this.#lane.answerBytes - ANSWER_HEAD_BYTES
  }

  /** The call that it answers, before its id has come. */
  #likely(bytes: Buffer, at: number): Lane {
    const lane = isSmall(bytes, at) ? (this.#small ?? this.#large) : (this.#large ?? this.#small)
    if (lane === undefined) throw unexpected('an answer that nothing was asked for', bytes, at)
    return lane
  }

  #marked(bytes: Buffer, at: number): Lane {
    const id = readId(bytes, at)
    const lane = id >= LARGE_IDS_FROM ? this.#large : this.#small
    if (lane === undefined || !lane.mark(id)) throw unexpected('an id not in flight', bytes, at)
    return lane
  }

  #body(chunk: Buffer, at: number): number {
    const end = Math.min(chunk.length, at + this.#left)
    this.#left -= end - at
    if (this.#left < ANSWER_TAIL_BYTES) this.#tailTo(chunk, at, end)
    if (this.#left === 0) this.#close(chunk, at)
    return end
  }

  /** Copies the present part of the tail, which may come in pieces. */
  #tailTo(chunk: Buffer, from: number, end: number): void {
    const filledTo = ANSWER_TAIL_BYTES - this.#left
    const bytes = Math.min(filledTo, end - from)
    chunk.copy(this.#tail, filledTo - bytes, end - bytes, end)
  }

  #close(chunk: Buffer, at: number): void {
    if (this.#tail[ANSWER_TAIL_BYTES - 1] !== LF) throw unexpected('an answer of another length', chunk, at)
    if (this.#isIdLast && this.#marked(this.#tail, 0) !== this.#lane)
      throw unexpected('an answer of another kind', chunk, at)
    if (this.#lane !== undefined) this.#lane.done += 1
  }

  #skipForeign(bytes: Buffer, at: number): void {
    this.#foreign += 1
    if (this.#foreign > FOREIGN_LINES_MAX) throw unexpected('too many lines that answer nothing', bytes, at)
    this.#skipping = true
  }

  #skip(chunk: Buffer, at: number): number {
    const end = chunk.indexOf(LF, at)
    if (end < 0) return chunk.length
    this.#skipping = false
    return end + 1
  }
}

function unexpected(what: string, bytes: Buffer, at: number): Error {
  return new Error(`${what}, near: ${bytes.toString('latin1', at, at + SHOWN_BYTES_MAX)}`)
}

/** One connection to a subject on pipes. */
export class Client implements Caller {
  readonly #to: Writable
  /** Slabs are the client's work, so each is made once and outside every clock. */
  readonly #slabs = new WeakMap<Load, CallSlab>()
  #receive: (chunk: Buffer) => void
  #fail: ((error: Error) => void) | undefined
  #ended: Error | undefined
  #nextSmallId = SMALL_IDS_FROM
  #nextLargeId = LARGE_IDS_FROM

  constructor(from: Readable, to: Writable) {
    this.#to = to
    this.#receive = () => {}
    from.on('data', (chunk: Buffer) => {
      try {
        this.#receive(chunk)
      } catch (error) {
        this.end(error instanceof Error ? error : new Error(String(error)))
      }
    })
    from.on('end', () => this.end(new Error('closed its stdout')))
    to.on('error', (error) => this.end(error))
  }

  end(cause: Error): void {
    this.#ended ??= cause
    this.#fail?.(this.#ended)
  }

  /** The answer is the next line that has an id. */
  ask(line: string | Buffer, timeLimitMs: number): Promise<Buffer> {
    return this.#bounded(timeLimitMs, (done) => {
      let pieces: Buffer[] = []
      this.#receive = (chunk) => {
        let at = 0
        for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, at)) {
          const whole = Buffer.concat([...pieces, chunk.subarray(at, end + 1)])
          pieces = []
          at = end + 1
          if (!whole.subarray(0, SHOWN_BYTES_MAX).includes('"method":')) done(whole)
        }
        pieces.push(chunk.subarray(at))
      }
      this.#to.write(line)
    })
  }

  tell(line: string): void {
    this.#to.write(line)
  }

  takeIds(count: number): number {
    const first = this.#nextSmallId
    this.#nextSmallId += count
    return first
  }

  /**
   * For all answers of one read, the next calls leave in one write: the window
   * bounds what can wait in the stream, so its own back-pressure needs no look.
   */
  async throughput(load: Load): Promise<number> {
    const slab = this.#slabOf(load)
    const first = this.takeIds(slab.count)
    slab.renumber(first)
    const lane = new Lane(first, load)
    const reader = new AnswerReader(lane, undefined)
    const began = performance.now()
    const ended = await this.#bounded<number>(RUN_LIMIT_MS, (done) => {
      let sent = 0
      const fill = () => {
        const until = Math.min(slab.count, lane.done + load.inflightMax)
        if (until > sent) slab.send(this.#to, sent, until)
        sent = until
      }
      this.#receive = (chunk) => {
        reader.push(chunk)
        if (lane.done === slab.count) done(performance.now())
        else fill()
      }
      fill()
    })
    return (ended - began) / 1000
  }

  latencies(load: Load, flow?: Load): Promise<number[]> {
    const slab = this.#slabOf(load)
    const first = this.takeIds(slab.count)
    slab.renumber(first)
    const lane = new Lane(first, load)
    const large = flow === undefined ? undefined : this.#openFlow(flow)
    const reader = new AnswerReader(lane, large?.lane)
    const times: number[] = []
    return this.#bounded<number[]>(RUN_LIMIT_MS, (done) => {
      let sentAt = 0
      const next = () => {
        // performance.now() reads the clock of process.hrtime() without making a bigint.
        sentAt = performance.now()
        slab.send(this.#to, times.length, times.length + 1)
      }
      this.#receive = (chunk) => {
        reader.push(chunk)
        if (lane.done > times.length) {
          times.push((performance.now() - sentAt) * 1000)
          if (times.length < slab.count) next()
        }
        if (large !== undefined) large.fill(times.length < slab.count)
        if (times.length === slab.count && (large === undefined || large.idle())) done(times)
      }
      large?.fill(true)
      next()
    })
  }

  #openFlow(flow: Load): { lane: Lane; fill: (more: boolean) => void; idle: () => boolean } {
    const slab = this.#slabOf(flow)
    const first = this.#nextLargeId
    this.#nextLargeId += slab.count
    slab.renumber(first)
    const lane = new Lane(first, flow)
    let sent = 0
    const fill = (more: boolean) => {
      const until = more ? Math.min(slab.count, lane.done + flow.inflightMax) : sent
      if (more && until === slab.count) throw new Error('the flow ended before the small calls did')
      if (until > sent) slab.send(this.#to, sent, until)
      sent = until
    }
    return { lane, fill, idle: () => lane.done === sent }
  }

  #slabOf(load: Load): CallSlab {
    const slab = this.#slabs.get(load) ?? new CallSlab(load)
    this.#slabs.set(load, slab)
    return slab
  }

  #bounded<T>(timeLimitMs: number, start: (done: (value: T) => void) => void): Promise<T> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended)
    return new Promise<T>((resolve, reject) => {
      const timer = setTimeout(() => this.end(new Error(`no end within ${timeLimitMs} ms`)), timeLimitMs)
      const settle = () => {
        clearTimeout(timer)
        this.#receive = () => {}
        this.#fail = undefined
      }
      this.#fail = (error) => {
        settle()
        reject(error)
      }
      start((value) => {
        settle()
        resolve(value)
      })
    })
  }
}
