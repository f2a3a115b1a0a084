// The interface between the sandbox service and the runtimes.
//
// The service has sessions, tools, interpreters with their variables, and time limits. Each runtime isolates
// foreign code in one way. It starts machines, in which the service runs programs.

import type { Readable, Writable } from 'node:stream'
import type {
  FlavorLimits,
  SandboxNetwork,
  SandboxTemplate,
  SandboxVolume,
} from '../upstream/contracts/sandbox-config.js'

export type SandboxIsolation = 'vm' | 'container' | 'namespaces'

export interface SandboxRuntime {
  readonly id: string
  readonly isolation: SandboxIsolation
  /** Whether the runtime can restrict programs to the hosts of `network.allow`. Other runtimes get no such list. */
  readonly canLimitHosts: boolean
  /** The network of programs in words, if the setting cannot change it. Otherwise absent. */
  readonly fixedNetwork?: string
  /**
   * Returns how the runtime enforces limits, in words: 'cgroup v1', 'rlimits and a watch on memory'.
   *
   * @throws RuntimeUnusable
   */
  probe(): Promise<string>
  /**
   * Starts the machine of a session. A session has one machine at a time.
   *
   * Files of a session outlive its machine: the next machine with the same `sessionId` has them.
   *
   * @throws MachineStartError
   */
  start(spec: MachineSpec): Promise<Machine>
  /** Removes the files of a session whose machine has ended. */
  discard(sessionId: string): Promise<void>
  /** Removes the remains of dead owners: folders, cgroups, processes. */
  sweep(): Promise<void>
  /** Stops every machine, and removes everything of this owner from the host. */
  close(): Promise<void>
}

export interface MachineSpec extends Omit<SandboxTemplate, 'name'> {
  /** Any text that identifies the session among all sessions of its runtime. */
  readonly sessionId: string
  /** The name that clients use for the session, for log lines. */
  readonly sessionName: string
  readonly flavor: FlavorLimits
  readonly volumes: readonly SandboxVolume[]
  readonly network: SandboxNetwork
  readonly startTimeoutMs: number
}

export type SandboxLanguage = SandboxTemplate['language']

export interface Machine {
  /** The program and the first arguments of the interpreter inside. */
  readonly interpreter: readonly [string, ...string[]]
  /** Never throws. A program that cannot be started exits with the failure. */
  run(command: GuestCommand): GuestProcess
  /**
   * Runs code on a machine of another service, which keeps the variables. Absent on a machine of this host.
   *
   * Such a machine gives no access to files, and ends if a program is interrupted.
   */
  evaluate?(code: string, timeoutMs: number): GuestProcess
  stop(): Promise<void>
  readonly ended: Promise<MachineEnd>
}

/** Why a machine has ended. The message is for users ('the memory limit of 1024 MiB was reached'). */
export interface MachineEnd {
  readonly reason: 'stopped' | 'died' | 'memory' | 'disk'
  readonly message: string
}

export const stoppedEnd: MachineEnd = { reason: 'stopped', message: 'the session was stopped' }

export interface GuestCommand {
  readonly program: string
  readonly args: readonly string[]
  /** The time limit, for another service that runs the program. */
  readonly timeoutMs?: number
}

/**
 * A program that runs inside.
 *
 * The caller must read its output: the program, and `exited`, wait until the output is read.
 */
export interface GuestProcess {
  readonly stdin: Writable
  /** Ends when the first process of the program ends. Later output of other processes is lost. */
  readonly stdout: Readable
  readonly stderr: Readable
  /** Resolves after the first process has ended and its output is in the streams. Rejects only if another service fails. */
  readonly exited: Promise<GuestExit>
  interrupt(): void
  kill(): void
}

export interface GuestExit {
  readonly code: number | undefined
  readonly signal: string | undefined
  /** The limit that ended the program, in words: 'the memory limit of 1024 MiB'. */
  readonly limit?: string
  /** Why the program was not started, or why its end is unknown. */
  readonly failure?: string
}

/** The exit of a program that did not start, or whose end is unknown, without the reason. */
export const noExit = { code: undefined, signal: undefined } as const

/** A runtime cannot be used on this host. `remedy` is the one command or setting that makes it usable. */
export class RuntimeUnusable extends Error {
  override readonly name = 'RuntimeUnusable'

  constructor(why: string, remedy: string) {
    super(`${why}; ${remedy}`)
  }
}

/** A machine could not be started. The message tells users the reason. */
export class MachineStartError extends Error {
  override readonly name = 'MachineStartError'
  /** Whether the configuration is the reason: a volume, an interpreter. */
  readonly isConfiguration: boolean

  constructor(message: string, isConfiguration = false) {
    super(message)
    this.isConfiguration = isConfiguration
  }
}

export function misconfigured(message: string): MachineStartError {
  return new MachineStartError(message, true)
}
