// The named pipes through which the service exchanges bytes with the programs of one machine.
//
// They lie in a folder of the service that the machine sees read-only: programs inside can open pipes, and make, rename or
// replace none. The kernel holds what is written and not yet read, so a program that writes faster than the service reads waits.

import { Buffer } from 'node:buffer'
import { chmodSync, chownSync, closeSync, constants, mkdirSync, openSync, readSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { Socket } from 'node:net'
import { join } from 'node:path'
import type { PassThrough, Writable } from 'node:stream'
import type { Runtime } from '../../../runtime/runtime.js'
import { pipeName } from '../../agent-messages.js'
import { systemProgram } from '../../host-program.js'
import type { HostIdentity } from '../identities.js'

/** The programs for which one `mkfifo` makes pipes, before they are needed. */
const PROGRAMS_AT_ONCE = 16

const MKFIFO_MS = 20_000

/** The most bytes that are read after the end of a program: a pipe holds no more, unless other processes go on writing. */
const LAST_BYTES_MAX = 1024 * 1024

const READ_BYTES = 64 * 1024

export class MachinePipes {
  readonly folder: string
  readonly #runtime: Runtime
  /** The user of the machine, when it is not that of the service. */
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
    // The user of the machine may open what is in the folder.
    if (owner !== undefined) chmodSync(folder, 0o711)
    this.#makeAhead(1)
  }

  /** Opens the pipes of a program; the ids count from 1. */
  async open(id: number): Promise<ProgramPipes> {
    while (id > this.#made) await this.#make()
    this.#makeAhead(id)
    return new ProgramPipes(this.#paths(id))
  }

  /** Gives a file in the folder to the user of the machine. */
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

  /** A failure shows when the pipes are needed. */
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

/** The service's ends of the pipes of one program. */
export class ProgramPipes {
  readonly #paths: readonly string[]
  readonly #outputs: readonly PipeReader[]
  /** A descriptor until `write`. */
  #input: number | Socket

  /** Opens them without waiting for the other ends. */
  constructor(paths: readonly string[]) {
    // A descriptor that could also read keeps the input until the agent has opened its end.
    const [input = -1, ...outputs] = openAll(paths, [
      constants.O_RDWR,
      constants.O_RDONLY,
      constants.O_RDONLY,
    ])
    this.#paths = paths
    this.#input = input
    this.#outputs = outputs.map((descriptor) => new PipeReader(descriptor))
  }

  /** Passes the outputs on to these streams. */
  read(streams: readonly Writable[]): void {
    for (const [index, output] of this.#outputs.entries()) output.pass(streams[index])
  }

  /** Passes the input on; the other end must be open, since the kernel forgets a pipe that no process has open. */
  write(stream: PassThrough): void {
    if (typeof this.#input !== 'number') return
    this.#input = new Socket({ fd: this.#input, readable: false, writable: true })
    this.#input.on('error', () => undefined)
    stream.pipe(this.#input)
  }

  /** Reads the remaining outputs, ends their streams, and closes the pipes. */
  end(): void {
    if (typeof this.#input === 'number') closeSync(this.#input)
    else this.#input.destroy()
    for (const output of this.#outputs) output.end()
    for (const path of this.#paths) void rm(path, { force: true })
  }
}

/** The reading end of one pipe. */
class PipeReader {
  readonly #descriptor: number
  readonly #socket: Socket
  #stream: Writable | undefined

  constructor(descriptor: number) {
    this.#descriptor = descriptor
    this.#socket = new Socket({ fd: descriptor, readable: true, writable: false })
    this.#socket.on('error', () => undefined)
  }

  pass(stream: Writable | undefined): void {
    this.#stream = stream
    if (stream !== undefined) this.#socket.pipe(stream, { end: false })
  }

  /** The remaining bytes of the pipe are read immediately: processes that the program has left behind may keep it open for ever. */
  end(): void {
    const [socket, stream] = [this.#socket, this.#stream]
    if (stream !== undefined) {
      socket.unpipe(stream)
      for (let chunk: unknown = socket.read(); chunk instanceof Uint8Array; chunk = socket.read())
        stream.write(chunk)
      if (!socket.destroyed) for (const chunk of restOf(this.#descriptor)) stream.write(chunk)
      stream.end()
    }
    socket.destroy()
  }
}

/** Leaves none open when one of them cannot be opened. */
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

function restOf(descriptor: number): Buffer[] {
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
