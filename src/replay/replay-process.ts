// A server that a transcript is replayed against: a child process on stdin and stdout.

import { toOneLine } from '../jsonrpc/line-safe.js'
import { LineSplitter } from '../transports/stdio/line-splitter.js'
import type { Child, ChildExit, Runtime, SpawnSpec } from '../runtime/runtime.js'
import { within } from '../runtime/deadline.js'
import type { Sent } from './transcript.js'
import { type Mail, Mailbox } from './server.js'
import type { ReplayedServer, ServerOutput } from './server.js'

/** Longer lines are not kept; no frame of a transcript comes near. */
const LINE_BYTES_MAX = 256 * 1024 * 1024

/** How much of the end of stderr is kept to explain a failure. */
const STDERR_LENGTH_MAX = 4000

/** How long a server may take to end once its input has ended, and again after a signal. */
const STOP_WAIT_MS = 10_000
const SIGNAL_WAIT_MS = 2000

/** How long the end of the output waits for the exit that explains it. */
const EXIT_WAIT_MS = 2000

export class ReplayProcess implements ReplayedServer {
  readonly exited: Promise<ChildExit>
  readonly #child: Child
  readonly #runtime: Runtime
  readonly #lines: Mailbox<ServerOutput>
  #stderr = ''

  constructor(spec: SpawnSpec, runtime: Runtime) {
    this.#runtime = runtime
    this.#lines = new Mailbox(runtime)
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

  get stderr(): string {
    return this.#stderr
  }

  send({ bytes, lineEnd, whole }: Pick<Sent, 'bytes' | 'lineEnd' | 'whole'>): void {
    this.#child.stdin.write(Buffer.concat([whole ? toOneLine(bytes) : bytes, Buffer.from(lineEnd)]))
  }

  closeInput(): void {
    this.#child.stdin.end()
  }

  /** The next line, without its line end. */
  next(deadline: number): Promise<Mail<ServerOutput>> {
    return this.#lines.next(deadline)
  }

  exit(ms: number): Promise<ChildExit | undefined> {
    return within(this.exited, ms, this.#runtime)
  }

  async endedWhy(): Promise<string> {
    const exit = await this.exit(EXIT_WAIT_MS)
    const what = 'the server ended its output'
    if (exit === undefined) return what
    if (exit.spawnError !== undefined) return `${what}: it could not be started (${exit.spawnError})`
    return exit.code === undefined
      ? `${what} (${exit.signal ?? 'gone'})`
      : `${what} and exited with ${exit.code}`
  }

  /** Ends it in order, then with force; its whole process group is gone afterwards. */
  async stop(): Promise<void> {
    this.closeInput()
    if ((await this.exit(STOP_WAIT_MS)) === undefined) await this.terminate(SIGNAL_WAIT_MS)
  }

  /** Ends a server that does not look at its input. */
  async terminate(waitMs: number = STOP_WAIT_MS): Promise<void> {
    this.#child.signal('SIGTERM')
    if ((await this.exit(waitMs)) !== undefined) return
    this.#child.signal('SIGKILL')
    await this.exited
  }

  #read(): void {
    const { stdout } = this.#child
    const put = (bytes: Buffer): void => this.#lines.put({ kind: 'message', bytes })
    const splitter = new LineSplitter(
      {
        line: (line) => put(line.at(-1) === 0x0d ? line.subarray(0, -1) : line),
        oversize: (_id, bytes) => put(Buffer.from(`(a line of ${bytes} bytes)`)),
      },
      LINE_BYTES_MAX,
    )
    let ended = false
    const end = (): void => {
      if (ended) return
      ended = true
      splitter.end()
      this.#lines.end()
    }
    stdout.on('data', (chunk: Buffer) => splitter.push(chunk))
    stdout.on('end', end)
    stdout.on('close', end)
    stdout.on('error', end)
  }
}
