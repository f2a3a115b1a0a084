// The interface between the sandbox service and what isolates.
//
// Above it are sessions, tools, interpreters with their variables, and time limits. Below it is one
// runtime for each way to run foreign code. A runtime starts machines, in which the service
// runs programs, or evaluators, which answer when code has ended.

import type { Readable, Writable } from 'node:stream'
import type { FlavorLimits, SandboxNetwork } from '../upstream/contracts/sandbox-config.js'

/** What stands between the code of a session and the host. */
export type SandboxIsolation = 'vm' | 'container' | 'namespaces' | 'none'

/** Whether a runtime can be used on this host. */
export type RuntimeProbe =
  | {
      readonly kind: 'usable'
      /** How limits are held, in words: 'cgroup v1', 'rlimits and a watch on memory'. */
      readonly limits: string
    }
  | {
      readonly kind: 'unusable'
      readonly why: string
      /** The one command or setting that mends it. */
      readonly remedy: string
    }

/** A way to run foreign code. */
export interface SandboxRuntime {
  readonly id: string
  readonly isolation: SandboxIsolation
  /** What it can give programs of the network; it is asked for nothing else. */
  readonly networks: readonly SandboxNetwork['kind'][]
  /** What programs reach whatever it is asked for, in words; absent where that decides. */
  readonly fixedNetwork?: string
  probe(): Promise<RuntimeProbe>
  /**
   * Starts the machine of a session; a session has one at a time.
   *
   * Files of a session outlive its machine: the next machine with the same `sessionId` finds them.
   *
   * @throws MachineStartError
   */
  start(spec: MachineSpec): Promise<Machine | Evaluator>
  /** Removes the files of a session whose machine has ended. */
  discard(sessionId: string): Promise<void>
  /** Removes what dead owners have left: folders, cgroups, processes. */
  sweep(): Promise<void>
  /** Stops every machine, and removes what this owner has on the host. */
  close(): Promise<void>
}

/** What a machine is started with. */
export interface MachineSpec {
  /** Names the session among all sessions of its runtime; any text. */
  readonly sessionId: string
  /** What clients call it, for lines of the log. */
  readonly sessionName: string
  readonly language: SandboxLanguage
  /** A path on the host; undefined: the runtime finds the interpreter. */
  readonly interpreter: string | undefined
  /** The name of an image, for runtimes that have images; undefined: that of the language. */
  readonly image: string | undefined
  /** Variables for every program of the machine. */
  readonly env: Readonly<Record<string, string>>
  readonly flavor: FlavorLimits
  readonly volumes: readonly MachineVolume[]
  readonly network: SandboxNetwork
  readonly startTimeoutMs: number
}

export type SandboxLanguage = 'python' | 'node'

/** A folder of the host inside a machine. */
export interface MachineVolume {
  readonly hostPath: string
  readonly guestPath: string
  readonly isReadOnly: boolean
}

/** A running machine, in which programs are started. */
export interface Machine {
  readonly kind: 'machine'
  /** The folder of the session, as programs inside see it. */
  readonly workspace: string
  /** The program and the first arguments of the interpreter inside. */
  readonly interpreter: readonly [string, ...string[]]
  /** Never throws: a program that cannot be started has exited, with the failure. */
  run(command: GuestCommand): GuestProcess
  /** Ends everything inside. */
  stop(): Promise<void>
  readonly ended: Promise<MachineEnd>
}

/** Why a machine is gone; the message is for users ('the memory limit of 1024 MiB was reached'). */
export interface MachineEnd {
  readonly reason: 'stopped' | 'died' | 'memory' | 'disk'
  readonly message: string
}

/** A program to run inside, in the workspace and with the variables of the machine. */
export interface GuestCommand {
  readonly program: string
  readonly args: readonly string[]
}

/**
 * A program that runs inside.
 *
 * Its output must be read: it waits while nobody does, and so does `exited`.
 */
export interface GuestProcess {
  readonly stdin: Writable
  /** Ends when its first process ends; what others write later is lost. */
  readonly stdout: Readable
  readonly stderr: Readable
  /** Resolves when the first process has ended and what it wrote is in the streams; never rejects. */
  readonly exited: Promise<GuestExit>
  /** SIGINT to its first process. */
  interrupt(): void
  /** SIGKILL to its first process and all that descend from it. */
  kill(): void
}

/** How a program inside ended. */
export interface GuestExit {
  readonly code: number | undefined
  readonly signal: string | undefined
  /** The limit that ended it, in words: 'the memory limit of 1024 MiB'. */
  readonly limit?: string
  /** Why it was not started, or why its end is not known. */
  readonly failure?: string
}

/** A running session elsewhere, which runs code and commands and says how they ended; its files end with it. */
export interface Evaluator {
  readonly kind: 'evaluator'
  evaluate(what: { readonly code: string } | GuestCommand, terms: EvaluationTerms): Promise<Evaluation>
  stop(): Promise<void>
  readonly ended: Promise<MachineEnd>
}

export interface EvaluationTerms {
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

export interface Evaluation {
  readonly stdout: string
  readonly stderr: string
  /** Of code: 1 when it failed. */
  readonly exitCode: number
}

/** A machine could not be started; the message says why, in words for users. */
export class MachineStartError extends Error {
  override readonly name = 'MachineStartError'
  /** Whether the configuration is the reason: a volume, an interpreter. */
  readonly isConfiguration: boolean

  constructor(message: string, cause: 'configuration' | 'host' = 'host') {
    super(message)
    this.isConfiguration = cause === 'configuration'
  }
}
