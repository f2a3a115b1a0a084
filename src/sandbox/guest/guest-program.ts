// One program inside a machine, and its streams on its channel.

import { Buffer } from 'node:buffer'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { closeSync, constants, openSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { Socket } from 'node:net'
import process from 'node:process'
import type { Readable, Writable } from 'node:stream'
import {
  CHANNEL_WINDOW,
  FRAME_BYTES_MAX,
  agentReports,
  costPayload,
  encodeTexts,
  frameCost,
  outputStreams,
  payloadsOf,
} from '../frames.js'

/** The most that may lie in the two pipes when a program ends; another process has written what is beyond that. */
const LAST_BYTES_MAX = 1024 * 1024

export interface StartOrder {
  readonly program: string
  readonly args: readonly string[]
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
      this.#end.send(agentReports.inputTaken, costPayload(frameCost(bytes.length)))
    })
  }

  endInput(): void {
    this.#input?.end()
  }

  interrupt(): void {
    this.#child?.kill('SIGINT')
  }

  /** All of them are stopped before the first is killed, so that none of them starts others meanwhile. */
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
    this.#tell(['', '', `${this.#order.program}: ${why}`])
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

  /** Sends what the program has written before its end; from then on the output of other processes is read and dropped. */
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
      // One turn of the event loop reads all that is in the pipe.
      await turn()
      await turn()
    }
    this.#isOver = true
    this.#stream.resume()
  }

  #send(chunk: Buffer): void {
    if (this.#isOver) return
    this.#bytes += chunk.length
    for (const part of payloadsOf(chunk)) {
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
  { program, args, env }: StartOrder,
  channel: number,
  pipes: ProgramPipes | undefined,
): ChildProcess {
  return spawn(program, [...args], {
    // Its children inherit the mark, unless the program removes it.
    env: { ...env, [callMark]: String(channel) },
    stdio: pipes === undefined ? 'pipe' : ['pipe', ...pipes.descriptors],
    // In a session of its own.
    detached: true,
  })
}

async function turn(): Promise<void> {
  await new Promise<void>((resolve) => {
    setImmediate(resolve)
  })
}

// The processes of a program: its descendants, and processes that have left them but carry its mark.

/** The variable by which processes of one call are known when their parents are gone. */
export const callMark = 'SANDBOX_CALL'

interface GuestProcessRow {
  readonly pid: number
  readonly parent: number
  readonly session: number
}

/** The processes of the call whose first process this is, with it. */
export function kinOf(first: number, call: number): number[] {
  const rows = allProcesses()
  const kin = new Set(
    rows
      .filter(({ pid, session }) => pid === first || session === first || isMarked(pid, call))
      .map(({ pid }) => pid),
  )
  for (let before = -1; before < kin.size;) {
    before = kin.size
    for (const { pid, parent } of rows) if (kin.has(parent)) kin.add(pid)
  }
  kin.delete(process.pid)
  return [...kin]
}

function signalProcess(pid: number, signal: 'SIGSTOP' | 'SIGKILL'): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended.
  }
}

function allProcesses(): GuestProcessRow[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    const stat = read(`/proc/${name}/stat`)
    // The name may hold anything, so it is what stands behind it that counts: state, parent, group, session.
    const [, parent, , session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ', 4)
    return stat === '' ? [] : [{ pid: Number(name), parent: Number(parent), session: Number(session) }]
  })
}

function isMarked(pid: number, call: number): boolean {
  return read(`/proc/${pid}/environ`).split('\0').includes(`${callMark}=${call}`)
}

/** Empty for a process that has ended meanwhile, or that does not let itself be read. */
function read(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}

// Pipes for the output of programs.
//
// Node gives sockets to its children. A program cannot open `/dev/stdout` or `/dev/stderr` again when that is a socket, and
// many scripts do. Node cannot make pipes, but it can open named ones. So some are made ahead by `mkfifo`,
// and lose their names as soon as they are open; where there are none, sockets have to do.
//
// Input stays a socket: a named pipe that is opened again waits for a writer, who may have ended already.

/** The folder in which the pipes have names for a moment. */
const FOLDER = '/tmp'

/** Made at once; a program takes two. */
const PIPES_AT_ONCE = 16

/** The outputs of one program. */
export interface ProgramPipes {
  /** For the program: its standard output and errors. */
  readonly descriptors: readonly [number, number]
  readonly output: Socket
  readonly errors: Socket
  /** Once the program has its own. */
  closeOtherEnds(): void
}

/** Makes pipes before they are needed. */
export class NamedPipes {
  readonly #ready: string[] = []
  #made = 0

  /** Undefined when none could be made. */
  take(): ProgramPipes | undefined {
    if (this.#ready.length < 2) this.#make()
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

  #make(): void {
    const names = this.#names()
    const { status } = spawnSync('mkfifo', ['-m', '600', ...names], { stdio: 'ignore' })
    if (status === 0) this.#ready.push(...names)
  }

  #names(): string[] {
    return Array.from({ length: PIPES_AT_ONCE }, () => `${FOLDER}/.pipe-${process.pid}-${++this.#made}`)
  }
}

/** Reading does not wait for a writer, and writing finds a reader. */
function openedPipe(path: string, opened: number[]): { readonly read: number; readonly write: number } {
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
