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

/** The most bytes that the two pipes may hold when a program ends; another process has written the bytes beyond that. */
const LAST_BYTES_MAX = 1024 * 1024

export interface StartOrder {
  readonly program: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

/** The agent's ends of the outputs of a program; null when no descriptors were left. */
interface ProgramOutputs {
  readonly output: Readable | null
  readonly errors: Readable | null
}

interface ChannelEnd {
  send(kind: number, payload?: Uint8Array): void
  ended(): void
}

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

  /** Stops all processes of the program before it kills the first, so that none of them starts others meanwhile. */
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
    // An error of a running program does not end it.
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

/** One output of a program, read within the window of the service. */
class GuestOutput {
  readonly #stream: Readable
  readonly #kind: number
  readonly #end: ChannelEnd
  /** Cost of the bytes sent for which the service has granted no credit yet. */
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

  /** Sends the bytes that the program wrote before its end; after that, drops the output of other processes. */
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
      // One turn of the event loop reads all bytes in the pipe.
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
    // Children inherit the mark, unless the program removes it.
    env: { ...env, [callMark]: String(channel) },
    stdio: pipes === undefined ? 'pipe' : ['pipe', ...pipes.descriptors],
    // The program leads a new session.
    detached: true,
  })
}

async function turn(): Promise<void> {
  await new Promise<void>((resolve) => {
    setImmediate(resolve)
  })
}

// The processes of a program: its descendants, and processes that have left them but carry its mark.

/** The variable that marks the processes of one call after their parents have ended. */
export const callMark = 'SANDBOX_CALL'

interface GuestProcessRow {
  readonly pid: number
  readonly parent: number
  readonly session: number
}

/** The processes of the call whose first process is `first`, which is among them. */
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
    // The process has ended.
  }
}

function allProcesses(): GuestProcessRow[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    const stat = read(`/proc/${name}/stat`)
    // The name may hold any character, so the fields begin after its last parenthesis: state, parent, group, session.
    const [, parent, , session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ', 4)
    return stat === '' ? [] : [{ pid: Number(name), parent: Number(parent), session: Number(session) }]
  })
}

function isMarked(pid: number, call: number): boolean {
  return read(`/proc/${pid}/environ`).split('\0').includes(`${callMark}=${call}`)
}

/** Returns an empty text for a process that has ended, or that cannot be read. */
function read(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}

// Pipes for the output of programs.
//
// Node gives sockets to its children. A program cannot open `/dev/stdout` or `/dev/stderr` again when that is a socket, and many
// scripts do. Node cannot make pipes, but it can open named ones. `mkfifo` therefore makes some ahead, and the agent removes
// their names as soon as they are open; when it has none, programs get sockets.
//
// Input stays a socket: the open of a named pipe waits for a writer, which may have ended already.

/** The folder in which the pipes have names for a moment. */
const FOLDER = '/tmp'

/** The pipes that one `mkfifo` makes; a program takes two. */
const PIPES_AT_ONCE = 16

/** The outputs of one program. */
export interface ProgramPipes {
  /** The descriptors that the program gets as standard output and errors. */
  readonly descriptors: readonly [number, number]
  readonly output: Socket
  readonly errors: Socket
  /** Closes the agent's copies once the program has inherited them. */
  closeOtherEnds(): void
}

/** Makes pipes before programs need them. */
export class NamedPipes {
  readonly #ready: string[] = []
  #made = 0

  /** Returns undefined when no pipes could be made. */
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

/** `O_NONBLOCK` keeps the first open from waiting for a writer; the second open finds a reader. */
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
