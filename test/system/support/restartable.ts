// Programs that a test ends, stops and starts again at the same port.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { Scope } from '../../integration/support/spawned.js'

const STOP_MS = 20_000
const SAID_MAX = 20_000

export interface Startable {
  readonly command: string
  readonly args: readonly string[]
  readonly env?: NodeJS.ProcessEnv
  readonly port: number
}

/** One program. Its processes end with the scope. */
export class Restartable {
  readonly port: number
  /** The end of the output of all runs. */
  said = ''
  #what: Startable
  #child: ChildProcess | undefined

  constructor(scope: Scope, what: Startable) {
    this.#what = what
    this.port = what.port
    scope.after(async () => {
      this.signal('SIGCONT')
      await this.end('SIGTERM')
    })
  }

  get isRunning(): boolean {
    const { pid, exitCode, signalCode } = this.#child ?? {}
    return pid !== undefined && exitCode === null && signalCode === null
  }

  /** Starts it and waits until it listens; `env` counts from now on. */
  async start(env: NodeJS.ProcessEnv = {}): Promise<void> {
    this.#what = { ...this.#what, env: { ...this.#what.env, ...env } }
    // It leads a process group, so that its workers end with it.
    const child = spawn(this.#what.command, this.#what.args, {
      detached: true,
      env: { ...process.env, ...this.#what.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (this.said = (this.said + chunk.toString()).slice(-SAID_MAX)))
    child.on('error', ({ message }) => (this.said += message))
    this.#child = child
    while (!(await accepts(this.port))) {
      if (!this.isRunning) throw new Error(`${this.#what.command} does not listen: ${this.said}`)
      await delay(20)
    }
  }

  signal(name: NodeJS.Signals): void {
    if (this.isRunning) this.#child?.kill(name)
  }

  /** Ends it and waits until it is gone; gives its exit code or the signal. */
  async end(name: NodeJS.Signals): Promise<number | string | null> {
    const child = this.#child
    if (child?.pid === undefined || !this.isRunning) return null
    const { pid } = child
    const exited = once(child, 'exit')
    child.kill(name)
    const late = setTimeout(() => process.kill(-pid, 'SIGKILL'), STOP_MS)
    await exited
    clearTimeout(late)
    return child.exitCode ?? child.signalCode
  }

  async restart(name: NodeJS.Signals, env?: NodeJS.ProcessEnv): Promise<void> {
    await this.end(name)
    await this.start(env)
  }
}

/** Whether something listens at the port. */
function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
}
