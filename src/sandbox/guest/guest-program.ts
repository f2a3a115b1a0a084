// One program inside a machine, and its streams on its channel.

import { Buffer } from 'node:buffer'
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import type { Readable, Writable } from 'node:stream'
import {
  CHANNEL_WINDOW,
  FRAME_BYTES_MAX,
  agentReports,
  encodeTexts,
  frameCost,
  outputStreams,
} from '../frames.js'
import { callMark, kinOf, signalProcess } from './kin.js'
import type { NamedPipes, ProgramPipes } from './named-pipes.js'

/** When memory runs out, programs are ended before the agent. */
const FIRST_TO_END = '1000'

/** What may lie in the two sockets when a program ends; whoever has written more than that is somebody else. */
const LAST_BYTES_MAX = 1024 * 1024

export interface StartOrder {
  readonly program: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
}

/** Our ends of the outputs of a program; null when there were no descriptors left. */
interface ProgramOutputs {
  readonly output: Readable | null
  readonly errors: Readable | null
}

interface ChannelEnd {
  send(kind: number, payload?: Uint8Array): void
  ended(): void
}

/** A program from its start to its end. */
export class GuestProgram {
  readonly #channel: number
  readonly #order: StartOrder
  readonly #end: ChannelEnd
  #child: ChildProcess | undefined
  #input: Writable | undefined
  #outputs: readonly GuestOutput[] = []

  constructor(channel: number, order: StartOrder, end: ChannelEnd) {
    this.#channel = channel
    this.#order = order
    this.#end = end
  }

  begin(named: NamedPipes): void {
    const pipes = named.take()
    try {
      const child = spawned(this.#order, this.#channel, pipes)
      this.#child = child
      this.#connect(child.stdin, pipes ?? { output: child.stdout, errors: child.stderr })
      child.on('error', (error) => this.#fail(error))
      child.once('exit', (code, signal) => void this.#exited(code, signal))
    } catch (error) {
      this.#fail(error)
    } finally {
      pipes?.closeOtherEnds()
    }
  }

  write(bytes: Buffer): void {
    this.#input?.write(bytes, () => {
      const cost = Buffer.allocUnsafe(4)
      cost.writeUInt32BE(frameCost(bytes.length))
      this.#end.send(agentReports.inputTaken, cost)
    })
  }

  endInput(): void {
    this.#input?.end()
  }

  interrupt(): void {
    this.#child?.kill('SIGINT')
  }

  /** All of them are stopped before the first is killed, so that nobody starts others meanwhile. */
  kill(): void {
    const pid = this.#child?.pid
    if (pid === undefined) return
    const kin = new Set<number>()
    for (let before = -1; before < kin.size;) {
      before = kin.size
      for (const one of kinOf(pid, this.#channel)) {
        if (!kin.has(one)) signalProcess(one, 'SIGSTOP')
        kin.add(one)
      }
    }
    for (const one of kin) signalProcess(one, 'SIGKILL')
  }

  taken(stream: number, cost: number): void {
    this.#outputs[stream === outputStreams.output ? 0 : 1]?.taken(cost)
  }

  #connect(input: Writable | null, { output, errors }: ProgramOutputs): void {
    if (input === null || output === null || errors === null) return
    this.#input = input.on('error', () => undefined)
    this.#outputs = [
      new GuestOutput(output, agentReports.output, this.#end),
      new GuestOutput(errors, agentReports.errors, this.#end),
    ]
  }

  async #exited(code: number | null, signal: string | null): Promise<void> {
    await Promise.all(this.#outputs.map((output) => output.finish()))
    this.#tell([code === null ? '' : String(code), signal ?? '', ''])
  }

  #fail(error: unknown): void {
    // An error of a program that runs is no end of it.
    if (this.#child?.pid !== undefined) return
    const why = error instanceof Error && 'code' in error ? String(error.code) : String(error)
    const { program, cwd } = this.#order
    // The system tells the same of both.
    this.#tell(['', '', `${existsSync(cwd) ? program : cwd}: ${why}`])
  }

  #tell(texts: readonly string[]): void {
    this.#input?.destroy()
    this.#end.send(agentReports.exit, encodeTexts(texts))
    this.#end.ended()
  }
}

/** One output of a program, read as far as the service can take it. */
class GuestOutput {
  readonly #stream: Readable
  readonly #kind: number
  readonly #end: ChannelEnd
  /** Sent, and not taken yet. */
  #outstanding = 0
  #bytes = 0
  #isOver = false
  #released: () => void = () => {}

  constructor(stream: Readable, kind: number, end: ChannelEnd) {
    this.#stream = stream
    this.#kind = kind
    this.#end = end
    stream.on('data', (chunk: Buffer) => this.#send(chunk))
    stream.on('error', () => undefined)
  }

  taken(cost: number): void {
    this.#outstanding -= cost
    if (this.#isHeld()) return
    this.#stream.resume()
    this.#released()
  }

  /** Sends what the program has written before its end; from then on whoever still writes is read and not heard. */
  async finish(): Promise<void> {
    const start = this.#bytes
    let before = -1
    while (this.#bytes !== before && this.#bytes - start < LAST_BYTES_MAX && !this.#stream.readableEnded) {
      before = this.#bytes
      if (this.#isHeld()) {
        await new Promise<void>((resolve) => {
          this.#released = resolve
        })
        before = -1
      }
      // What is there is read in one turn of the event loop.
      await turn()
      await turn()
    }
    this.#isOver = true
    this.#stream.resume()
  }

  #send(chunk: Buffer): void {
    if (this.#isOver) return
    this.#bytes += chunk.length
    for (let at = 0; at < chunk.length; at += FRAME_BYTES_MAX) {
      const part = chunk.subarray(at, at + FRAME_BYTES_MAX)
      this.#outstanding += frameCost(part.length)
      this.#end.send(this.#kind, part)
    }
    if (this.#isHeld()) this.#stream.pause()
  }

  #isHeld(): boolean {
    return this.#outstanding + frameCost(FRAME_BYTES_MAX) > CHANNEL_WINDOW
  }
}

function spawned(
  { program, args, cwd, env }: StartOrder,
  channel: number,
  pipes: ProgramPipes | undefined,
): ChildProcess {
  const own = ownOomScore()
  setOomScore(FIRST_TO_END)
  try {
    return spawn(program, [...args], {
      cwd,
      // What it starts inherits the mark, unless it takes care not to.
      env: { ...env, [callMark]: String(channel) },
      stdio: pipes === undefined ? 'pipe' : ['pipe', ...pipes.descriptors],
      // In a session of its own.
      detached: true,
    })
  } finally {
    if (own !== undefined) setOomScore(own)
  }
}

function ownOomScore(): string | undefined {
  try {
    return readFileSync('/proc/self/oom_score_adj', 'latin1')
  } catch {
    return undefined
  }
}

/** Without it the kernel chooses by size, which is nearly as good. */
function setOomScore(score: string): void {
  try {
    writeFileSync('/proc/self/oom_score_adj', score)
  } catch {
    // Not Linux.
  }
}

async function turn(): Promise<void> {
  await new Promise<void>((resolve) => {
    setImmediate(resolve)
  })
}
