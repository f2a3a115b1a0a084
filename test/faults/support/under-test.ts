// The program as users run it, with a preloaded module that reports figures.

import { strict as assert } from 'node:assert'
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { at, numberAt, parsed, textAt } from '../../integration/support/json.js'
import { cli } from '../../integration/support/programs.js'
import { type Scope, type Servers, Spawned, configFile } from '../../integration/support/spawned.js'
import { until } from '../../integration/support/waiting.js'
import { turnBoundMs } from '../../support/processor-time.js'
import type { Facts } from '../programs/watch.js'

export const MiB: number = 1024 * 1024

/** The figures of a process come from `/proc`. */
export const isLinux: boolean = process.platform === 'linux'

/** Scales the number of repetitions by `LOAD` for load runs. */
export function times(count: number): number {
  return count * Number(process.env['LOAD'] ?? 1)
}

/** The nonce in an answer of `it-server.mjs`. Undefined if it has none. */
export function nonceIn(answer: unknown): unknown {
  return at(parsed(textAt(answer, 'result', 'content', 0, 'text') || '{}'), 'n')
}

/** The proxy runs, has logged no crash, and no turn of its event loop took long. */
export async function assertHealthy(proxy: UnderTest): Promise<void> {
  assert.doesNotMatch(proxy.stderr, /exited|uncaught/i)
  const { turnMaxMs } = await proxy.facts()
  const bound = turnBoundMs()
  assert(turnMaxMs < bound, `a turn took ${turnMaxMs} of ${bound} ms of processor time`)
}

const watch = resolve(import.meta.dirname, '../programs/watch.js')

export interface UnderTestOptions {
  /** Options of the command other than the mode and the configuration. */
  readonly args?: readonly string[]
  /** Members of the configuration other than `mcpServers`. */
  readonly more?: Readonly<Record<string, unknown>>
  /** A command that starts the program, such as `prlimit`. */
  readonly under?: readonly string[]
}

/** The number of memory measurements, since garbage collection is not immediate. */
const LOOKS = 5

/** Figures after garbage collections. Memory is a median, since freed pages return later. */
export async function settled(proxy: UnderTest): Promise<Facts> {
  const sizes: number[] = []
  for (let done = 0; done < LOOKS; done++) {
    await new Promise((resolve) => setTimeout(resolve, 100))
    sizes.push((await proxy.facts('gc')).rss)
  }
  const rss = sizes.toSorted((a, b) => a - b)[(LOOKS - 1) / 2] ?? Number.NaN
  return { ...(await proxy.facts('gc')), rss }
}

/** A running proxy, and its client in stdio mode. */
export class UnderTest extends Spawned {
  constructor(mode: '--stdio' | '--http', config: string, options: UnderTestOptions) {
    const { args = [], under = [] } = options
    const node = [process.execPath, '--expose-gc', '--import', watch, cli]
    const [command = '', ...rest] = [...under, ...node, mode, '--config', config, ...args]
    super(command, rest, { hasChannel: true })
  }

  get pid(): number {
    return this.child.pid ?? 0
  }

  get running(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null
  }

  /** `gc` collects garbage first, and `reset` resets the maxima. */
  facts(first: 'gc' | 'reset' | 'look' = 'look'): Promise<Facts> {
    return new Promise((done, fail) => {
      this.child.once('message', (value) => (isFacts(value) ? done(value) : fail(new Error('no facts'))))
      void this.exited.then(() => fail(new Error(`the proxy is gone: ${this.stderr.slice(-2000)}`)))
      this.child.send(first)
    })
  }

  /** Resident memory in bytes: the present value, or the peak. */
  resident(which: 'VmRSS' | 'VmHWM' = 'VmRSS'): number {
    const status = readFileSync(`/proc/${this.pid}/status`, 'latin1')
    return Number(new RegExp(`${which}:\\s+(\\d+)`).exec(status)?.[1] ?? Number.NaN) * 1024
  }

  /** Resets the peak of resident memory. */
  forgetPeak(): void {
    writeFileSync(`/proc/${this.pid}/clear_refs`, '5')
  }

  /** The running child processes of the proxy. */
  children(): number[] {
    const tasks = `/proc/${this.pid}/task`
    return readdirSync(tasks).flatMap((task) =>
      readFileSync(`${tasks}/${task}/children`, 'latin1').split(' ').filter(Boolean).map(Number),
    )
  }

  /** The port of a proxy in HTTP mode, once it listens. */
  async port(): Promise<number> {
    const ready = /ready: POST to http:\/\/[^\s/]+:(\d+)/
    await until(() => ready.test(this.stderr) || !this.running)
    if (!this.running) throw new Error(`it does not start: ${this.stderr}`)
    return Number(ready.exec(this.stderr)?.[1])
  }
}

function isFacts(value: unknown): value is Facts {
  return !Number.isNaN(numberAt(value, 'turnMaxMs'))
}

/** Starts the proxy. It ends with all its descendants when the scope ends. */
export function startUnderTest(
  scope: Scope,
  mode: '--stdio' | '--http',
  servers: Servers,
  options: UnderTestOptions = {},
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
