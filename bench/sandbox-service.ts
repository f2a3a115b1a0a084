// A proxy with a sandbox, and its client.

import { type ChildProcess, spawn } from 'node:child_process'

import { INITIALIZE, INITIALIZED, type Place, closeInput, emptyHome } from './subject.js'

const LF = 10
/** Of a longer answer the beginning is enough. */
const KEPT_LENGTH = 256 * 1024
/** The proxy ends all sessions first. */
const EXIT_LIMIT_MS = 30_000

export type Args = Readonly<Record<string, unknown>>

/** The proxy, and a client that may have many calls in flight. */
export class Service {
  readonly pid: number
  readonly #child: ChildProcess
  readonly #waiting = new Map<number, (line: string) => void>()
  #next = 2
  #line = ''

  /** `mode` is the command and the transport. */
  constructor(place: Place, mode: readonly string[], config: string) {
    const argv = [place.cli, ...mode, '--silent', '--config', config]
    this.#child = spawn(process.execPath, argv, { stdio: ['pipe', 'pipe', 'inherit'], env: emptyHome(place) })
    if (this.#child.pid === undefined || this.#child.stdout === null)
      throw new Error('the sandbox did not start')
    this.pid = this.#child.pid
    this.#child.stdout.on('data', (chunk: Buffer) => this.#read(chunk))
    this.#child.once('exit', () => {
      for (const heard of this.#waiting.values()) heard('it has ended')
    })
  }

  async open(): Promise<void> {
    await new Promise<string>((resolve) => {
      this.#waiting.set(1, resolve)
      this.#child.stdin?.write(INITIALIZE)
    })
    this.#child.stdin?.write(INITIALIZED)
  }

  /** Resolves with the beginning of the answer. */
  send(name: string, args: Args): Promise<string> {
    const id = this.#next++
    const params = { name, arguments: args }
    return new Promise<string>((resolve) => {
      this.#waiting.set(id, resolve)
      this.#child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params })}\n`)
    })
  }

  /** Resolves with the answer. @throws Error when it is none, or does not show `text` */
  async call(name: string, args: Args, text?: string): Promise<string> {
    const answer = await this.send(name, args)
    const isShown = text === undefined || answer.includes(`"text":${JSON.stringify(text)}`)
    if (!answer.includes('"isError":false') || !isShown)
      throw new Error(`the call failed: ${answer.slice(0, 300)}`)
    return answer
  }

  close(): Promise<void> {
    return closeInput(this.#child, EXIT_LIMIT_MS)
  }

  /** Long answers are not joined: what they cost the client would seem to be the proxy's. */
  #read(chunk: Buffer): void {
    let from = 0
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, from)) {
      this.#keep(chunk.subarray(from, end))
      this.#heard(this.#line)
      this.#line = ''
      from = end + 1
    }
    this.#keep(chunk.subarray(from))
  }

  #keep(part: Buffer): void {
    if (this.#line.length < KEPT_LENGTH) this.#line += part.toString('latin1')
  }

  #heard(line: string): void {
    const id = Number(/"id":(\d+)/.exec(line)?.[1])
    this.#waiting.get(id)?.(line)
    this.#waiting.delete(id)
  }
}

export async function milliseconds(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}
