// A program in a virtual machine: what the package tells of it, as streams.

import { constants } from 'node:os'
import { Readable, Writable } from 'node:stream'
import type { GuestExit, GuestProcess } from '../../runtime.js'
import { ShellStart } from '../shell-start.js'
import type { MicrovmExec } from './microvm-package.js'

type Input = NonNullable<Awaited<ReturnType<MicrovmExec['takeStdin']>>>

const nobody = { code: undefined, signal: undefined }

const lost: GuestExit = { ...nobody, failure: 'the machine of the session has ended' }

/** A program that is being started, or runs. */
export class MicrovmProcess implements GuestProcess {
  readonly stdin: Writable
  readonly stdout: Readable
  readonly exited: Promise<GuestExit>
  readonly #exec: Promise<MicrovmExec>
  readonly #killAll: () => void
  readonly #start: ShellStart
  readonly #output = new PulledStream()
  readonly #errors = new PulledStream()
  readonly #abandoned: Promise<GuestExit>
  #abandon: (exit: GuestExit) => void = () => {}

  /** `killAll` ends all processes of its call. */
  constructor(exec: Promise<MicrovmExec>, killAll: () => void) {
    this.#exec = exec
    this.#abandoned = new Promise((resolve) => {
      this.#abandon = resolve
    })
    this.#killAll = killAll
    this.stdin = inputOf(exec.then((started) => started.takeStdin()))
    this.stdout = this.#output.stream
    this.#start = new ShellStart(this.#errors.stream)
    this.exited = this.#follow()
  }

  get stderr(): Readable {
    return this.#start.stderr
  }

  interrupt(): void {
    void this.#signal(constants.signals.SIGINT)
  }

  kill(): void {
    this.#killAll()
  }

  /** Its machine is gone, and nothing more comes. */
  abandon(): void {
    this.#abandon(lost)
  }

  async #signal(number: number): Promise<void> {
    try {
      await (await this.#exec).signal(number)
    } catch {
      // It has ended.
    }
  }

  async #follow(): Promise<GuestExit> {
    let exit: GuestExit
    try {
      exit = await Promise.race([this.#exec.then((exec) => this.#read(exec)), this.#abandoned])
    } catch (error) {
      exit = { ...nobody, failure: error instanceof Error ? error.message : String(error) }
    }
    this.#output.end()
    this.#errors.end()
    this.stdin.destroy()
    return this.#start.exit(exit)
  }

  /** Until it ends: whoever it has left behind may write for ever. */
  async #read(exec: MicrovmExec): Promise<GuestExit> {
    for (let event = await exec.recv(); event !== null; event = await exec.recv()) {
      switch (event.kind) {
        case 'started':
          break
        case 'stdout':
          await this.#output.push(event.data)
          break
        case 'stderr':
          await this.#errors.push(event.data)
          break
        case 'exited':
          return { code: event.code, signal: undefined }
      }
    }
    return lost
  }
}

/** A stream whose writer waits for its reader. */
class PulledStream {
  readonly stream: Readable
  #isOver = false
  #wanted: () => void = () => {}

  constructor() {
    this.stream = new Readable({ read: () => this.#wanted() })
  }

  async push(data: Uint8Array): Promise<void> {
    if (this.#isOver || data.length === 0 || this.stream.push(data)) return
    await new Promise<void>((resolve) => {
      this.#wanted = resolve
    })
  }

  end(): void {
    if (!this.#isOver) this.stream.push(null)
    this.#isOver = true
    this.#wanted()
  }
}

function inputOf(input: Promise<Input | null>): Writable {
  // Who has not started says why elsewhere.
  input.catch(() => undefined)
  const stream = new Writable({
    write: (chunk: Uint8Array, _encoding, done) => {
      void settle(
        input.then((sink) => sink?.write(chunk)),
        done,
      )
    },
    final: (done) => {
      void settle(
        input.then((sink) => sink?.close()),
        done,
      )
    },
  })
  return stream.on('error', () => undefined)
}

async function settle(work: Promise<void>, done: (error?: Error) => void): Promise<void> {
  try {
    await work
  } catch (error) {
    return done(error instanceof Error ? error : new Error(String(error)))
  }
  done()
}
