// The interface to the system: time, processes, connections, files and logs.
//
// No other code reads a clock, draws a random number, starts a process or connects by itself, so a whole
// proxy can run inside a simulation.

import type { Server } from 'node:net'
import type { Duplex, Readable, Writable } from 'node:stream'

/** The target of a connection. */
export interface SocketPlace {
  readonly host: string
  readonly port: number
  readonly isTls: boolean
}

/** Makes a socket. It emits `secureConnect` for TLS, or else `connect` if it is `connecting`. */
export type Connect = (to: SocketPlace) => Duplex

/** Resolves a name to its addresses. Rejects if it has none. */
export type Resolve = (name: string, signal: AbortSignal) => Promise<readonly string[]>

/** A pending timer; `cancel` is idempotent. */
export interface Timer {
  cancel(): void
}

/** The program to start, without a shell. `env` is the whole environment of the child. */
export interface SpawnSpec {
  readonly command: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** The user and the only group of the child. Only root may set another user. */
  readonly identity?: { readonly uid: number; readonly gid: number }
  /** The number of pipes that the child gets after its standard streams, from descriptor 3 on. */
  readonly pipes?: number
  /** Open descriptors that the child gets after its pipes. */
  readonly descriptors?: readonly number[]
  /** Whether the child forwards SIGTERM. The proxy then signals no other process of its group. */
  readonly passesSignals?: boolean
}

/** Why a child ended: an exit code, a signal, or the `code` of a spawn error (`ENOENT`). */
export interface ChildExit {
  readonly code: number | undefined
  readonly signal: string | undefined
  readonly spawnError: string | undefined
}

/** A running child, or a child that failed to start, which `exited` reports. */
export interface Child {
  /** Undefined when the spawn failed. */
  readonly pid: number | undefined
  readonly stdin: Writable
  readonly stdout: Readable
  readonly stderr: Readable
  /** The pipes of `SpawnSpec.pipes`, the first for descriptor 3; absent without pipes. */
  readonly pipes?: readonly Duplex[]
  readonly exited: Promise<ChildExit>
  /** Signals the process group, or only a child that forwards signals. Returns false once the child has ended. */
  signal(name: 'SIGTERM' | 'SIGKILL'): boolean
  /** Sends SIGINT to the child alone. Absent on a system without signals. */
  interrupt?(): void
  /** Finds descendants that have left the group while their parents run, so that signals reach them later. Never rejects. */
  survey?(): Promise<void>
}

/** Files in one folder that outlive the process. Several processes may use the folder at the same time. */
export interface KeptFiles {
  readonly folder: string
  /** Creates the folder if it is missing. Returns the reason if that fails. */
  prepare(): string | undefined
  /** Returns undefined if the file is missing, unreadable or longer. Never throws. */
  read(name: string, bytesMax: number): Buffer | undefined
  /** Replaces the whole file. If it throws, the present file is unchanged. */
  write(name: string, bytes: Uint8Array): void
  /** Appends to a file, and creates a missing one. Throws on failure. Several processes may append. */
  append(name: string, bytes: Uint8Array): void
  /** Removes the files whose last write was before this time, in milliseconds since 1970. */
  removeUnused(sinceMs: number): void
}

/** Time, randomness, processes and connections. The real runtime is `src/real-runtime.ts`. */
export interface Runtime {
  /** Monotonic time in milliseconds. */
  now(): number
  /** Wall-clock time in milliseconds since 1970. It may jump. */
  wallNow(): number
  setTimer(delayMs: number, fire: () => void): Timer
  /** Returns a number in [0, 1). */
  random(): number
  spawn(spec: SpawnSpec): Child
  /**
   * Returns the bytes of resident memory of a process group and its descendants, or undefined if the system
   * does not show them. `group` is the pid of its first child. Shared memory counts in each process.
   */
  memoryOf(group: number): Promise<number | undefined>
  /** Makes a socket that behaves like a socket of Node. Without it, Node connects. */
  readonly connect?: Connect
  /** Replaces the DNS. Without it, Node resolves names. */
  readonly resolve?: Resolve
  /** Makes a server listen, and returns the port. Without it, the server's `listen` is called. */
  readonly listen?: (server: Server, host: string, port: number) => Promise<number>
  /** Returns bytes that cannot be guessed. Without it, Node makes them. */
  readonly secret?: (bytes: number) => Buffer
  /** Returns the kept files of a folder. Without it, `src/kept/folder-files.ts` reads the disk. */
  readonly files?: (folder: string) => KeptFiles
  /** The environment of the proxy. Children get the variables of an allow-list. */
  readonly env: Readonly<Record<string, string | undefined>>
}

export type LogLevel = 'error' | 'warn' | 'info' | 'debug'

/** One structured log record. `service` names its server. */
export interface LogRecord {
  readonly level: LogLevel
  readonly message: string
  readonly service?: string
  readonly details?: Readonly<Record<string, unknown>>
}

/** Receives a record and never throws. */
export type LogSink = (record: LogRecord) => void
