// The interface to the outside: time, processes, limits, logs.
//
// Nothing below reads a clock, draws a random number, spawns or dials by itself, so
// that a whole proxy can run inside a simulation that owns it all.

import type { Server } from 'node:net'
import type { Duplex, Readable, Writable } from 'node:stream'

/** The target of a connection. */
export interface SocketPlace {
  readonly host: string
  readonly port: number
  readonly isTls: boolean
}

/** Makes a socket; one for TLS says `secureConnect` when it is ready, any other `connect` if it is `connecting`. */
export type Connect = (to: SocketPlace) => Duplex

/** The addresses of a name; rejects when there are none. */
export type Resolve = (name: string, signal: AbortSignal) => Promise<readonly string[]>

/** A pending timer; `cancel` is idempotent. */
export interface Timer {
  cancel(): void
}

/** The program to start. Never a shell; `env` is the whole environment of the child. */
export interface SpawnSpec {
  readonly command: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** The user and the only group of the child; only root may give another one. */
  readonly identity?: { readonly uid: number; readonly gid: number }
  /** How many pipes the child gets in addition to its standard streams, from descriptor 3 on. */
  readonly pipes?: number
  /** Open descriptors that the child gets behind its pipes. */
  readonly descriptors?: readonly number[]
  /** Whether the child passes SIGTERM on, so that no other process of its group gets it. */
  readonly passesSignals?: boolean
}

/** Why a child ended: an exit code, a signal, or a spawn error's `code` (`ENOENT`). */
export interface ChildExit {
  readonly code: number | undefined
  readonly signal: string | undefined
  readonly spawnError: string | undefined
}

/** A running child, or one that failed to start and reports that through `exited`. */
export interface Child {
  /** Undefined when the spawn failed. */
  readonly pid: number | undefined
  readonly stdin: Writable
  readonly stdout: Readable
  readonly stderr: Readable
  /** Those of `SpawnSpec.pipes`, the first for descriptor 3; absent when there are none. */
  readonly pipes?: readonly Duplex[]
  readonly exited: Promise<ChildExit>
  /** Signals the whole process group, or a child that passes signals; false once the child has ended. */
  signal(name: 'SIGTERM' | 'SIGKILL'): boolean
  /** SIGINT to the child alone; absent where there are no signals. */
  interrupt?(): void
  /** Finds the processes that have left the group while their parents run, so that signals reach them later; never rejects. */
  survey?(): Promise<void>
}

/** Files in one folder that outlive the process; several processes may use it at the same time. */
export interface KeptFiles {
  readonly folder: string
  /** Makes the folder where there is none; gives why there can be none. */
  prepare(): string | undefined
  /** Undefined when it is not there, cannot be read, or is longer. Never throws. */
  read(name: string, bytesMax: number): Buffer | undefined
  /** Replaces the whole file, or throws and leaves the present one. */
  write(name: string, bytes: Uint8Array): void
  /** Adds bytes at the end of a file, which is made where it is missing, or throws. Several processes may add to it. */
  append(name: string, bytes: Uint8Array): void
  /** Removes the files that were written last before this time, in milliseconds since 1970. */
  removeUnused(sinceMs: number): void
}

/** Time, randomness, processes and connections; the real one is `src/real-runtime.ts`. */
export interface Runtime {
  /** Monotonic, in milliseconds. */
  now(): number
  /** Milliseconds since 1970, as other machines count; may jump. */
  wallNow(): number
  setTimer(delayMs: number, fire: () => void): Timer
  /** In [0, 1). */
  random(): number
  spawn(spec: SpawnSpec): Child
  /**
   * Bytes of resident memory of a process group and its descendants; the group has the number of its first child.
   *
   * Memory that processes share counts in each of them. Undefined where the system does not show it.
   */
  memoryOf(group: number): Promise<number | undefined>
  /** A socket that behaves as those of Node do; the real one is Node's own, which needs no function here. */
  readonly connect?: Connect
  /** Takes the place of the DNS; the real one is Node's own, which needs no function here. */
  readonly resolve?: Resolve
  /** Lets connections come to a server and gives the port; the real one is the server's own `listen`. */
  readonly listen?: (server: Server, host: string, port: number) => Promise<number>
  /** Bytes that cannot be guessed; the real ones are Node's own. */
  readonly secret?: (bytes: number) => Buffer
  /** The files that are kept in a folder; the real ones are `src/kept/folder-files.ts`, which need no function here. */
  readonly files?: (folder: string) => KeptFiles
  /** The proxy's own environment, from which children get an allow-list. */
  readonly env: Readonly<Record<string, string | undefined>>
}

export type LogLevel = 'error' | 'warn' | 'info' | 'debug'

/** One structured log record; `service` names the server that it is about. */
export interface LogRecord {
  readonly level: LogLevel
  readonly message: string
  readonly service?: string
  readonly details?: Readonly<Record<string, unknown>>
}

/** Takes a record and never throws. */
export type LogSink = (record: LogRecord) => void
