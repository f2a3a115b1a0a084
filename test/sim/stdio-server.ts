// A scripted server that runs as simulated child processes, with streams, signals and exit codes.

import { Readable, Writable } from 'node:stream'
import type { Child, ChildExit } from '../../src/runtime/runtime.js'
import { ReadableEnd, type SimContext, WritableEnd } from './byte-flow.js'
import type { FaultName } from './matrix.js'
import type { Random } from './random.js'
import { type Milestone, Script, type ScriptHost } from './script.js'
import type { ServerFacts, SimServer } from './server.js'
import { StartWatch } from './start-watch.js'

export class StdioServer implements SimServer {
  readonly facts: ServerFacts
  onMilestone: (milestone: Milestone) => void = () => {}
  processes: SimProcess[] = []
  readonly context: SimContext
  readonly #nextPid: () => number
  readonly starts: StartWatch
  #started = 0
  #spawnError: string | undefined

  constructor(context: SimContext, facts: ServerFacts, nextPid: () => number) {
    this.facts = facts
    this.starts = new StartWatch(facts.plan, context.ledger)
    this.context = context
    this.#nextPid = nextPid
  }

  get scripts(): Script[] {
    return this.processes.map(({ script }) => script)
  }

  get unread(): number {
    return this.processes.reduce((sum, { unread }) => sum + unread, 0)
  }

  get unheard(): number {
    return this.processes.reduce((sum, { output }) => sum + output.flow.bytes, 0)
  }

  count(): void {
    const staying = this.processes.filter(({ stays }) => stays)
    this.starts.running(staying.length, staying.filter(({ unread }) => unread > 0).length)
  }

  spawn(): Child {
    this.facts.starts.push(this.context.clock.now)
    if (this.#spawnError !== undefined) {
      this.starts.crashed()
      return failedSpawn(this.#spawnError)
    }
    const process = new SimProcess(`${this.facts.plan.name}#${++this.#started}`, this.#nextPid(), this)
    this.processes = [...this.processes.filter(({ alive }) => alive), process]
    this.context.clock.after(0, () => this.onMilestone('started'))
    return process
  }

  strike(fault: FaultName, random: Random): void {
    this.facts.struck = true
    if (fault === 'enoent-on-restart') this.#spawnError = 'ENOENT'
    if (fault === 'emfile') this.#spawnError = 'EMFILE'
    for (const process of this.processes) if (process.alive) happenings[fault]?.(process, random)
  }

  mend(): void {
    this.#spawnError = undefined
    this.facts.mend()
    for (const process of this.processes) process.mend()
  }
}

/** The faults of processes. The other faults belong to servers over HTTP, or to the proxy. */
const happenings: Readonly<Partial<Record<FaultName, (process: SimProcess, random: Random) => void>>> = {
  'kill-9': kill,
  'enoent-on-restart': kill,
  emfile: kill,
  'exit-0': (process) => process.exit(0),
  'exit-1': (process, random) => process.exit(1, undefined, random.chance(0.1)),
  sigstop: (process) => process.stop(true),
  'stdout-close': ({ output }) => output.flow.end(),
  'stdin-close': (process) => process.closeInput(),
  'half-line-exit': ({ script }) => script.blurt('exit-half'),
  'response-exit': ({ script }) => script.blurt('exit-with'),
  junk: (process) => process.junk(),
  oversize: ({ script }) => script.blurt('oversize'),
  slow: ({ output }) => output.flow.pace(1000),
  'never-reads': (process) => process.read(false),
  'duplicate-response': ({ script }) => script.blurt('twice'),
  'wrong-id': ({ script }) => script.blurt('wrong-id'),
}

/** A grandchild may still hold its stdout. */
function kill(process: SimProcess, random: Random): void {
  process.exit(undefined, 'SIGKILL', random.chance(0.1))
}

export class SimProcess implements Child, ScriptHost {
  readonly pid: number
  readonly name: string
  readonly facts: ServerFacts
  readonly context: SimContext
  readonly script: Script
  readonly stdin: Writable
  readonly stdout: Readable
  readonly stderr: Readable
  readonly exited: Promise<ChildExit>
  readonly output: ReadableEnd
  readonly #input: WritableEnd
  readonly #errors: ReadableEnd
  readonly #server: StdioServer
  readonly #late: (() => void)[] = []
  #resolve: (exit: ChildExit) => void = () => {}
  #line = ''
  alive = true
  #stopped = false
  #reads = true
  #termPending = false
  #isAsked = false
  #deaf = false

  constructor(name: string, pid: number, server: StdioServer) {
    const { facts, context } = server
    this.pid = pid
    this.name = name
    this.facts = facts
    this.context = context
    this.#server = server
    const { stdin, stdout, heedsEof } = facts.plan
    this.#input = new WritableEnd(context, `${name}<`, stdin, {
      bytes: (chunk) => this.#heard(chunk),
      end: () => heedsEof && this.after(1, () => this.exit(0)),
    })
    this.output = new ReadableEnd(context, `${name}>`, stdout)
    this.#errors = new ReadableEnd(context, `${name}!`, stdout)
    this.stdin = this.#input.stream
    this.stdout = this.output.stream
    this.stderr = this.#errors.stream
    this.exited = new Promise((resolve) => (this.#resolve = resolve))
    this.script = new Script(this)
  }

  get stays(): boolean {
    return this.alive && !this.#isAsked && !this.#input.flow.ending
  }

  get unread(): number {
    return this.#input.flow.bytes + this.stdin.writableLength
  }

  signal(name: 'SIGTERM' | 'SIGKILL'): boolean {
    if (!this.alive) return false
    this.#isAsked = true
    this.context.trace.note(this.name, name)
    if (name === 'SIGKILL') this.exit(undefined, 'SIGKILL')
    else if (this.#stopped) this.#termPending = true
    else if (this.facts.plan.heedsTerm) this.exit(undefined, 'SIGTERM')
    return true
  }

  mend(): void {
    this.output.flow.pace(undefined)
    this.read(true)
    this.stop(false)
    this.script.mend()
    // The program would notice its closed stdin only at the next write, which may be much later.
    if (this.#deaf) this.exit(1)
  }

  /** Runs something later if the process still lives. A stopped process runs it when it continues. */
  after(delayMs: number, run: () => void): void {
    this.context.clock.after(delayMs, () => {
      if (this.alive && this.#stopped) this.#late.push(run)
      else if (this.alive) run()
    })
  }

  reached(milestone: Milestone): void {
    this.#server.onMilestone(milestone)
  }

  say(text: string): boolean {
    this.#write(`${text}\n`)
    return true
  }

  sayHalf(text: string): void {
    this.#write(text.slice(0, text.length / 2))
  }

  /** Lines that look like a log, like half a message, and like garbage. */
  junk(): void {
    this.#write('INFO listening on {"port": 1}\n{"jsonrpc":"2.0"\n\n')
    this.#write(Buffer.from([0xff, 0xfe, 0x80, 0x0a]))
    this.#errors.flow.add(Buffer.from('\u001b[2J\u001b]0;title\u0007 \u202e \r\b\u0085 what?\n'))
  }

  /** `heldOpen`: a grandchild holds its stdout and writes nothing. */
  exit(code: number | undefined, signal?: string, heldOpen = false): void {
    if (!this.alive) return
    const isCrash = this.stays
    this.alive = false
    if (isCrash) this.#server.starts.crashed()
    this.context.trace.note(this.name, `exits ${signal ?? code}`)
    this.#input.break()
    if (!heldOpen) this.output.flow.end()
    this.#errors.flow.end()
    const delayMs = this.context.dice(`${this.name} exit`).next() * this.facts.plan.exitDelayMsMax
    this.context.clock.after(delayMs, () => {
      this.stdin.destroy()
      this.#resolve({ code, signal, spawnError: undefined })
    })
  }

  closeInput(): void {
    this.#deaf = true
    this.#input.break()
  }

  read(on: boolean): void {
    this.#reads = on
    this.#input.flow.open(on && !this.#stopped)
  }

  stop(on: boolean): void {
    if (!this.alive || on === this.#stopped) return
    this.#stopped = on
    this.context.trace.note(this.name, on ? 'SIGSTOP' : 'SIGCONT')
    this.#input.flow.open(this.#reads && !on)
    if (on) return
    if (this.#termPending && this.facts.plan.heedsTerm) return this.exit(undefined, 'SIGTERM')
    for (const run of this.#late.splice(0)) if (this.alive) run()
  }

  #write(text: string | Buffer): void {
    if (this.alive) this.output.flow.add(Buffer.from(text))
  }

  #heard(chunk: Buffer): void {
    const lines = (this.#line + chunk.toString('latin1')).split('\n')
    this.#line = lines.pop() ?? ''
    for (const line of lines) this.script.receive(Buffer.from(line, 'latin1').toString())
  }
}

export function failedSpawn(spawnError: string): Child {
  return {
    pid: undefined,
    stdin: new Writable({ write: (_chunk, _encoding, done) => done() }),
    stdout: Readable.from([]),
    stderr: Readable.from([]),
    exited: Promise.resolve({ code: undefined, signal: undefined, spawnError }),
    signal: () => false,
  }
}
