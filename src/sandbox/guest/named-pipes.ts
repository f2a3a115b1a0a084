// Pipes for the output of programs.
//
// Node gives sockets to its children. A program cannot open `/dev/stdout` or `/dev/stderr` again when that is a socket, and
// many scripts do. Node cannot make pipes, but it can open named ones. So some are made ahead by `mkfifo`,
// and lose their names as soon as they are open; where there are none, sockets have to do.
//
// Input stays a socket: a named pipe that is opened again waits for a writer, who may have ended already.

import { spawn, spawnSync } from 'node:child_process'
import { closeSync, constants, openSync, rmSync } from 'node:fs'
import { Socket } from 'node:net'
import process from 'node:process'

/** Where the names are for a moment. */
const FOLDER = '/tmp'

/** Made at once; a program takes two. */
const PIPES_AT_ONCE = 16

/** With fewer than these, others are made. */
const PIPES_LOW = 8

/** The outputs of one program. */
export interface ProgramPipes {
  /** For the program: its standard output and errors. */
  readonly descriptors: readonly [number, number]
  readonly output: Socket
  readonly errors: Socket
  /** Once the program has its own. */
  closeOtherEnds(): void
}

/** Both ends of a pipe. */
interface Ends {
  readonly read: number
  readonly write: number
}

/** Makes pipes before they are needed. */
export class NamedPipes {
  readonly #ready: string[] = []
  #made = 0
  #isMaking = false

  /** Undefined when none could be made. */
  take(): ProgramPipes | undefined {
    if (this.#ready.length < 2) this.#makeNow()
    else if (this.#ready.length < PIPES_LOW) this.#makeAhead()
    const [first, second] = this.#ready.splice(0, 2)
    if (first === undefined || second === undefined) return undefined
    const opened: number[] = []
    try {
      const [output, errors] = [openedPipe(first, opened), openedPipe(second, opened)]
      const descriptors = [output.write, errors.write] as const
      return {
        descriptors,
        output: new Socket({ fd: output.read, readable: true, writable: false }),
        errors: new Socket({ fd: errors.read, readable: true, writable: false }),
        closeOtherEnds: () => descriptors.forEach((descriptor) => closeSync(descriptor)),
      }
    } catch {
      for (const descriptor of opened) closeSync(descriptor)
      return undefined
    }
  }

  #makeNow(): void {
    const names = this.#names()
    const { status } = spawnSync('mkfifo', ['-m', '600', ...names], { stdio: 'ignore' })
    if (status === 0) this.#ready.push(...names)
  }

  #makeAhead(): void {
    if (this.#isMaking) return
    this.#isMaking = true
    const names = this.#names()
    const child = spawn('mkfifo', ['-m', '600', ...names], { stdio: 'ignore' })
    child.once('error', () => undefined)
    child.once('exit', (status) => {
      this.#isMaking = false
      if (status === 0) this.#ready.push(...names)
    })
  }

  #names(): string[] {
    return Array.from({ length: PIPES_AT_ONCE }, () => `${FOLDER}/.pipe-${process.pid}-${++this.#made}`)
  }
}

/** Reading does not wait for a writer, and writing finds a reader. */
function openedPipe(path: string, opened: number[]): Ends {
  const read = open(path, constants.O_RDONLY | constants.O_NONBLOCK, opened)
  const write = open(path, constants.O_WRONLY, opened)
  rmSync(path)
  return { read, write }
}

function open(path: string, flags: number, opened: number[]): number {
  const descriptor = openSync(path, flags | constants.O_NOFOLLOW)
  opened.push(descriptor)
  return descriptor
}
