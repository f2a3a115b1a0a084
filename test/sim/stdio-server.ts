// A scripted server that runs as child processes.

import type { Child } from '../../src/runtime/runtime.js'
import type { FaultName } from './matrix.js'
import type { ScriptHost, Milestone } from './script-host.js'
import type { ServerScript } from './server-script.js'
import { scriptOf } from './script-of.js'
import type { SimContext } from './byte-flow.js'
import type { Ledger } from './ledger.js'
import { SimProcess, failedSpawn } from './process.js'
import type { Random } from './random.js'
import type { ServerFacts } from './server-facts.js'
import type { SimServer } from './server.js'
import { type Audience, StartWatch } from './start-watch.js'

/** One process and the program in it. */
interface Instance {
  readonly process: SimProcess
  readonly script: ServerScript
}

/** Starts processes, and makes faults happen to them. */
export class StdioServer implements SimServer {
  readonly facts: ServerFacts
  onMilestone: (milestone: Milestone, instance: string) => void = () => {}
  readonly #context: SimContext
  readonly #ledger: Ledger
  readonly #nextPid: () => number
  readonly #starts: StartWatch
  #instances: Instance[] = []
  #started = 0
  #spawnError: string | undefined

  constructor(
    context: SimContext,
    facts: ServerFacts,
    ledger: Ledger,
    parts: { readonly nextPid: () => number; readonly audience: Audience },
  ) {
    this.facts = facts
    this.#starts = new StartWatch(facts.plan, ledger, parts.audience)
    this.#context = context
    this.#ledger = ledger
    this.#nextPid = parts.nextPid
  }

  get processes(): SimProcess[] {
    return this.#instances.map(({ process }) => process)
  }

  get scripts(): ServerScript[] {
    return this.#instances.map(({ script }) => script)
  }

  get unread(): number {
    return sum(this.processes.map(unreadBy))
  }

  get unheard(): number {
    return sum(this.processes.map(({ output }) => output.flow.bytes))
  }

  /** Looks whether more run than there is use for. */
  count(): void {
    const staying = this.processes.filter(({ stays }) => stays)
    this.#starts.running(staying.length, staying.filter((process) => unreadBy(process) > 0).length)
  }

  spawn(): Child {
    const { name } = this.facts.plan
    this.facts.starts.push(this.#context.clock.now)
    if (this.#spawnError !== undefined) {
      this.#starts.crashed()
      return failedSpawn(this.#spawnError)
    }
    const instance = this.#newInstance(`${name}#${++this.#started}`)
    this.#instances = [...this.#instances.filter(({ process }) => process.alive), instance]
    this.#context.clock.after(0, () => this.onMilestone('started', instance.process.name))
    return instance.process
  }

  strike(fault: FaultName, random: Random): void {
    this.facts.struck = true
    if (fault === 'enoent-on-restart') this.#spawnError = 'ENOENT'
    if (fault === 'emfile') this.#spawnError = 'EMFILE'
    for (const instance of this.#instances) if (instance.process.alive) happenings[fault]?.(instance, random)
  }

  mend(): void {
    this.#spawnError = undefined
    this.facts.holdsInitialize = false
    this.facts.refusesLists = false
    for (const { process, script } of this.#instances) {
      process.output.flow.pace(undefined)
      process.read(true)
      process.stop(false)
      script.mend()
      // Nobody notices before somebody writes to it, which may be much later.
      if (process.deaf) process.exit(1)
    }
  }

  #newInstance(name: string): Instance {
    const { plan } = this.facts
    let rest = ''
    const ownScript = (): ServerScript => script
    const process = new SimProcess(this.#context, { name, pid: this.#nextPid() }, plan, {
      heedsTerm: plan.heedsTerm,
      crashed: () => this.#starts.crashed(),
      bytes: (chunk) => {
        const lines = (rest + chunk.toString('latin1')).split('\n')
        rest = lines.pop() ?? ''
        for (const line of lines) ownScript().receive(Buffer.from(line, 'latin1').toString())
      },
      end: () => {
        if (plan.heedsEof) process.after(1, () => process.exit(0))
      },
    })
    const script: ServerScript = scriptOf(this.#hostOf(process), this.facts, this.#ledger, this.#context)
    return { process, script }
  }

  #hostOf(process: SimProcess): ScriptHost {
    return {
      name: process.name,
      get stays() {
        return process.stays
      },
      say: (text) => {
        process.write(`${text}\n`)
        return true
      },
      sayHalf: (text) => process.write(text.slice(0, text.length / 2)),
      junk: () => writeJunk(process),
      after: (delayMs, run) => process.after(delayMs, run),
      exit: (code) => process.exit(code),
      reached: (milestone) => this.onMilestone(milestone, process.name),
    }
  }
}

/** Bytes that a process was sent and has not read. */
function unreadBy({ input }: SimProcess): number {
  return input.flow.bytes + input.stream.writableLength
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((whole, part) => whole + part, 0)
}

/** Lines that look like a log, like half a message, and like nothing at all. */
function writeJunk(process: SimProcess): void {
  process.write('INFO listening on {"port": 1}\n{"jsonrpc":"2.0"\n\n')
  process.write(Buffer.from([0xff, 0xfe, 0x80, 0x0a]))
  process.errors.flow.add(Buffer.from('\u001b[2J\u001b]0;title\u0007 \u202e \r\b\u0085 what?\n'))
}

/** What happens to one process; the other faults belong to servers over HTTP, or to the proxy. */
const happenings: Readonly<Partial<Record<FaultName, (instance: Instance, random: Random) => void>>> = {
  'kill-9': kill,
  'enoent-on-restart': kill,
  emfile: kill,
  'exit-0': ({ process }) => process.exit(0),
  'exit-1': ({ process }, random) => process.exit(1, undefined, random.chance(0.1)),
  sigstop: ({ process }) => process.stop(true),
  'stdout-close': ({ process }) => process.closeOutput(),
  'stdin-close': ({ process }) => process.closeInput(),
  'half-line-exit': ({ script }) => script.blurt('exit-half'),
  'response-exit': ({ script }) => script.blurt('exit-with'),
  junk: ({ process }) => writeJunk(process),
  oversize: ({ script }) => script.blurt('oversize'),
  slow: ({ process }) => process.output.flow.pace(1000),
  'never-reads': ({ process }) => process.read(false),
  'duplicate-response': ({ script }) => script.blurt('twice'),
  'wrong-id': ({ script }) => script.blurt('wrong-id'),
}

/** Somebody else may still have its stdout. */
function kill({ process }: Instance, random: Random): void {
  process.exit(undefined, 'SIGKILL', random.chance(0.1))
}
