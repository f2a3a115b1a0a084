// A program of the host that says something short and ends.

import { text } from 'node:stream/consumers'
import type { Runtime, SpawnSpec } from '../runtime/runtime.js'
import { within } from '../runtime/within.js'

export interface ProgramOutput {
  readonly stdout: string
  readonly stderr: string
  readonly code: number | undefined
}

/** What it says; one that takes longer is ended. Never rejects. */
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
  const how =
    done === undefined
      ? `it took longer than ${timeoutMs} ms`
      : `it ended with ${code ?? signal ?? 'nothing'}`
  return { stdout, stderr: stderr || (spawnError ?? how), code }
}
