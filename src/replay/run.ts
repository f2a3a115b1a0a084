// One transcript against one server.
//
// Frames are sent in the transcript's order, each as soon as everything that is
// expected before it has come. A difference does not stop the replay, a frame that
// does not come does: what follows would only repeat that.

import type { Runtime } from '../runtime/runtime.js'
import { Expectations } from './expectations.js'
import { idText } from './json-tree.js'
import { filled } from './pattern.js'
import type { Event } from './report.js'
import type { ReplayedServer } from './server.js'
import type { Exit, Expected, Sent, Transcript } from './transcript.js'

/** Replays one transcript; lives for one run. */
export class Replay {
  readonly #transcript: Transcript
  readonly #server: ReplayedServer
  readonly #runtime: Runtime
  /** How long one frame may take to come. */
  readonly #timeoutMs: number
  readonly #expectations: Expectations
  /** The values of names, as raw JSON. */
  readonly #values = new Map<string, string>()
  readonly #events: Event[] = []

  constructor(transcript: Transcript, server: ReplayedServer, runtime: Runtime, timeoutMs: number) {
    this.#transcript = transcript
    this.#server = server
    this.#runtime = runtime
    this.#timeoutMs = timeoutMs
    const steps = transcript.steps.flatMap((step, at) => (step.kind === 'expect' ? [{ at, step }] : []))
    this.#expectations = new Expectations(steps, transcript.header.recorded)
  }

  async run(): Promise<readonly Event[]> {
    if (await this.#talk()) {
      this.#server.closeInput()
      await this.#listen(Math.min(this.#timeoutMs, END_WAIT_MS))
    }
    return this.#events
  }

  /** Says and awaits everything; false when something did not come. */
  async #talk(): Promise<boolean> {
    for (const [at, step] of this.#transcript.steps.entries()) {
      if (step.kind === 'expect') continue
      if (!(await this.#comeBefore(at))) return false
      if (step.kind === 'send') this.#send(step)
      else await this.#exit(step)
    }
    return this.#comeBefore(this.#transcript.steps.length)
  }

  async #comeBefore(at: number): Promise<boolean> {
    for (
      let step = this.#expectations.awaited(at);
      step !== undefined;
      step = this.#expectations.awaited(at)
    ) {
      const end = await this.#receive(this.#timeoutMs)
      if (end === undefined) continue
      this.#events.push({ kind: 'missing', step: end.step ?? step, why: end.why })
      return false
    }
    return true
  }

  /** Takes the next frame; the reason when there is none, and which one it is that will not come. */
  async #receive(timeoutMs: number): Promise<{ why: string; step?: Expected } | undefined> {
    const next = await this.#server.next(this.#runtime.now() + timeoutMs)
    switch (next.kind) {
      case 'message':
        this.#take(next.bytes)
        return undefined
      case 'failed':
        return this.#failed(next.id, next.why)
      case 'ended':
        return { why: await this.#server.endedWhy() }
      case 'too-late':
        return { why: `nothing came within ${timeoutMs} ms` }
    }
  }

  #failed(id: string | undefined, why: string): { why: string; step: Expected } | undefined {
    const step = id === undefined ? undefined : this.#expectations.drop(idText(id))
    if (step !== undefined) return { why, step }
    this.#events.push({ kind: 'failed', why })
    return undefined
  }

  /** A frame after the last step is not expected, unless it is optional. */
  async #listen(timeoutMs: number): Promise<void> {
    while ((await this.#receive(timeoutMs)) === undefined) continue
  }

  #take(bytes: Buffer): void {
    const event = this.#expectations.take(bytes, this.#values)
    if (event.kind === 'equal') for (const [name, value] of event.bound) this.#values.set(name, value)
    this.#events.push(event)
  }

  #send(step: Sent): void {
    const bytes = filled(step, this.#values)
    this.#server.send({ ...step, bytes })
    this.#events.push({ kind: 'sent', step, bytes })
  }

  /** The server ends by itself, while its input is still open. */
  async #exit(step: Exit): Promise<void> {
    await this.#listen(this.#timeoutMs)
    const { code } = (await this.#server.exit(EXIT_WAIT_MS)) ?? {}
    const problem =
      code === step.code
        ? undefined
        : code === undefined
          ? 'the server did not exit'
          : `the server exited with ${code}`
    this.#events.push({ kind: 'exit', step, problem })
  }
}

/** How long the exit may take that the end of the output announces. */
const EXIT_WAIT_MS = 2000

/** How long a server whose input has ended may still say something. */
const END_WAIT_MS = 5000
