// A machine that is a virtual machine, in which programs are started one by one.

import type { Runtime } from '../../../runtime/runtime.js'
import { within } from '../../../runtime/within.js'
import type { GuestCommand, GuestProcess, Machine, MachineEnd } from '../../runtime.js'
import { commandMark, killCommand, startCommand } from '../shell-start.js'
import type { Microvm, MicrovmExec } from './microvm-package.js'
import { MicrovmProcess } from './microvm-process.js'

/** Where the folder of the session is inside. */
export const MICROVM_WORKSPACE = '/workspace'

const STOP_MS = 10_000

export interface MicrovmMachineParts {
  readonly runtime: Runtime
  readonly name: string
  readonly vm: Microvm
  readonly interpreter: string
  readonly env: Readonly<Record<string, string>>
}

/** A virtual machine that has booted. */
export class MicrovmMachine implements Machine {
  readonly kind = 'machine'
  readonly workspace: string = MICROVM_WORKSPACE
  readonly interpreter: readonly [string]
  readonly ended: Promise<MachineEnd>
  readonly #parts: MicrovmMachineParts
  readonly #programs = new Set<MicrovmProcess>()
  #calls = 0
  #isStopped = false
  #stopped: () => void = () => {}

  constructor(parts: MicrovmMachineParts) {
    this.#parts = parts
    this.interpreter = [parts.interpreter]
    const told = new Promise<void>((resolve) => {
      this.#stopped = resolve
    })
    const gone = parts.vm.waitUntilStopped().then(
      () => undefined,
      () => undefined,
    )
    this.ended = Promise.race([told, gone]).then(() => this.#finish())
  }

  run(command: GuestCommand): GuestProcess {
    const { name, env } = this.#parts
    const call = `${name}-${++this.#calls}`
    const start = startCommand(command, command.cwd ?? MICROVM_WORKSPACE)
    const variables = { ...env, ...command.env, [commandMark]: call }
    const started = new MicrovmProcess(this.#exec(start, variables), () => this.#killAll(call))
    this.#programs.add(started)
    void started.exited.then(() => this.#programs.delete(started))
    return started
  }

  async stop(): Promise<void> {
    const { vm, runtime } = this.#parts
    if (!this.#isStopped) {
      this.#isStopped = true
      const stopped = vm.kill().then(() => vm.destroy())
      await within(
        stopped.catch(() => undefined),
        STOP_MS,
        runtime,
      )
      this.#stopped()
    }
    await this.ended
  }

  #exec([program = '', ...args]: readonly string[], variables: Record<string, string>): Promise<MicrovmExec> {
    if (this.#isStopped) return Promise.reject(new Error('the machine of the session has ended'))
    return this.#parts.vm.execStreamWith(program, (options) => options.args(args).envs(variables).stdinPipe())
  }

  #killAll(call: string): void {
    const kill = new MicrovmProcess(this.#exec(killCommand(call), {}), () => {})
    kill.stdin.end()
    kill.stdout.resume()
    kill.stderr.resume()
  }

  #finish(): MachineEnd {
    const isStopped = this.#isStopped
    this.#isStopped = true
    for (const program of this.#programs) program.abandon()
    return isStopped
      ? { reason: 'stopped', message: 'the session was stopped' }
      : { reason: 'died', message: 'its virtual machine has ended' }
  }
}
