// A child process that never was: its streams, its signals, its exit.

import { Readable, Writable } from 'node:stream'
import type { Child, ChildExit } from '../../src/runtime/runtime.js'
import type { SimContext, FlowSink } from './byte-flow.js'
import { type PipeShape, ReadableEnd, WritableEnd } from './pipes.js'

/** The program that runs in a process. */
export interface Program extends FlowSink {
  /** Whether SIGTERM ends it. */
  readonly heedsTerm: boolean
  /** It has ended though nobody had asked it to. */
  crashed(): void
}

export interface ProcessShape {
  readonly stdin: PipeShape
  readonly stdout: PipeShape
  /** How much later than the exit itself its parent hears of it, at most. */
  readonly exitDelayMsMax: number
}

/** One process, from both sides. */
export class SimProcess implements Child {
  readonly pid: number
  readonly name: string
  readonly stdin: Writable
  readonly stdout: Readable
  readonly stderr: Readable
  readonly exited: Promise<ChildExit>
  readonly input: WritableEnd
  readonly output: ReadableEnd
  readonly errors: ReadableEnd
  readonly #context: SimContext
  readonly #shape: ProcessShape
  readonly #program: Program
  readonly #late: (() => void)[] = []
  #resolve: (exit: ChildExit) => void = () => {}
  #alive = true
  #stopped = false
  #reads = true
  #termPending = false
  #isAsked = false
  #deaf = false

  constructor(
    context: SimContext,
    who: { readonly name: string; readonly pid: number },
    shape: ProcessShape,
    program: Program,
  ) {
    this.pid = who.pid
    this.name = who.name
    this.#context = context
    this.#shape = shape
    this.#program = program
    this.input = new WritableEnd(context, `${who.name}<`, shape.stdin, program)
    this.output = new ReadableEnd(context, `${who.name}>`, shape.stdout)
    this.errors = new ReadableEnd(context, `${who.name}!`, shape.stdout)
    this.stdin = this.input.stream
    this.stdout = this.output.stream
    this.stderr = this.errors.stream
    this.exited = new Promise((resolve) => {
      this.#resolve = resolve
    })
  }

  get alive(): boolean {
    return this.#alive
  }

  /** It runs, and nobody has asked it to end. */
  get stays(): boolean {
    return this.#alive && !this.#isAsked && !this.input.flow.ending
  }

  signal(name: 'SIGTERM' | 'SIGKILL'): boolean {
    if (!this.#alive) return false
    this.#isAsked = true
    this.#context.trace.note(this.name, name)
    if (name === 'SIGKILL') this.exit(undefined, 'SIGKILL')
    else if (this.#stopped) this.#termPending = true
    else if (this.#program.heedsTerm) this.exit(undefined, 'SIGTERM')
    return true
  }

  // The script's side.

  /** Runs something later, unless the process has gone by then; a stopped one does it when it goes on. */
  after(delayMs: number, run: () => void): void {
    this.#context.clock.after(delayMs, () => {
      if (!this.#alive) return
      if (this.#stopped) this.#late.push(run)
      else run()
    })
  }

  write(text: string | Buffer): void {
    if (this.#alive) this.output.flow.add(Buffer.from(text))
  }

  /** `heldOpen`: somebody else still has its stdout, and says nothing. */
  exit(code: number | undefined, signal?: string, heldOpen = false): void {
    if (!this.#alive) return
    const isCrash = this.stays
    this.#alive = false
    if (isCrash) this.#program.crashed()
    this.#context.trace.note(this.name, `exits ${signal ?? code}`)
    this.input.break()
    if (!heldOpen) this.output.flow.end()
    this.errors.flow.end()
    const delayMs = this.#context.dice(`${this.name} exit`).next() * this.#shape.exitDelayMsMax
    this.#context.clock.after(delayMs, () => {
      this.stdin.destroy()
      this.#resolve({ code, signal, spawnError: undefined })
    })
  }

  closeInput(): void {
    this.#deaf = true
    this.input.break()
  }

  /** Whether it can never be told anything again. */
  get deaf(): boolean {
    return this.#deaf
  }

  closeOutput(): void {
    this.output.flow.end()
  }

  /** Whether the program looks at its stdin at all. */
  read(on: boolean): void {
    this.#reads = on
    this.input.flow.open(on && !this.#stopped)
  }

  /** SIGSTOP and SIGCONT. */
  stop(on: boolean): void {
    if (!this.#alive || on === this.#stopped) return
    this.#stopped = on
    this.#context.trace.note(this.name, on ? 'SIGSTOP' : 'SIGCONT')
    this.input.flow.open(this.#reads && !on)
    if (on) return
    if (this.#termPending && this.#program.heedsTerm) return this.exit(undefined, 'SIGTERM')
    for (const run of this.#late.splice(0)) if (this.#alive) run()
  }
}

/** A process that could not be started. */
export function failedSpawn(spawnError: string): Child {
  const stdin = new Writable({ write: (_chunk, _encoding, done) => done() })
  const exited = Promise.resolve({ code: undefined, signal: undefined, spawnError })
  return {
    pid: undefined,
    stdin,
    stdout: Readable.from([]),
    stderr: Readable.from([]),
    exited,
    signal: () => false,
  }
}
