// The connection to the agent of one machine, and the programs that the agent has started.
//
// The service does not trust the agent. A report that an honest agent would not send ends the machine.

import type { Buffer } from 'node:buffer'
import { PassThrough, type Readable, Transform, type Writable } from 'node:stream'
import { parse, write } from '../../../jsonrpc/text.js'
import type { Clock } from '../../../runtime/deadline.js'
import { Deferred } from '../../../runtime/deferred.js'
import { errorCode, errorText } from '../../../text/error-text.js'
import { isObject } from '../../../text/json-object.js'
import { type AgentOrder, type AgentReport, LineReader } from '../../agent-messages.js'
import type { GuestExit, GuestProcess } from '../../runtime.js'
import type { MachinePipes, ProgramPipes } from './pipes.js'

/** The most programs of a machine that run at a time; the service asks for fewer. */
const PROGRAMS_MAX = 64

/** The most bytes of an order: the limit of Linux for arguments and variables. */
const ORDER_BYTES_MAX = 4 * 1024 * 1024

/** The most bytes of orders that wait for an agent. */
const WAITING_BYTES_MAX = 32 * 1024 * 1024

/** The most bytes of a report. */
const REPORT_BYTES_MAX = 4096

/** The most characters of the reason that the agent reports; a program may have forged it. */
const FAILURE_LENGTH_MAX = 500

const notStarted = { code: undefined, signal: undefined }

/** The program to start, with all its variables. */
export interface AgentCommand {
  readonly program: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

export interface AgentStreams {
  readonly input: Writable
  readonly output: Readable
}

export interface AgentLinkEvents {
  /** Called when programs can be started. */
  ready(): void
  /** Called when the agent breaks the protocol; the link reads nothing after that. */
  broken(how: string): void
  /** Adds to the exit of a program the limit that caused it. */
  explain(program: GuestProcess, exit: GuestExit): GuestExit
}

export class AgentLink {
  readonly #streams: AgentStreams
  readonly #pipes: MachinePipes
  readonly #events: AgentLinkEvents
  readonly #reader = new LineReader(REPORT_BYTES_MAX)
  readonly #programs = new Map<number, MachineProgram>()
  readonly #rate: OutputRate
  #last = 0
  #isReady = false
  #end: GuestExit | undefined

  constructor(streams: AgentStreams, pipes: MachinePipes, rate: OutputRate, events: AgentLinkEvents) {
    this.#streams = streams
    this.#pipes = pipes
    this.#rate = rate
    this.#events = events
    streams.input.on('error', () => undefined)
    streams.output.on('error', () => undefined)
    streams.output.on('data', (chunk: Buffer) => this.#read(chunk))
  }

  /** The number of programs that the service waits for. */
  get running(): number {
    return this.#programs.size
  }

  run(command: AgentCommand): GuestProcess {
    const id = ++this.#last
    const program = new MachineProgram(this.#rate, (kind) => this.#send({ kind, id }))
    const order = write({ kind: 'start', id, ...command })
    const failure = this.#refusal(order.length)
    if (failure !== undefined) program.end(failure)
    else {
      this.#programs.set(id, program)
      void this.#start(id, program, order)
    }
    return program
  }

  /** Ends every program with this exit when the machine is gone. */
  end(exit: GuestExit): void {
    this.#end ??= exit
    for (const program of this.#programs.values()) program.end(this.#end)
    this.#programs.clear()
    this.#streams.input.destroy()
    this.#streams.output.destroy()
  }

  #refusal(bytes: number): GuestExit | undefined {
    if (this.#end !== undefined) return this.#end
    if (this.#programs.size >= PROGRAMS_MAX)
      return { ...notStarted, failure: `${PROGRAMS_MAX} programs run already` }
    return bytes > ORDER_BYTES_MAX
      ? { ...notStarted, failure: 'the arguments and variables are too long: E2BIG' }
      : undefined
  }

  async #start(id: number, program: MachineProgram, order: string): Promise<void> {
    try {
      const pipes = await this.#pipes.open(id)
      if (!this.#programs.has(id)) return pipes.end()
      program.begin(pipes)
      this.#sendLine(order)
    } catch (error) {
      this.#programs.delete(id)
      program.end({ ...notStarted, failure: errorCode(error) ?? errorText(error) })
    }
  }

  #send(order: AgentOrder): void {
    this.#sendLine(write(order))
  }

  #sendLine(line: string): void {
    const { input } = this.#streams
    if (this.#end !== undefined) return
    if (input.writableLength > WAITING_BYTES_MAX) return this.#break('it does not read its orders')
    input.write(`${line}\n`)
  }

  #read(chunk: Buffer): void {
    if (this.#end !== undefined) return
    const lines = this.#reader.push(chunk)
    if (lines === undefined) return this.#break('a report is too long')
    for (const line of lines)
      if (this.#end === undefined && !this.#take(line)) this.#break('a report that is none')
  }

  /** Returns false for a report that no honest agent sends. */
  #take(line: string): boolean {
    const report = reportOf(line)
    if (report === undefined) return false
    if (report.kind === 'ready') {
      if (this.#isReady) return false
      this.#isReady = true
      this.#events.ready()
      return true
    }
    const { id } = report
    const program = this.#programs.get(id)
    if (program === undefined) return false
    if (report.kind === 'started') return program.started()
    this.#programs.delete(id)
    program.end(this.#events.explain(program, exitOf(report)))
    this.#send({ kind: 'abandon', id })
    return true
  }

  #break(how: string): void {
    this.end({ ...notStarted, failure: 'the agent of the machine broke its protocol' })
    this.#events.broken(how)
  }
}

/** One program in a machine, as the service sees it. */
class MachineProgram implements GuestProcess {
  readonly stdin = new PassThrough()
  readonly stdout: Transform
  readonly stderr: Transform
  readonly #send: (kind: 'interrupt' | 'kill') => void
  readonly #begun = new Deferred<void>()
  readonly #exit = new Deferred<GuestExit>()
  #pipes: ProgramPipes | undefined
  #isStarted = false

  /** `send` sends an order about this program. */
  constructor(rate: OutputRate, send: (kind: 'interrupt' | 'kill') => void) {
    this.#send = send
    this.stdout = rate.stream()
    this.stderr = rate.stream()
    this.stdin.on('error', () => undefined)
  }

  get exited(): Promise<GuestExit> {
    return this.#exit.promise
  }

  interrupt(): void {
    void this.#begun.promise.then(() => this.#send('interrupt'))
  }

  kill(): void {
    void this.#begun.promise.then(() => this.#send('kill'))
  }

  /** The order to start follows. */
  begin(pipes: ProgramPipes): void {
    this.#pipes = pipes
    pipes.read([this.stdout, this.stderr])
    this.#begun.resolve()
  }

  /** The agent has opened its ends. Returns false when it said so before. */
  started(): boolean {
    if (this.#isStarted) return false
    this.#isStarted = true
    this.#pipes?.write(this.stdin)
    return true
  }

  /** Ends the streams. The exit of a program that has run waits for the reader of long output. */
  end(exit: GuestExit): void {
    const outputs = [this.stdout, this.stderr]
    if (this.#pipes === undefined) for (const stream of outputs) stream.end()
    this.#pipes?.end()
    this.stdin.destroy()
    const full = exit.failure === undefined ? outputs.filter((stream) => stream.writableLength > 0) : []
    void Promise.all(full.map(whenRead)).then(() => this.#exit.resolve(exit))
  }
}

function whenRead(stream: Readable): Promise<void> {
  return new Promise((resolve) => {
    stream.once('end', resolve).once('close', resolve)
  })
}

function exitOf(report: Extract<AgentReport, { readonly kind: 'exit' | 'failed' }>): GuestExit {
  if (report.kind === 'exit') return { code: report.code ?? undefined, signal: report.signal ?? undefined }
  const why = report.why.slice(0, FAILURE_LENGTH_MAX).replaceAll(/\p{Cc}/gu, ' ')
  return { ...notStarted, failure: why }
}

/** Undefined for a line that no honest agent sends. */
function reportOf(line: string): AgentReport | undefined {
  const value = valueOf(line)
  return isReport(value) ? value : undefined
}

function valueOf(line: string): unknown {
  try {
    return parse(line)
  } catch {
    return undefined
  }
}

function isReport(value: unknown): value is AgentReport {
  if (!isObject(value)) return false
  const { kind, id, code, signal, why } = value
  if (kind === 'ready') return true
  if (typeof id !== 'number') return false
  if (kind === 'started') return true
  if (kind === 'failed') return typeof why === 'string'
  if (kind !== 'exit') return false
  return signal === null
    ? Number.isInteger(code) && Number(code) >= 0 && Number(code) <= 255
    : code === null && typeof signal === 'string' && /^SIG[A-Z\d]{1,12}$/.test(signal)
}

// How fast the service reads what the programs of one machine write.
//
// Output that is too long for a result is read only to be dropped. A program that writes without end would take a processor of
// the host for itself and another one for the service. Bursts, such as a file that a client reads, pass at full speed.

const MiB = 1024 * 1024

export const BURST_BYTES: number = 16 * MiB
export const BYTES_A_SECOND: number = 64 * MiB

/** The cost of a chunk in addition to its bytes: very many small ones take as long as large ones. */
const CHUNK_COST = 4096

/** The streams of one machine share the rate. */
export class OutputRate {
  readonly #clock: Clock
  #credit = BURST_BYTES
  #at: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#at = clock.now()
  }

  stream(): Transform {
    return new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        const delayMs = this.#delayOf(chunk.length)
        if (delayMs === 0) done(null, chunk)
        else this.#clock.setTimer(delayMs, () => done(null, chunk))
      },
    })
  }

  #delayOf(bytes: number): number {
    const now = this.#clock.now()
    const earned = ((now - this.#at) * BYTES_A_SECOND) / 1000
    this.#at = now
    this.#credit = Math.min(BURST_BYTES, this.#credit + earned) - bytes - CHUNK_COST
    return this.#credit >= 0 ? 0 : Math.ceil((-this.#credit * 1000) / BYTES_A_SECOND)
  }
}
