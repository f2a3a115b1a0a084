// The server that a transcript is replayed against: a child process on stdin and stdout.

import { LineSplitter } from '../transports/line-splitter.js'
import type { Child, ChildExit, Runtime, SpawnSpec, Timer } from '../upstream/host.js'

/** Longer lines are not kept; no frame of a transcript comes near. */
const LINE_BYTES_MAX = 256 * 1024 * 1024

/** How much of the end of stderr is kept to explain a failure. */
const STDERR_LENGTH_MAX = 4000

/** How long a server may take to end once its input has ended, and again after a signal. */
const STOP_WAIT_MS = 10_000
const SIGNAL_WAIT_MS = 2000

/** What comes next from a server. */
export type Next =
  | { readonly kind: 'line'; readonly bytes: Buffer }
  | { readonly kind: 'ended' }
  | { readonly kind: 'too-late' }

export class ServerProcess {
  readonly exited: Promise<ChildExit>
  readonly #child: Child
  readonly #runtime: Runtime
  readonly #lines: Buffer[] = []
  #ended = false
  #stderr = ''
  #wake: () => void = () => {}

  constructor(spec: SpawnSpec, runtime: Runtime) {
    this.#runtime = runtime
    this.#child = runtime.spawn(spec)
    this.exited = this.#child.exited
    this.#read()
    // A server that has gone tells so by the end of its output.
    this.#child.stdin.on('error', () => {})
    this.#child.stderr.setEncoding('utf8')
    this.#child.stderr.on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-STDERR_LENGTH_MAX)
    })
  }

  /** The end of what it said on stderr. */
  get stderr(): string {
    return this.#stderr
  }

  send(bytes: Uint8Array): void {
    this.#child.stdin.write(bytes)
  }

  closeInput(): void {
    this.#child.stdin.end()
  }

  /** The next line without its line end, waited for until `deadline`. */
  async next(deadline: number): Promise<Next> {
    const isInTime = (await this.#wait(deadline)) || this.#lines.length > 0
    const bytes = this.#lines.shift()
    if (bytes !== undefined) return { kind: 'line', bytes }
    return isInTime ? { kind: 'ended' } : { kind: 'too-late' }
  }

  /** Ends it in order, then with force; its whole process group is gone afterwards. */
  async stop(): Promise<void> {
    this.closeInput()
    if (await this.#exitsWithin(STOP_WAIT_MS)) return
    this.#child.signal('SIGTERM')
    if (await this.#exitsWithin(SIGNAL_WAIT_MS)) return
    this.kill()
    await this.exited
  }

  kill(): void {
    this.#child.signal('SIGKILL')
  }

  #read(): void {
    const { stdout } = this.#child
    const splitter = new LineSplitter(
      {
        line: (line) => this.#keep(line.at(-1) === 0x0d ? line.subarray(0, -1) : line),
        oversize: (_id, bytes) => this.#keep(Buffer.from(`(a line of ${bytes} bytes)`)),
      },
      LINE_BYTES_MAX,
    )
    stdout.on('data', (chunk: Buffer) => splitter.push(chunk))
    const end = (): void => {
      if (this.#ended) return
      splitter.end()
      this.#ended = true
      this.#wake()
    }
    stdout.on('end', end)
    stdout.on('close', end)
    stdout.on('error', end)
  }

  #keep(line: Buffer): void {
    this.#lines.push(line)
    this.#wake()
  }

  /** Whether a line or the end is here before `deadline`. */
  async #wait(deadline: number): Promise<boolean> {
    if (this.#lines.length > 0 || this.#ended) return true
    let timer: Timer | undefined
    const isInTime = await new Promise<boolean>((resolve) => {
      this.#wake = () => resolve(true)
      timer = this.#runtime.setTimer(Math.max(0, deadline - this.#runtime.now()), () => resolve(false))
    })
    timer?.cancel()
    return isInTime
  }

  async #exitsWithin(ms: number): Promise<boolean> {
    let timer: Timer | undefined
    const late = new Promise<boolean>((resolve) => {
      timer = this.#runtime.setTimer(ms, () => resolve(false))
    })
    const isGone = await Promise.race([this.exited.then(() => true), late])
    timer?.cancel()
    return isGone
  }
}
