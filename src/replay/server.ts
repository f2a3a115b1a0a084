// The interface to the server of a replay, and servers that are processes on stdin and stdout or on a port.

import { connect } from 'node:net'
import { toOneLine } from '../jsonrpc/line.js'
import { within } from '../runtime/deadline.js'
import { Deferred } from '../runtime/deferred.js'
import type { Child, ChildExit, Runtime, SpawnSpec } from '../runtime/runtime.js'
import { hostAndPort } from '../transports/address.js'
import { joinedLine } from '../jsonrpc/long-line.js'
import { LineSplitter } from '../transports/stdio/line-splitter.js'
import type { Launch } from './launch.js'
import type { Sent } from './transcript.js'

export type ServerOutput =
  | { readonly kind: 'message'; readonly bytes: Buffer }
  /** The server did not get a message. `id` is the raw id of a request. */
  | { readonly kind: 'failed'; readonly id: string | undefined; readonly why: string }

export interface ReplayedServer {
  readonly output: Mailbox<ServerOutput>
  send(message: Pick<Sent, 'bytes' | 'lineEnd' | 'whole'>): void
  closeInput(): void
  /** Resolves with the exit of the process; undefined without a process, or without an exit within `ms`. */
  exit(ms: number): Promise<ChildExit | undefined>
  /** Resolves with the reason why the server sends no further message. */
  endedWhy(): Promise<string>
  stop(): Promise<void>
}

/** The most unread messages. A mailbox ends when a server sends more; transcripts are far shorter. */
const ITEMS_MAX = 100_000

export type Mail<T> = T | { readonly kind: 'ended' } | { readonly kind: 'too-late' }

export class Mailbox<T> {
  readonly #runtime: Runtime
  readonly #items: T[] = []
  #hasEnded = false
  #arrival = new Deferred<void>()

  constructor(runtime: Runtime) {
    this.#runtime = runtime
  }

  put(item: T): void {
    if (this.#hasEnded) return
    if (this.#items.length < ITEMS_MAX) this.#items.push(item)
    else this.#hasEnded = true
    this.#arrival.resolve()
  }

  /** Refuses further items. `next` still returns the present items. */
  end(): void {
    this.#hasEnded = true
    this.#arrival.resolve()
  }

  async next(deadline: number): Promise<Mail<T>> {
    if (this.#items.length === 0 && !this.#hasEnded) {
      this.#arrival = new Deferred()
      await within(this.#arrival.promise, deadline - this.#runtime.now(), this.#runtime)
    }
    return this.#items.shift() ?? { kind: this.#hasEnded ? 'ended' : 'too-late' }
  }
}

/** The longest line that the replay keeps. Frames of transcripts are far shorter. */
const LINE_BYTES_MAX = 256 * 1024 * 1024

/** The length of the end of stderr that explains a failure. */
const STDERR_LENGTH_MAX = 4000

/** How long a server may take to exit after the end of its input, and then after a signal. */
const STOP_WAIT_MS = 10_000
const SIGNAL_WAIT_MS = 2000

/** How long a report of ended output waits for the exit that explains it. */
const EXIT_WAIT_MS = 2000

export class ReplayProcess implements ReplayedServer {
  readonly output: Mailbox<ServerOutput>
  readonly #child: Child
  readonly #runtime: Runtime
  #stderr = ''

  constructor(spec: SpawnSpec, runtime: Runtime) {
    this.#runtime = runtime
    this.output = new Mailbox(runtime)
    this.#child = runtime.spawn(spec)
    this.#read()
    // The end of stdout already reports a server that has exited.
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

  exit(ms: number): Promise<ChildExit | undefined> {
    return within(this.#child.exited, ms, this.#runtime)
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

  /** Closes the input, and then sends signals to the process group. Resolves when the server has exited. */
  async stop(): Promise<void> {
    this.closeInput()
    if ((await this.exit(STOP_WAIT_MS)) === undefined) await this.terminate(SIGNAL_WAIT_MS)
  }

  async terminate(waitMs: number = STOP_WAIT_MS): Promise<void> {
    this.#child.signal('SIGTERM')
    if ((await this.exit(waitMs)) !== undefined) return
    this.#child.signal('SIGKILL')
    await this.#child.exited
  }

  #read(): void {
    const { stdout } = this.#child
    const put = (bytes: Buffer): void => this.output.put({ kind: 'message', bytes })
    const splitter = new LineSplitter(
      {
        line: (read) => {
          const line = joinedLine(read)
          put(line.at(-1) === 0x0d ? line.subarray(0, -1) : line)
        },
        oversize: (_id, bytes) => put(Buffer.from(`(a line of ${bytes} bytes)`)),
      },
      LINE_BYTES_MAX,
    )
    stdout.on('data', (chunk: Buffer) => splitter.push(chunk))
    stdout.on('error', () => {})
    stdout.once('close', () => {
      splitter.end()
      this.output.end()
    })
  }
}

const TRY_MS = 25

export class HostError extends Error {
  override readonly name = 'HostError'
  readonly stderr: string

  constructor(problem: string, stderr: string) {
    super(problem)
    this.stderr = stderr
  }
}

export interface HttpHost {
  readonly url: URL
  readonly process: ReplayProcess
}

/** @throws HostError if the server exits, or does not listen within `timeoutMs` */
export async function startHost(
  { spec, url }: Launch,
  runtime: Runtime,
  timeoutMs: number,
): Promise<HttpHost> {
  const host = { url, process: new ReplayProcess(spec, runtime) }
  const problem = await whyUnreachable(host, runtime, timeoutMs)
  if (problem === undefined) return host
  await host.process.terminate()
  throw new HostError(problem, host.process.stderr)
}

async function whyUnreachable(
  { url, process }: HttpHost,
  runtime: Runtime,
  timeoutMs: number,
): Promise<string | undefined> {
  const deadline = runtime.now() + timeoutMs
  while (runtime.now() < deadline) {
    if (await isListening(url)) return undefined
    if ((await process.exit(TRY_MS)) !== undefined) return process.endedWhy()
  }
  return `the server did not listen on ${url.host} within ${timeoutMs} ms`
}

function isListening(url: URL): Promise<boolean> {
  const socket = connect(hostAndPort(url))
  const isOpen = new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(true))
    socket.once('error', () => resolve(false))
  })
  return isOpen.finally(() => socket.destroy())
}
