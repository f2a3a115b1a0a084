// A machine that is a container, in which programs are started one by one.

import type { Child, Runtime } from '../../../runtime/runtime.js'
import { within } from '../../../runtime/within.js'
import type { GuestCommand, GuestExit, GuestProcess, Machine, MachineEnd } from '../../runtime.js'
import type { DiskWatch } from '../disk-watch.js'
import { ShellStart, commandMark, interruptCommand, killCommand, startCommand } from '../shell-start.js'
import { CONTAINER_WORKSPACE, execArguments } from './container-arguments.js'
import type { ContainerEngine } from './container-engine.js'

/** The first program ends with its stdin; an engine that is slow is told to end it. */
const STOP_MS = 5000

export interface ContainerMachineParts {
  readonly runtime: Runtime
  readonly engine: ContainerEngine
  readonly name: string
  /** The command that runs the container. */
  readonly child: Child
  readonly interpreter: string
  readonly env: Readonly<Record<string, string>>
  readonly disk: DiskWatch
  /** Of the session, on the host. */
  readonly folder: string
  /** What was in it before. */
  readonly heldBytes: number
  readonly diskGiB: number
}

/** A container that has said that it is ready. */
export class ContainerMachine implements Machine {
  readonly kind = 'machine'
  readonly workspace: string = CONTAINER_WORKSPACE
  readonly interpreter: readonly [string]
  readonly ended: Promise<MachineEnd>
  readonly #parts: ContainerMachineParts
  readonly #programs = new Set<ContainerProcess>()
  #calls = 0
  readonly #unwatch: () => void
  #isStopped = false
  #full: string | undefined

  constructor(parts: ContainerMachineParts) {
    this.#parts = parts
    this.interpreter = [parts.interpreter]
    this.#unwatch = this.#watchDisk()
    this.ended = parts.child.exited.then(() => this.#finish())
  }

  run(command: GuestCommand): GuestProcess {
    const { engine, name, env } = this.#parts
    const call = `${name}-${++this.#calls}`
    const variables = { ...env, ...command.env, [commandMark]: call }
    const named = Object.entries(variables).map(([each, value]) => engine.written(each, value))
    const start = startCommand(command, command.cwd ?? CONTAINER_WORKSPACE)
    const args = this.#isStopped ? ['exec', name] : execArguments(name, named, start)
    const started = new ContainerProcess(engine.spawn(args, variables), {
      interrupt: (pid) => this.#inside(interruptCommand(pid)),
      kill: () => this.#inside(killCommand(call)),
    })
    this.#programs.add(started)
    void started.exited.then(() => this.#programs.delete(started))
    return started
  }

  async stop(): Promise<void> {
    const { child, engine, name, runtime } = this.#parts
    this.#isStopped = true
    child.stdin.end()
    if ((await within(this.ended, STOP_MS, runtime)) !== undefined) return
    await engine.ask(['rm', '--force', name])
    child.signal('SIGKILL')
    await this.ended
  }

  /** The commands of programs may not hear of the end of their container. */
  #finish(): MachineEnd {
    const isStopped = this.#isStopped && this.#full === undefined
    this.#unwatch()
    this.#isStopped = true
    for (const program of this.#programs) program.abandon()
    if (this.#full !== undefined) return { reason: 'disk', message: `${this.#full} was reached` }
    return isStopped
      ? { reason: 'stopped', message: 'the session was stopped' }
      : { reason: 'died', message: 'its container has ended' }
  }

  #watchDisk(): () => void {
    const { disk, folder, heldBytes, diskGiB } = this.#parts
    return disk.add({
      folder,
      diskGiB,
      heldBytes,
      isBusy: () => this.#programs.size > 0,
      written: () => undefined,
      memoryFolders: [],
      full: (limit) => {
        this.#full ??= limit
        void this.stop()
      },
    })
  }

  #inside(command: readonly string[]): void {
    const { engine, name } = this.#parts
    void engine.ask(execArguments(name, [], command))
  }
}

interface Endings {
  interrupt(pid: string): void
  kill(): void
}

class ContainerProcess implements GuestProcess {
  readonly stdin: GuestProcess['stdin']
  readonly stdout: GuestProcess['stdout']
  readonly stderr: GuestProcess['stderr']
  readonly exited: Promise<GuestExit>
  readonly #child: Child
  readonly #start: ShellStart
  readonly #endings: Endings

  constructor(child: Child, endings: Endings) {
    this.#child = child
    this.#endings = endings
    this.#start = new ShellStart(child.stderr)
    this.stdin = child.stdin
    this.stdout = child.stdout
    this.stderr = this.#start.stderr
    this.stdin.on('error', () => undefined)
    this.exited = child.exited.then(({ code, signal, spawnError }) =>
      this.#start.exit({ code, signal, ...(spawnError !== undefined && { failure: spawnError }) }),
    )
  }

  interrupt(): void {
    void this.#start.pid.then((pid) => {
      if (pid !== undefined) this.#endings.interrupt(pid)
    })
  }

  kill(): void {
    this.#endings.kill()
  }

  /** Nobody is left inside whom it could be heard of. */
  abandon(): void {
    this.#child.signal('SIGKILL')
  }
}
