import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { Runtime, SpawnSpec } from '../runtime/runtime.js'
import { within } from '../runtime/deadline.js'

/** The variables of small programs of the system. */
export const systemEnvironment = { PATH: '/usr/local/bin:/usr/bin:/bin' } as const

export interface ProgramOutput {
  readonly stdout: string
  readonly stderr: string
  readonly code: number | undefined
  /** Whether the program took too long and was killed. */
  readonly isLate: boolean
}

/** Runs a program and returns its output. Kills it after the timeout. Never rejects. */
export async function programOutput(
  runtime: Runtime,
  spec: SpawnSpec,
  timeoutMs: number,
): Promise<ProgramOutput> {
  const child = runtime.spawn(spec)
  child.stdin.on('error', () => undefined).end()
  const all = Promise.all([text(child.stdout), text(child.stderr), child.exited])
  const done = await within(all, timeoutMs, runtime)
  if (done === undefined) child.signal('SIGKILL')
  const [stdout, stderr, { code, signal, spawnError }] = done ?? (await all)
  const isLate = done === undefined
  const how = isLate ? `it took longer than ${timeoutMs} ms` : `it ended with ${code ?? signal ?? 'nothing'}`
  return { stdout, stderr: stderr || (spawnError ?? how), code, isLate }
}

export function systemProgram(
  runtime: Runtime,
  [command, ...args]: readonly [string, ...string[]],
  timeoutMs: number,
): Promise<ProgramOutput> {
  return programOutput(runtime, { command, args, cwd: '/', env: systemEnvironment }, timeoutMs)
}

const LENGTH_MAX = 2000

/** The most bytes that are read. After them the reader closes stderr. */
const BYTES_MAX = 256 * 1024

/** Reads stderr to its end, and keeps the beginning for the error of a program that did not start. */
export class StderrHead {
  text = ''
  #bytes = 0

  constructor(stderr: Readable) {
    stderr.on('error', () => undefined)
    stderr.on('data', (chunk: Buffer) => {
      this.#bytes += chunk.length
      if (this.#bytes > BYTES_MAX) stderr.destroy()
      if (this.text.length < LENGTH_MAX) this.text += chunk.toString().slice(0, LENGTH_MAX)
    })
  }

  get shown(): string {
    const text = this.text.trim()
    return text === '' ? '' : `: ${text}`
  }
}
