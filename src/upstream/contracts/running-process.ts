// A child process that was started elsewhere, as a worker needs it.

import { Readable, type Writable } from 'node:stream'
import { thatServer } from './errors.js'
import type { Child, ChildExit } from '../../runtime/runtime.js'

/** The members of Node's `ChildProcess` that the proxy uses. */
export interface RunningProcess {
  readonly pid?: number | undefined
  readonly stdin: Writable | null
  readonly stdout: Readable | null
  readonly stderr: Readable | null
  readonly exitCode: number | null
  readonly signalCode: string | null
  kill(signal: 'SIGTERM' | 'SIGKILL'): boolean
  once(event: 'exit', listener: (code: number | null, signal: string | null) => void): unknown
}

/**
 * The same as a child of the proxy's own: signals go to its process group where it leads one, else to it alone.
 *
 * @throws UpstreamError when the proxy cannot speak with it
 */
export function childOf(service: string, running: RunningProcess): Child {
  const { pid, stdin, stdout, stderr } = running
  const why = unusableFor(running)
  if (why !== undefined || stdin === null || stdout === null)
    throw thatServer(service, 'spawn-failed', `cannot be adopted: ${why}`)
  let isOver = false
  const exited = exitOf(running).finally(() => {
    isOver = true
  })
  return {
    pid,
    stdin,
    stdout,
    stderr: stderr ?? Readable.from([]),
    exited,
    signal: (name) => !isOver && signalled(running, name),
  }
}

function unusableFor({ stdin, stdout }: RunningProcess): string | undefined {
  if (stdin === null || stdout === null) return "start it with stdio: ['pipe', 'pipe', …]"
  return stdout.readableEncoding === null ? undefined : 'its stdout must give bytes, without setEncoding'
}

function exitOf(running: RunningProcess): Promise<ChildExit> {
  const { exitCode, signalCode } = running
  if (exitCode !== null || signalCode !== null) return Promise.resolve(exitWith(exitCode, signalCode))
  return new Promise((resolve) => {
    running.once('exit', (code, signal) => resolve(exitWith(code, signal)))
  })
}

function exitWith(code: number | null, signal: string | null): ChildExit {
  return { code: code ?? undefined, signal: signal ?? undefined, spawnError: undefined }
}

/** A process group has the number of the process only where the process leads it. */
function signalled(running: RunningProcess, name: 'SIGTERM' | 'SIGKILL'): boolean {
  try {
    if (running.pid !== undefined) return process.kill(-running.pid, name)
  } catch {
    // It is in the process group of the program that started it.
  }
  return running.kill(name)
}
