// The package of microsandbox without virtual machines, by its documents (version 0.6.18): programs of a guest run here, and its folders are those of the host.

import { type ChildProcess, spawn } from 'node:child_process'
import { constants } from 'node:os'
import type {
  Microvm,
  MicrovmBuilder,
  MicrovmEvent,
  MicrovmExec,
  MicrovmExecOptions,
  MicrovmMount,
  MicrovmPackage,
} from '../../../src/sandbox/runtimes/microsandbox/microvm-package.js'

type Call = readonly [name: string, ...args: unknown[]]

/** Events that wait, or who waits for one. */
class Events {
  readonly #waiting: (MicrovmEvent | null)[] = []
  #next: ((event: MicrovmEvent | null) => void) | undefined

  push(event: MicrovmEvent | null): void {
    const next = this.#next
    this.#next = undefined
    if (next === undefined) this.#waiting.push(event)
    else next(event)
  }

  take(): Promise<MicrovmEvent | null> {
    if (this.#waiting.length > 0) return Promise.resolve(this.#waiting.shift() ?? null)
    return new Promise((resolve) => {
      this.#next = resolve
    })
  }
}

export class FakeMicrovms implements MicrovmPackage {
  /** What each builder was told. */
  readonly built: Map<string, Call[]> = new Map()
  readonly running: Map<string, FakeMicrovm> = new Map()
  readonly removed: string[] = []
  /** The first one that is gone. */
  readonly forgotten: Promise<string>
  #forget: (name: string) => void = () => {}
  /** Why nothing boots. */
  failure: Error | undefined
  /** Boots later than anybody waits. */
  isSlow = false
  readonly Sandbox: MicrovmPackage['Sandbox'] = {
    builder: (name) => this.#builder(name),
    remove: async (name) => void this.removed.push(name),
    list: async () => ({
      sandboxes: [...this.running].map(([name, vm]) => ({ name, destroy: () => vm.destroy() })),
    }),
  }

  constructor() {
    this.forgotten = new Promise((resolve) => {
      this.#forget = resolve
    })
  }

  #builder(name: string): MicrovmBuilder {
    const calls: Call[] = []
    this.built.set(name, calls)
    const folders = new Map<string, string>()
    const noted =
      (called: string) =>
      (...args: readonly unknown[]): MicrovmBuilder => {
        calls.push([called, ...args])
        return builder
      }
    const builder: MicrovmBuilder = {
      image: noted('image'),
      cpus: noted('cpus'),
      memory: noted('memory'),
      pullPolicy: noted('pullPolicy'),
      disableNetwork: noted('disableNetwork'),
      ephemeral: noted('ephemeral'),
      workdir: noted('workdir'),
      volume: (guestPath, configure) => {
        const mounted: Call[] = []
        const note =
          (called: string) =>
          (...args: readonly unknown[]): MicrovmMount => {
            mounted.push([called, ...args])
            return mount
          }
        const mount: MicrovmMount = {
          bind: (hostPath) => {
            folders.set(guestPath, hostPath)
            return note('bind')(hostPath)
          },
          readonly: note('readonly'),
          nosuid: note('nosuid'),
          nodev: note('nodev'),
          quota: note('quota'),
        }
        configure(mount)
        return noted('volume')(guestPath, mounted)
      },
      create: () => this.#create(name, folders.get('/workspace') ?? '/'),
    }
    return builder
  }

  async #create(name: string, workspace: string): Promise<Microvm> {
    if (this.failure !== undefined) throw this.failure
    if (this.isSlow) await new Promise<void>((resolve) => setTimeout(resolve, 300))
    const vm = new FakeMicrovm(workspace, () => {
      this.running.delete(name)
      this.#forget(name)
    })
    this.running.set(name, vm)
    return vm
  }
}

export class FakeMicrovm implements Microvm {
  readonly #workspace: string
  readonly #forget: () => void
  readonly #children = new Set<ChildProcess>()
  readonly #stopped: Promise<void>
  #stop: () => void = () => {}

  constructor(workspace: string, forget: () => void) {
    this.#workspace = workspace
    this.#forget = forget
    this.#stopped = new Promise((resolve) => {
      this.#stop = resolve
    })
  }

  async execStreamWith(
    program: string,
    configure: (options: MicrovmExecOptions) => MicrovmExecOptions,
  ): Promise<MicrovmExec> {
    let args: string[] = []
    let env: Record<string, string> = {}
    const options: MicrovmExecOptions = {
      args: (list) => {
        args = list
        return options
      },
      envs: (variables) => {
        env = variables
        return options
      },
      stdinPipe: () => options,
    }
    configure(options)
    const inside = args.map((each) => each.replace(/^\/workspace/, this.#workspace))
    const child = spawn(program, inside, { env: { PATH: process.env['PATH'], ...env }, detached: true })
    this.#children.add(child)
    return this.#exec(child)
  }

  async kill(): Promise<void> {
    for (const { pid } of this.#children) {
      try {
        if (pid !== undefined) process.kill(-pid, 'SIGKILL')
      } catch {
        // It has ended.
      }
    }
    this.#stop()
  }

  async destroy(): Promise<void> {
    await this.kill()
    this.#forget()
  }

  async waitUntilStopped(): Promise<unknown> {
    return this.#stopped
  }

  #exec(child: ChildProcess): MicrovmExec {
    const events = new Events()
    const asGuest = (data: Buffer): Buffer =>
      Buffer.from(data.toString('latin1').replaceAll(this.#workspace, '/workspace'), 'latin1')
    events.push({ kind: 'started', pid: child.pid ?? 0 })
    child.stdout?.on('data', (data: Buffer) => events.push({ kind: 'stdout', data: asGuest(data) }))
    child.stderr?.on('data', (data: Buffer) => events.push({ kind: 'stderr', data: asGuest(data) }))
    child.stdin?.on('error', () => undefined)
    child.on('close', (code, signal) => {
      const number = signal === null ? 0 : constants.signals[signal]
      events.push({ kind: 'exited', code: code ?? 128 + number })
      events.push(null)
    })
    return {
      recv: () => events.take(),
      takeStdin: async () => ({
        write: (data) => new Promise((resolve) => child.stdin?.write(data, () => resolve())),
        close: async () => void child.stdin?.end(),
      }),
      signal: async (number) => void process.kill(child.pid ?? 0, number),
    }
  }
}
