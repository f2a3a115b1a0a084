// The connection to the agent of one machine, and the programs that the agent has started.
//
// The service does not trust the agent. A report that an honest agent would not send ends the machine.

import type { Buffer } from 'node:buffer'
import type { Readable, Writable } from 'node:stream'
import { write } from '../../../jsonrpc/text.js'
import type { Clock } from '../../../runtime/deadline.js'
import { Deferred } from '../../../runtime/deferred.js'
import { errorCode, errorText } from '../../../text/error-text.js'
import { type JsonObject, objectIn } from '../../../text/json-object.js'
import { type AgentOrder, type AgentReport, LineReader } from '../../agent-messages.js'
import { type GuestExit, type GuestProcess, noExit } from '../../runtime.js'
import { type MachinePipes, MachineProgram } from './machine-program.js'

/** The most programs that run at a time in a machine. The service needs fewer. */
const PROGRAMS_MAX = 64

/** The most bytes of an order: the limit of Linux for arguments and variables. */
const ORDER_BYTES_MAX = 4 * 1024 * 1024

const WAITING_BYTES_MAX = 32 * 1024 * 1024

const REPORT_BYTES_MAX = 4096

/** The most characters of a reason in a report, which a program may have forged. */
const FAILURE_LENGTH_MAX = 500

export interface AgentCommand {
  readonly program: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

export class AgentLink {
  readonly ready: Deferred<void> = new Deferred()
  readonly #orders: Writable
  readonly #reports: Readable
  readonly #pipes: MachinePipes
  readonly #clock: Clock
  readonly #onBroken: (how: string) => void
  readonly #reader = new LineReader(REPORT_BYTES_MAX)
  readonly #programs = new Map<number, MachineProgram>()
  #last = 0
  #isReady = false
  #end: GuestExit | undefined

  /** Calls `onBroken` if the agent breaks the protocol. The link reads nothing after that. */
  constructor(
    { stdin, stdout }: { readonly stdin: Writable; readonly stdout: Readable },
    pipes: MachinePipes,
    clock: Clock,
    onBroken: (how: string) => void,
  ) {
    this.#orders = stdin.on('error', () => undefined)
    this.#reports = stdout.on('error', () => undefined)
    this.#pipes = pipes
    this.#clock = clock
    this.#onBroken = onBroken
    stdout.on('data', (chunk: Buffer) => this.#read(chunk))
  }

  get running(): number {
    return this.#programs.size
  }

  /** `explained` adds the limit that caused an exit to the reported exit. */
  run(command: AgentCommand, explained: (exit: GuestExit) => GuestExit = (exit) => exit): GuestProcess {
    const id = ++this.#last
    const program = new MachineProgram(this.#clock, (kind) => this.#send({ kind, id }), explained)
    const order = write({ kind: 'start', id, ...command })
    const failure = this.#refusal(order.length)
    if (failure !== undefined) program.end(failure)
    else {
      this.#programs.set(id, program)
      void this.#start(id, program, order)
    }
    return program
  }

  /** Ends every program with this exit after the machine has ended. */
  end(exit: GuestExit): void {
    this.#end ??= exit
    for (const program of this.#programs.values()) program.end(this.#end)
    this.#programs.clear()
    this.#orders.destroy()
    this.#reports.destroy()
  }

  #refusal(bytes: number): GuestExit | undefined {
    if (this.#end !== undefined) return this.#end
    if (this.#programs.size >= PROGRAMS_MAX)
      return { ...noExit, failure: `${PROGRAMS_MAX} programs run already` }
    return bytes > ORDER_BYTES_MAX
      ? { ...noExit, failure: 'the arguments and variables are too long: E2BIG' }
      : undefined
  }

  async #start(id: number, program: MachineProgram, order: string): Promise<void> {
    try {
      const paths = await this.#pipes.of(id)
      if (!this.#programs.has(id)) return
      program.begin(paths)
      this.#sendLine(order)
    } catch (error) {
      this.#programs.delete(id)
      program.end({ ...noExit, failure: errorCode(error) ?? errorText(error) })
    }
  }

  #send(order: AgentOrder): void {
    this.#sendLine(write(order))
  }

  #sendLine(line: string): void {
    if (this.#end !== undefined) return
    if (this.#orders.writableLength > WAITING_BYTES_MAX) return this.#break('it does not read its orders')
    this.#orders.write(`${line}\n`)
  }

  #read(chunk: Buffer): void {
    if (this.#end !== undefined) return
    const lines = this.#reader.push(chunk)
    if (lines === undefined) return this.#break('a report is too long')
    for (const line of lines)
      if (this.#end === undefined && !this.#take(line)) this.#break('an invalid report')
  }

  /** Returns false for a report that no honest agent sends. */
  #take(line: string): boolean {
    const report = objectIn(line)
    if (report === undefined || !isReport(report)) return false
    if (report.kind === 'ready') {
      if (this.#isReady) return false
      this.#isReady = true
      this.ready.resolve()
      return true
    }
    const { id } = report
    const program = this.#programs.get(id)
    if (program === undefined) return false
    if (report.kind === 'started') return program.started()
    this.#programs.delete(id)
    program.end(program.explained(exitOf(report)))
    this.#send({ kind: 'abandon', id })
    return true
  }

  #break(how: string): void {
    this.end({ ...noExit, failure: 'the agent of the machine broke its protocol' })
    this.#onBroken(how)
  }
}

function exitOf(report: Extract<AgentReport, { readonly kind: 'exit' | 'failed' }>): GuestExit {
  if (report.kind === 'exit') return { code: report.code ?? undefined, signal: report.signal ?? undefined }
  const why = report.why.slice(0, FAILURE_LENGTH_MAX).replaceAll(/\p{Cc}/gu, ' ')
  return { ...noExit, failure: why }
}

function isReport(value: JsonObject): value is JsonObject & AgentReport {
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
