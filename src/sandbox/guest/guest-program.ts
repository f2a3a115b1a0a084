import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, constants, openSync } from 'node:fs'
import { Socket } from 'node:net'
import process from 'node:process'
import { readProcFile, readProcesses, signalProcess, withDescendants } from '../../runtime/process-table.js'
import { type AgentOrder, type AgentReport, PIPES_PATH, callMark, pipeName } from '../agent-messages.js'

type StartOrder = Extract<AgentOrder, { readonly kind: 'start' }>

interface OpenPipes {
  /** The ends that the program uses: input, output, errors. */
  readonly given: readonly number[]
  /** Read ends of the outputs. They keep the pipes open after the service has closed its own ends. */
  readonly kept: readonly number[]
}

export class GuestProgram {
  readonly #id: number
  #child: ChildProcess | undefined
  #kept: readonly number[] = []

  constructor(order: StartOrder, report: (what: AgentReport) => void) {
    const { id, program } = order
    this.#id = id
    try {
      const { given, kept } = openPipes(id)
      this.#kept = kept
      report({ kind: 'started', id })
      this.#child = started(order, given)
    } catch (error) {
      report({ kind: 'failed', id, why: `${program}: ${codeOf(error)}` })
    }
    const child = this.#child
    child?.once('error', (error) => {
      // An error of a running program does not end it.
      if (child.pid === undefined) report({ kind: 'failed', id, why: `${program}: ${codeOf(error)}` })
    })
    child?.once('exit', (code, signal) => report({ kind: 'exit', id, code, signal }))
  }

  interrupt(): void {
    this.#child?.kill('SIGINT')
  }

  /** Stops all processes of the program before it kills the first, so that none starts others meanwhile. */
  kill(): void {
    const pid = this.#child?.pid
    if (pid === undefined) return
    const descendants = new Set<number>()
    for (let before = -1; before < descendants.size;) {
      before = descendants.size
      for (const one of processesOfCall(pid, this.#id)) {
        if (!descendants.has(one)) signalProcess(one, 'SIGSTOP')
        descendants.add(one)
      }
    }
    for (const one of descendants) signalProcess(one, 'SIGKILL')
  }

  /** Reads the output of processes that the program has left behind. Otherwise they would block on a full pipe. */
  discardOutput(): void {
    for (const fd of this.#kept)
      new Socket({ fd, readable: true, writable: false }).on('error', () => undefined).resume()
  }
}

function openPipes(id: number): OpenPipes {
  const opened: number[] = []
  const open = (stream: number, flags: number): number => {
    const descriptor = openSync(`${PIPES_PATH}/${pipeName(id, stream)}`, flags)
    opened.push(descriptor)
    return descriptor
  }
  try {
    // `O_NONBLOCK` keeps the first open from waiting for a writer.
    const kept = [1, 2].map((stream) => open(stream, constants.O_RDONLY | constants.O_NONBLOCK))
    const given = [open(0, constants.O_RDONLY), open(1, constants.O_WRONLY), open(2, constants.O_WRONLY)]
    return { given, kept }
  } catch (error) {
    for (const descriptor of opened) closeSync(descriptor)
    throw error
  }
}

function started({ id, program, args, env }: StartOrder, given: readonly number[]): ChildProcess {
  try {
    return spawn(program, [...args], {
      // Children inherit the mark, unless the program removes it.
      env: { ...env, [callMark]: String(id) },
      stdio: [...given],
      detached: true,
    })
  } finally {
    for (const descriptor of given) closeSync(descriptor)
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error)
}

/** The processes of the call whose first process is `first`: its descendants, and others with its mark. */
export function processesOfCall(first: number, call: number): number[] {
  const kin = withDescendants(
    readProcesses(),
    ({ pid, session }) => pid === first || session === first || isMarked(pid, call),
  )
  return kin.map(({ pid }) => pid).filter((pid) => pid !== process.pid)
}

function isMarked(pid: number, call: number): boolean {
  return readProcFile(`/proc/${pid}/environ`).split('\0').includes(`${callMark}=${call}`)
}
