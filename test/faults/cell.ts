// One cell of the two tables on real processes: this fault, in this phase.
//
// Every call gets exactly one answer (one that its client has cancelled may get
// none), nothing is executed twice, a server beside it notices nothing, the server
// is well again afterwards, and no process is left.

import { strict as assert } from 'node:assert'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type ConfigurationJson,
  type Limits,
  type McpProxy,
  type StdioServerJson,
  createProxy,
  limits,
} from '../../src/index.js'
import { at } from '../integration/support/json.js'
import { program } from '../integration/support/programs.js'
import { type Scope, scratch } from '../integration/support/spawned.js'
import { HANG_MS, until } from '../integration/support/waiting.js'
import type { FaultName } from './faults.js'
import type { PhaseName } from './phases.js'
import { type AttachedCaller, attachCaller } from './support/attached.js'
import { type Answer, type Caller, GONE } from './support/caller.js'
import { leftAfter, markName } from './support/marked.js'
import { SwiftServers } from './support/swift.js'

/** A call that takes longer has failed; long enough for a server that runs to answer in, on a busy machine too. */
const TIMEOUT_MS = 2500
/** The same where the fault itself ends each call: long enough for a busy machine to start the server in. */
const PATIENT_MS = 15_000
const endsCalls: readonly FaultName[] = [
  'kill-9',
  'exit-0',
  'exit-1',
  'half-line-exit',
  'response-exit',
  'oversize',
  'duplicate-response',
  'enoent-on-restart',
]
/** Within which everything is answered and well again. */
const SETTLE_MS = HANG_MS

/** Phases in which a call of the client is in flight, and the server waits for a signal. */
const held: readonly PhaseName[] = ['queued', 'half-written', 'draining', 'reloading']

const cellLimits = (phase: PhaseName): Limits => ({
  ...limits,
  upstream: {
    ...limits.upstream,
    ndjson: { ...limits.upstream.ndjson, lineBytesMax: 512 * 1024 },
    ladder: { stdinWaitMs: 200, killWaitMs: 200, outputWaitMs: 100 },
    restart: {
      delayMsMax: 50,
      crashesMax: phase === 'half-open' ? 2 : 100,
      windowMs: 60_000,
      holdMs: 200,
      healthyMs: 60_000,
    },
  },
})

/** Runs one cell; throws when something does not hold. */
export async function runCell(scope: Scope, fault: FaultName, phase: PhaseName): Promise<void> {
  const cell = await Cell.open(scope, fault, phase)
  await cell.strike()
  await cell.recover()
  await cell.close()
}

class Cell {
  readonly #proxy: McpProxy
  readonly #phase: PhaseName
  readonly #folder: string
  readonly #servers: Readonly<Record<string, StdioServerJson>>
  readonly #mark: string
  readonly #client: AttachedCaller
  readonly #other: AttachedCaller
  /** Every call of the client that was not cancelled. */
  readonly #answers: Promise<Answer>[] = []
  #isOver = false
  #beside: Promise<number> = Promise.resolve(0)

  constructor(parts: {
    proxy: McpProxy
    phase: PhaseName
    folder: string
    servers: Readonly<Record<string, StdioServerJson>>
    mark: string
    client: AttachedCaller
    other: AttachedCaller
  }) {
    this.#proxy = parts.proxy
    this.#phase = parts.phase
    this.#folder = parts.folder
    this.#servers = parts.servers
    this.#mark = parts.mark
    this.#client = parts.client
    this.#other = parts.other
  }

  static async open(scope: Scope, fault: FaultName, phase: PhaseName): Promise<Cell> {
    const folder = scratch(scope)
    const mark = `cell-${process.pid}-${fault}-${phase}`
    writeServer(folder)
    const env = { CELL_FAULT: fault, CELL_PHASE: phase, CELL_FOLDER: folder, [markName]: mark }
    const timeoutMs = phase !== 'timed-out' && endsCalls.includes(fault) ? PATIENT_MS : TIMEOUT_MS
    const ailing: StdioServerJson = {
      command: join(folder, 'server'),
      env,
      timeout: timeoutMs,
      startTimeout: 2 * timeoutMs,
      restartDelay: 10,
      onTimeout: 'restart',
      concurrency: phase === 'queued' ? 1 : 64,
    }
    const swift = new SwiftServers(folder)
    const servers = { s: ailing, well: swift.entry('well', { env: { [markName]: mark } }) }
    const settings = { startupGraceMs: 100, mcpServers: servers }
    const proxy = await createProxy(settings, { limits: cellLimits(phase) })
    scope.after(() => proxy.close(0))
    const [client, other] = [await attachCaller(proxy), await attachCaller(proxy)]
    scope.after(() => {
      cell.#isOver = true
    })
    const cell = new Cell({ proxy, phase, folder, servers, mark, client, other })
    cell.#beside = cell.#callBeside()
    await client.caller.open()
    return cell
  }

  /** Brings the phase about, and waits until the fault has struck and every call has been answered. */
  async strike(): Promise<void> {
    const { caller } = this.#client
    if (held.includes(this.#phase)) await this.#strikeHeld(caller)
    else if (this.#phase === 'idle') await this.#strikeIdle(caller)
    else if (this.#phase === 'cancelled' || this.#phase === 'timed-out') await this.#strikeLate(caller)
    else this.#call(caller, { nonce: 'first' }, { progressToken: 't' })
    await until(() => existsSync(join(this.#folder, 'struck')))
    this.#call(caller, { nonce: 'after' })
    const answers = await inTime(Promise.all(this.#answers), 'every call is answered')
    assert(!answers.includes(GONE), 'every call is answered before the client is let go')
  }

  /** The server answers again, once what was broken is mended. */
  async recover(): Promise<void> {
    if (!existsSync(join(this.#folder, 'server'))) writeServer(this.#folder)
    if (this.#phase === 'draining') return
    const { caller } = this.#client
    const endsAt = performance.now() + SETTLE_MS
    for (let nonce = 0; ; nonce++) {
      const { value } = await inTime(
        caller.call('s__nonce', { nonce: `again-${nonce}` }),
        'a call afterwards',
      )
      if (at(value, 'result') !== undefined) return
      assert(performance.now() < endsAt, `it does not recover: ${JSON.stringify(value)}`)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }

  async close(): Promise<void> {
    this.#isOver = true
    const failed = await this.#beside
    await this.#proxy.close(0)
    assert.equal(failed, 0, 'calls to the server beside it that failed')
    for (const { misses, lastMiss } of [this.#client.caller, this.#other.caller]) {
      const { twice, stray, invalid } = misses
      assert.deepEqual({ twice, stray, invalid }, { twice: 0, stray: 0, invalid: 0 }, lastMiss)
    }
    for (const [nonce, times] of this.#executions())
      assert.equal(times, 1, `${nonce} was executed ${times} times`)
    assert.deepEqual(await leftAfter(this.#mark, HANG_MS), [], 'processes that are left')
  }

  async #strikeIdle(caller: Caller): Promise<void> {
    const { value } = await this.#call(caller, { nonce: 'first' })
    assert(at(value, 'result') !== undefined, 'it is well before')
    this.#signal()
  }

  /** A call that the server holds is in flight when it is struck. */
  async #strikeHeld(caller: Caller): Promise<void> {
    this.#answers.push(caller.call('s__hold', { nonce: 'held' }))
    await until(() => existsSync(join(this.#folder, 'held')))
    if (this.#phase === 'queued') this.#call(caller, { nonce: 'queued' })
    if (this.#phase === 'half-written') this.#call(caller, { nonce: 'long', filler: 'x'.repeat(1 << 20) })
    const closing = this.#phase === 'draining' ? this.#proxy.close(TIMEOUT_MS) : undefined
    const reloading = this.#phase === 'reloading' ? this.#proxy.reload(this.#changed()) : undefined
    // What goes on by itself has begun by then.
    await new Promise((resolve) => setTimeout(resolve, 20))
    this.#signal()
    await reloading
    await closing
  }

  async #strikeLate(caller: Caller): Promise<void> {
    const id = caller.nextId()
    const answer = caller.call('s__hold', { nonce: 'held' }, undefined, id)
    await until(() => existsSync(join(this.#folder, 'held')))
    if (this.#phase === 'timed-out') return void this.#answers.push(answer)
    caller.notify('notifications/cancelled', { requestId: id })
    // Behind the answer to a ping nothing may come for it any more.
    await caller.request('ping')
    caller.forget(id)
  }

  #call(caller: Caller, args: unknown, meta?: unknown): Promise<Answer> {
    // Nothing is taken any more once the proxy is closing.
    if (this.#phase === 'draining') return Promise.resolve(GONE)
    const answer = caller.call('s__nonce', args, meta)
    this.#answers.push(answer)
    return answer
  }

  #signal(): void {
    const [pid] = this.#proxy.status().find(({ name }) => name === 's')?.pids ?? []
    assert(pid !== undefined, 'the server runs')
    process.kill(pid, 'SIGUSR2')
  }

  /** The same with one server more. */
  #changed(): ConfigurationJson {
    const env = { [markName]: this.#mark }
    const extra = new SwiftServers(this.#folder).entry('extra', { env })
    return { startupGraceMs: 100, mcpServers: { ...this.#servers, extra } }
  }

  /** Somebody else calls the server beside it all the time; how many calls failed. */
  async #callBeside(): Promise<number> {
    const { caller } = this.#other
    await caller.open()
    let failed = 0
    for (let turn = 0; !this.#isOver; turn++) {
      const { value } = await caller.call('well__hit', { nonce: String(turn) })
      const isDown = this.#phase === 'draining' && at(value, 'result') === undefined
      if (isDown) return failed
      if (at(value, 'result', 'content', 0, 'text') !== String(turn)) failed++
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    return failed
  }

  #executions(): Map<string, number> {
    const counts = new Map<string, number>()
    const ledger = join(this.#folder, 'ledger')
    if (!existsSync(ledger)) return counts
    for (const nonce of readFileSync(ledger, 'utf8').split('\n').filter(Boolean))
      counts.set(nonce, (counts.get(nonce) ?? 0) + 1)
    return counts
  }
}

/** The command of the server, which one fault takes away. */
function writeServer(folder: string): void {
  const script = `#!/bin/sh\nexec '${process.execPath}' '${program('cell.mjs')}'\n`
  writeFileSync(join(folder, 'server'), script, { mode: 0o755 })
}

async function inTime<T>(promise: Promise<T>, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: not within ${SETTLE_MS} ms`)), SETTLE_MS)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
