// One program in a machine, as the service sees it, and the named pipes that connect the program with the service.
//
// The pipes lie in a folder of the service that the machine sees read-only: programs inside can open pipes, but
// cannot make, rename or replace any. The kernel keeps unread bytes, so a program that writes faster than the
// service reads must wait.

import { Buffer } from 'node:buffer'
import { chmodSync, chownSync, closeSync, constants, mkdirSync, openSync, readSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { PassThrough, Transform, type Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import type { Clock } from '../../../runtime/deadline.js'
import { Deferred } from '../../../runtime/deferred.js'
import type { Runtime } from '../../../runtime/runtime.js'
import { pipeName } from '../../agent-messages.js'
import { systemProgram } from '../../host-program.js'
import type { GuestExit, GuestProcess } from '../../runtime.js'
import type { HostIdentity } from '../identities.js'

/** The programs for which one `mkfifo` makes pipes in advance. */
const PROGRAMS_AT_ONCE = 16

const MKFIFO_MS = 20_000

export class MachinePipes {
  readonly folder: string
  readonly #runtime: Runtime
  /** The user of the machine, if that is not the user of the service. */
  readonly #owner: HostIdentity | undefined
  /** The last program that has pipes. */
  #made = 0
  #making: Promise<void> | undefined
  #isRemoved = false

  constructor(folder: string, runtime: Runtime, owner: HostIdentity | undefined) {
    this.folder = folder
    this.#runtime = runtime
    this.#owner = owner
    mkdirSync(folder, { mode: 0o700 })
    // The user of the machine may open files in the folder, but not list them.
    if (owner !== undefined) chmodSync(folder, 0o711)
    this.#makeAhead(1)
  }

  /** The paths of the input, the output and the errors of a program. Ids count from 1. */
  async of(id: number): Promise<string[]> {
    while (id > this.#made) await this.#make()
    this.#makeAhead(id)
    return this.#paths(id)
  }

  /** Makes the user of the machine the owner of a file in the folder. */
  hand(path: string): void {
    if (this.#owner !== undefined) chownSync(path, this.#owner.uid, this.#owner.gid)
  }

  async remove(): Promise<void> {
    this.#isRemoved = true
    await this.#making?.catch(() => undefined)
    await rm(this.folder, { recursive: true, force: true })
  }

  #paths(id: number): string[] {
    return [0, 1, 2].map((stream) => join(this.folder, pipeName(id, stream)))
  }

  /** A failure here is ignored. It shows again when the pipes are needed. */
  #makeAhead(id: number): void {
    if (id + PROGRAMS_AT_ONCE / 2 > this.#made) void this.#make().catch(() => undefined)
  }

  #make(): Promise<void> {
    if (this.#isRemoved) return Promise.reject(new Error('the machine has ended'))
    this.#making ??= this.#makeNext().finally(() => {
      this.#making = undefined
    })
    return this.#making
  }

  async #makeNext(): Promise<void> {
    const ids = Array.from({ length: PROGRAMS_AT_ONCE }, (_, index) => this.#made + index + 1)
    const paths = ids.flatMap((id) => this.#paths(id))
    const make = ['mkfifo', '-m', '600', '--', ...paths] as const
    const { code, stderr } = await systemProgram(this.#runtime, make, MKFIFO_MS)
    // Clients read this message, and must not learn paths of the host.
    if (code !== 0) throw new Error(`no pipes can be made: ${stderr.trim().split(': ').at(-1)}`)
    for (const path of paths) this.hand(path)
    this.#made += PROGRAMS_AT_ONCE
  }
}

export class MachineProgram implements GuestProcess {
  readonly stdin = new PassThrough()
  readonly stdout: Transform
  readonly stderr: Transform
  readonly explained: (exit: GuestExit) => GuestExit
  readonly #send: (kind: 'interrupt' | 'kill') => void
  readonly #begun = new Deferred<void>()
  readonly #exit = new Deferred<GuestExit>()
  #paths: readonly string[] = []
  #outputs: readonly PipeReader[] = []
  /** A descriptor until the agent has opened its end. */
  #input: number | Socket | undefined

  constructor(
    clock: Clock,
    send: (kind: 'interrupt' | 'kill') => void,
    explained: (exit: GuestExit) => GuestExit,
  ) {
    this.#send = send
    this.stdout = paced(clock)
    this.stderr = paced(clock)
    this.explained = explained
    this.stdin.on('error', () => undefined)
  }

  get exited(): Promise<GuestExit> {
    return this.#exit.promise
  }

  interrupt(): void {
    void this.#begun.promise.then(() => this.#send('interrupt'))
  }

  kill(): void {
    void this.#begun.promise.then(() => this.#send('kill'))
  }

  /** Opens the pipes without waiting for the other ends. The order to start follows. */
  begin(paths: readonly string[]): void {
    this.#paths = paths
    // A descriptor with read access keeps written input until the agent has opened its end.
    const access = [constants.O_RDWR, constants.O_RDONLY, constants.O_RDONLY]
    const [input, stdout = -1, stderr = -1] = openAll(paths, access)
    this.#input = input
    this.#outputs = [new PipeReader(stdout, this.stdout), new PipeReader(stderr, this.stderr)]
    this.#begun.resolve()
  }

  /** Begins the input. The agent must have opened its ends, or the kernel may drop the input. False the second time. */
  started(): boolean {
    if (typeof this.#input !== 'number') return false
    this.#input = new Socket({ fd: this.#input, readable: false, writable: true })
    this.#input.on('error', () => undefined)
    this.stdin.pipe(this.#input)
    return true
  }

  /** Closes the pipes and ends the streams. The exit of a program that ran waits for the reader of long output. */
  end(exit: GuestExit): void {
    const streams = [this.stdout, this.stderr]
    if (typeof this.#input === 'number') closeSync(this.#input)
    else this.#input?.destroy()
    for (const output of this.#outputs) output.end()
    for (const path of this.#paths) void rm(path, { force: true })
    for (const stream of streams) stream.end()
    this.stdin.destroy()
    const full = exit.failure === undefined ? streams.filter((stream) => stream.writableLength > 0) : []
    const read = full.map((stream) => finished(stream, { writable: false }))
    void Promise.allSettled(read).then(() => this.#exit.resolve(exit))
  }
}

/** Bytes that pass at full speed, for example a file that a client reads. */
const BURST_BYTES = 16 * 1024 * 1024

/**
 * After its burst a stream passes one chunk (64 KiB at most) per millisecond. Most long output is dropped, and a
 * program that writes without end would otherwise occupy one processor of the host, and the service a second one.
 */
export function paced(clock: Pick<Clock, 'setTimer'>): Transform {
  let bytes = 0
  return new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      bytes += chunk.length
      if (bytes <= BURST_BYTES) done(null, chunk)
      else clock.setTimer(1, () => done(null, chunk))
    },
  })
}

/** Closes all opened files if one of them cannot be opened. */
function openAll(paths: readonly string[], access: readonly number[]): number[] {
  const opened: number[] = []
  try {
    for (const [index, path] of paths.entries())
      opened.push(openSync(path, (access[index] ?? 0) | constants.O_NONBLOCK | constants.O_NOFOLLOW))
    return opened
  } catch (error) {
    for (const descriptor of opened) closeSync(descriptor)
    throw error
  }
}

/** The most bytes that are read after the end of a program. A pipe holds no more, unless processes still write. */
const LAST_BYTES_MAX = 1024 * 1024

const READ_BYTES = 64 * 1024

class PipeReader {
  readonly #descriptor: number
  readonly #socket: Socket
  readonly #stream: Writable

  constructor(descriptor: number, stream: Writable) {
    this.#descriptor = descriptor
    this.#stream = stream
    this.#socket = new Socket({ fd: descriptor, readable: true, writable: false })
    this.#socket.on('error', () => undefined)
    this.#socket.pipe(stream, { end: false })
  }

  /** Reads the remaining bytes immediately: processes that the program left behind may keep it open for ever. */
  end(): void {
    const [socket, stream] = [this.#socket, this.#stream]
    socket.unpipe(stream)
    for (let chunk: unknown = socket.read(); chunk instanceof Uint8Array; chunk = socket.read())
      stream.write(chunk)
    if (!socket.destroyed) for (const chunk of remaining(this.#descriptor)) stream.write(chunk)
    socket.destroy()
  }
}

function remaining(descriptor: number): Buffer[] {
  const chunks: Buffer[] = []
  try {
    for (let bytes = 0; bytes < LAST_BYTES_MAX;) {
      const chunk = Buffer.allocUnsafe(READ_BYTES)
      const length = readSync(descriptor, chunk)
      if (length === 0) break
      chunks.push(chunk.subarray(0, length))
      bytes += length
    }
  } catch {
    // The pipe is empty (EAGAIN).
  }
  return chunks
}
