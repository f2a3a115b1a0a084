// The environment of a simulated proxy: its clock, its random sequences, its processes and its network.

import type { Child, LogSink, Runtime, SpawnSpec } from '../../src/runtime/runtime.js'
import { type LogStream, Logger } from '../../src/log/log.js'
import { MemoryFiles } from '../kept/support/memory-files.js'
import { type SimContext, systemError } from './byte-flow.js'
import { SimFront } from './front.js'
import { Clock } from './clock.js'
import { HttpServer } from './http-server.js'
import { isShown, type Plan } from './plan.js'
import { Ledger } from './ledger.js'
import { Random } from './random.js'
import { ServerFacts, type SimServer } from './server.js'
import { type SimProcess, StdioServer } from './stdio-server.js'
import { Trace } from './trace.js'
import { type Wrong, changed } from './wrong.js'

const EPOCH_MS = 1_780_000_000_000
const DAY_MS = 86_400_000

export class Host implements SimContext {
  readonly clock: Clock = new Clock()
  readonly trace: Trace = new Trace(() => this.clock.now)
  readonly ledger: Ledger = new Ledger(this.clock)
  readonly servers: readonly SimServer[]
  readonly runtime: Runtime
  readonly log: LogSink
  readonly front: SimFront = new SimFront(this)
  /** How often a circuit breaker has opened. */
  breakers = 0
  readonly files: MemoryFiles = new MemoryFiles(() => this.runtime.wallNow())
  readonly wrong: Wrong
  readonly seed: number
  #wallJumpMs = 0
  #pid = 1000

  constructor(plan: Plan, wrong: Wrong) {
    this.seed = plan.seed
    this.wrong = wrong
    this.servers = plan.servers.map((server, at) => {
      const facts = new ServerFacts(server, plan.limits.lineBytesMax)
      if (server.isStateless === true) this.ledger.sessionless.add(server.name)
      if (server.total !== undefined) this.ledger.totals.set(server.name, server.total)
      const isStale = plan.kept?.left[at] === 'stale' || server.faulty
      facts.isRecalled = isStale && plan.kept !== undefined && isShown(plan.kept, at)
      if (server.kind === 'http') return new HttpServer(this, facts)
      return new StdioServer(this, facts, () => this.#pid++)
    })
    const right = this.#newRuntime()
    this.runtime = changed(right, wrong.runtime?.(right))
    this.log = this.#newLog(plan.logs)
  }

  /** Writes of the log and of the lists fail. */
  set diskFull(isFull: boolean) {
    this.files.troubles.writes = isFull ? 'ENOSPC: no space left on device' : undefined
  }

  readonly dice = (name: string): Random => Random.of(this.seed, name)

  jumpWall(days: number): void {
    this.#wallJumpMs += days * DAY_MS
  }

  get alive(): number {
    return this.#processes.filter(({ alive }) => alive).length
  }

  count(): void {
    for (const server of this.servers) if (server instanceof StdioServer) server.count()
  }

  get sockets(): number {
    const opened = this.servers.map((server) => (server instanceof HttpServer ? server.sockets.length : 0))
    return opened.reduce((sum, count) => sum + count, this.front.sockets)
  }

  get backlogBytes(): number {
    return Math.max(0, ...this.#processes.map(({ stdin }) => stdin.writableLength))
  }

  get #processes(): SimProcess[] {
    return this.servers.flatMap((server) => (server instanceof StdioServer ? server.processes : []))
  }

  #newRuntime(): Runtime {
    const chance = this.dice('proxy')
    const secrets = this.dice('secrets')
    return {
      now: () => this.clock.now,
      wallNow: () => EPOCH_MS + this.clock.now + this.#wallJumpMs,
      setTimer: (delayMs, fire) => this.clock.after(delayMs, fire, 'proxy'),
      random: () => chance.next(),
      spawn: (spec) => this.#spawn(spec),
      connect: ({ host, isTls }) => {
        const server = this.#named(host.split('.')[0])
        if (!(server instanceof HttpServer)) throw new Error(`nobody is at ${host}`)
        return server.connect(isTls)
      },
      listen: (server) => this.front.listen(server),
      secret: (bytes) => Buffer.from(Array.from({ length: bytes }, () => secrets.below(256))),
      files: () => this.files,
      memoryOf: () => Promise.resolve(undefined),
      env: {},
    }
  }

  #named(name: string | undefined): SimServer | undefined {
    return this.servers.find(({ facts }) => facts.plan.name === name)
  }

  #spawn({ args: [name = ''] }: SpawnSpec): Child {
    const server = this.#named(name)
    if (!(server instanceof StdioServer)) throw new Error(`there is no program ${name}`)
    const child = server.spawn()
    this.trace.note(name, `is started as ${child.pid}`)
    return child
  }

  #newLog(real: boolean): LogSink {
    const check: LogSink = (record) => {
      const { message, service } = this.wrong.record?.(record) ?? record
      this.trace.note('log', `${service ?? ''} ${message}`)
      if (message.includes('keeps crashing')) this.breakers++
      if (message.includes('handling a message failed')) this.ledger.fail('fault', message)
    }
    if (!real) return check
    const stream: LogStream = {
      writableLength: 0,
      write: (line) => {
        const text = this.wrong.log?.(line) ?? line
        if (/[^\x20-\x7e\n\ufffd]/.test(text)) this.ledger.fail('bad-log', text)
        if (this.files.troubles.writes !== undefined) throw systemError('ENOSPC', 'no space left on device')
        return true
      },
    }
    const now = (): Date => new Date(EPOCH_MS + this.clock.now)
    const { sink } = new Logger({ level: 'debug', console: { stream, format: 'json' }, now })
    return (record) => {
      check(record)
      sink(record)
    }
  }
}
