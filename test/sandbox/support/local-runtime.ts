// Programs of a session as plain children of this process, with all that its user may do.
//
// It isolates nothing. Tests run the service above what isolates on it.

import process from 'node:process'
import type { Child, Runtime } from '../../../src/runtime/runtime.js'
import type {
  GuestCommand,
  GuestExit,
  GuestProcess,
  Machine,
  MachineEnd,
  MachineSpec,
  SandboxRuntime,
} from '../../../src/sandbox/runtime.js'
import type { StateFolder } from '../../../src/sandbox/state-folder.js'

/** A runtime without isolation. Its `isolation` is not true. */
export class LocalRuntime implements SandboxRuntime {
  readonly id = 'local'
  readonly isolation = 'namespaces'
  readonly canLimitHosts = false
  readonly fixedNetwork = 'host'
  readonly #runtime: Runtime
  readonly #folder: StateFolder
  readonly #machines = new Set<LocalMachine>()

  constructor(runtime: Runtime, folder: StateFolder) {
    this.#runtime = runtime
    this.#folder = folder
  }

  async probe(): Promise<string> {
    return 'none'
  }

  async start(spec: MachineSpec): Promise<Machine> {
    const workspace = await this.#folder.session(spec.sessionId)
    const machine = new LocalMachine(this.#runtime, spec, workspace)
    this.#machines.add(machine)
    void machine.ended.then(() => this.#machines.delete(machine))
    return machine
  }

  async discard(sessionId: string): Promise<void> {
    await this.#folder.discard(sessionId)
  }

  async sweep(): Promise<void> {
    await this.#folder.sweep()
  }

  async close(): Promise<void> {
    await Promise.all([...this.#machines].map((machine) => machine.stop()))
    await this.#folder.close()
  }
}

class LocalMachine implements Machine {
  readonly #workspace: string
  readonly interpreter: readonly [string]
  readonly ended: Promise<MachineEnd>
  readonly #runtime: Runtime
  readonly #env: Readonly<Record<string, string>>
  readonly #running = new Map<LocalProcess, Promise<GuestExit>>()
  #end: (end: MachineEnd) => void = () => {}
  #isStopped = false

  constructor(runtime: Runtime, spec: MachineSpec, workspace: string) {
    this.#runtime = runtime
    this.#workspace = workspace
    this.interpreter = [spec.interpreter ?? (spec.language === 'python' ? 'python3' : process.execPath)]
    this.#env = { PATH: runtime.env['PATH'] ?? '', ...spec.env }
    this.ended = new Promise((resolve) => (this.#end = resolve))
  }

  run({ program, args }: GuestCommand): GuestProcess {
    const command = this.#isStopped ? '' : program
    const child = this.#runtime.spawn({ command, args, cwd: this.#workspace, env: this.#env })
    const started = new LocalProcess(child, program)
    this.#running.set(started, started.exited)
    void started.exited.then(() => this.#running.delete(started))
    return started
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    for (const started of this.#running.keys()) started.kill()
    await Promise.all(this.#running.values())
    this.#end({ reason: 'stopped', message: 'the session was stopped' })
  }
}

/** A program that runs as a child of this process. */
class LocalProcess implements GuestProcess {
  readonly stdin: GuestProcess['stdin']
  readonly stdout: GuestProcess['stdout']
  readonly stderr: GuestProcess['stderr']
  readonly exited: Promise<GuestExit>
  readonly #child: Child

  constructor(child: Child, program: string) {
    this.#child = child
    this.stdin = child.stdin
    this.stdout = child.stdout
    this.stderr = child.stderr
    // It may end before it has read what was written to it.
    this.stdin.on('error', () => undefined)
    this.exited = child.exited.then(({ code, signal, spawnError }) =>
      spawnError === undefined ? { code, signal } : { code, signal, failure: `${program}: ${spawnError}` },
    )
  }

  interrupt(): void {
    this.#child.interrupt?.()
  }

  kill(): void {
    void this.#killAll()
  }

  async #killAll(): Promise<void> {
    await this.#child.survey?.()
    this.#child.signal('SIGKILL')
  }
}
