// The program as a user runs it, with somebody inside who tells how it fares.

import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { numberAt } from '../../integration/support/json.js'
import { root } from '../../integration/support/programs.js'
import { type Scope, type Servers, configFile } from '../../integration/support/spawned.js'
import { Caller } from './caller.js'
import { percentile } from './scenario.js'
import type { Facts } from '../programs/watch.js'

const watch = resolve(import.meta.dirname, '../programs/watch.js')

export interface UnderTestOptions {
  readonly cli: string
  /** Options of the command beside the mode and the configuration. */
  readonly args?: readonly string[]
  /** Beside `mcpServers` in the configuration. */
  readonly more?: Readonly<Record<string, unknown>>
  /** What the command is started with, such as `prlimit`. */
  readonly under?: readonly string[]
  readonly env?: NodeJS.ProcessEnv
}

/** Memory is looked at so often, since a collection comes when it will. */
const LOOKS = 5

/** Facts after a collection each; memory is the middle of several looks, since what is free goes back later. */
export async function settled(look: () => Promise<Facts>): Promise<Facts> {
  const sizes: number[] = []
  for (let done = 0; done < LOOKS; done++) {
    await new Promise((resolve) => setTimeout(resolve, 100))
    sizes.push((await look()).rss)
  }
  return { ...(await look()), rss: percentile(sizes, 0.5) }
}

/** One running proxy. */
export class UnderTest {
  readonly child: ChildProcess
  /** The client of a proxy on stdio. */
  readonly caller: Caller
  readonly exited: Promise<number | string>
  stderr = ''
  #rest: Buffer[] = []

  constructor(mode: '--stdio' | '--http', config: string, options: UnderTestOptions) {
    const { cli, args = [], under = [], env = process.env } = options
    const node = [process.execPath, '--expose-gc', '--import', watch, cli]
    const [command = '', ...rest] = [...under, ...node, mode, '--config', config, ...args]
    this.child = spawn(command, rest, { cwd: root, env, stdio: ['pipe', 'pipe', 'pipe', 'ipc'] })
    this.caller = new Caller((line) => this.child.stdin?.write(`${line}\n`))
    this.child.stdin?.on('error', () => undefined)
    this.child.stdout?.on('data', (chunk: Buffer) => this.#push(chunk))
    this.child.stderr?.on('data', (chunk: Buffer) => {
      this.stderr = (this.stderr + chunk.toString('latin1')).slice(-50_000)
    })
    this.exited = new Promise((done) => {
      this.child.on('close', (code, signal) => {
        this.caller.gone()
        done(code ?? signal ?? 'unknown')
      })
    })
  }

  get pid(): number {
    return this.child.pid ?? 0
  }

  get running(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null
  }

  /** How it fares; `gc` collects first, `reset` begins new maxima. */
  facts(first: 'gc' | 'reset' | 'look' = 'look'): Promise<Facts> {
    return new Promise((done, fail) => {
      this.child.once('message', (value) => (isFacts(value) ? done(value) : fail(new Error('no facts'))))
      void this.exited.then(() => fail(new Error(`the proxy is gone: ${this.stderr.slice(-2000)}`)))
      this.child.send(first)
    })
  }

  /** Resident memory in bytes: at present, or the most there was. */
  resident(which: 'VmRSS' | 'VmHWM' = 'VmRSS'): number {
    const status = readFileSync(`/proc/${this.pid}/status`, 'latin1')
    return Number(new RegExp(`${which}:\\s+(\\d+)`).exec(status)?.[1] ?? Number.NaN) * 1024
  }

  /** From here on the most that was resident is counted anew. */
  forgetPeak(): void {
    writeFileSync(`/proc/${this.pid}/clear_refs`, '5')
  }

  /** Processes that the proxy has started and that are still there. */
  children(): number[] {
    return childrenOf(this.pid)
  }

  commandOf(pid: number): string {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1')
  }

  /** The port of a proxy on HTTP, once it listens. */
  async port(): Promise<number> {
    for (;;) {
      const port = /ready: POST to http:\/\/[^\s/]+:(\d+)/.exec(this.stderr)?.[1]
      if (port !== undefined) return Number(port)
      if (!this.running) throw new Error(`it does not start: ${this.stderr}`)
      const more = new Promise((done) => this.child.stderr?.once('data', done))
      await Promise.race([more, this.exited])
    }
  }

  /** Ends it as a client does; the exit code. */
  async finish(): Promise<number | string> {
    this.child.stdin?.end()
    return this.exited
  }

  #push(chunk: Buffer): void {
    let from = 0
    for (let end = chunk.indexOf(0x0a); end >= 0; end = chunk.indexOf(0x0a, from)) {
      this.caller.take(Buffer.concat([...this.#rest, chunk.subarray(from, end)]).toString())
      this.#rest = []
      from = end + 1
    }
    if (from < chunk.length) this.#rest.push(chunk.subarray(from))
  }
}

function isFacts(value: unknown): value is Facts {
  return !Number.isNaN(numberAt(value, 'turnMaxMs'))
}

/** The processes that a process has started and that are still there. */
export function childrenOf(pid: number): number[] {
  const tasks = `/proc/${pid}/task`
  return readdirSync(tasks).flatMap((task) =>
    readFileSync(`${tasks}/${task}/children`, 'latin1').split(' ').filter(Boolean).map(Number),
  )
}

/** Starts it; ended with everything it has started when the scope ends. */
export function startUnderTest(
  scope: Scope,
  mode: '--stdio' | '--http',
  servers: Servers,
  options: UnderTestOptions,
): UnderTest {
  const config = configFile(scope, servers, { server: { port: 0 }, ...options.more })
  const proxy = new UnderTest(mode, config, options)
  scope.after(async () => {
    if (proxy.running) proxy.child.kill('SIGTERM')
    const killer = setTimeout(() => proxy.child.kill('SIGKILL'), 10_000)
    await proxy.exited
    clearTimeout(killer)
  })
  return proxy
}
