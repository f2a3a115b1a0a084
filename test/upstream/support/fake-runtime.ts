// A runtime with simulated time, whose children are scripts.

import { PassThrough } from 'node:stream'
import type {
  Child,
  ChildExit,
  Connect,
  KeptFiles,
  Runtime,
  SpawnSpec,
  Timer,
} from '../../../src/runtime/runtime.js'
import { at, parsed } from '../../integration/support/json.js'
import { FakeClock } from './fake-clock.js'

/** The result of a request as raw JSON. Undefined leaves it unanswered. */
export type Script = (method: string, params: unknown, child: FakeChild) => string | undefined

/** Answers the requests that every server must answer. */
export const polite: Script = (method) => {
  switch (method) {
    case 'initialize':
      return '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"f","version":"1"}}'
    case 'tools/list':
      return '{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}'
    case 'tools/call':
      return '{"content":[]}'
    default:
      return '{}'
  }
}

export const mute: Script = (method, ...said) =>
  method === 'tools/call' ? undefined : polite(method, ...said)

export const dead: Script = (_method, _params, child) => {
  child.end(1)
  return undefined
}

export class FakeChild implements Child {
  readonly pid: number
  readonly startedAt: number
  readonly command: string
  readonly stdin: PassThrough = new PassThrough()
  readonly stdout: PassThrough = new PassThrough()
  readonly stderr: PassThrough = new PassThrough()
  readonly exited: Promise<ChildExit>
  /** The methods of the messages that it received. */
  readonly heard: string[] = []
  /** Raw JSON of the id of the last request. */
  lastId = ''
  /** Ignores the end of its stdin, until a signal comes. */
  lingers = false
  signals = 0
  /** Called with each answer that it receives. */
  answered: (message: unknown) => void = () => {}
  readonly #script: Script
  #exit: (exit: ChildExit) => void = () => {}
  #isGone = false
  #unfinished = ''

  constructor(pid: number, startedAt: number, command: string, script: Script) {
    this.pid = pid
    this.command = command
    this.startedAt = startedAt
    this.#script = script
    this.exited = new Promise((resolve) => (this.#exit = resolve))
    this.stdin.on('data', (chunk: Buffer) => {
      const lines = `${this.#unfinished}${chunk.toString()}`.split('\n')
      this.#unfinished = lines.pop() ?? ''
      for (const line of lines) if (line !== '') this.#take(parsed(line))
    })
    this.stdin.on('end', () => this.lingers || this.end(0))
  }

  say(line: string): void {
    if (!this.#isGone) this.stdout.write(`${line}\n`)
  }

  end(code: number): void {
    if (this.#isGone) return
    this.#isGone = true
    this.stdout.end()
    this.stderr.end()
    this.stdin.destroy()
    this.#exit({ code, signal: undefined, spawnError: undefined })
  }

  signal(): boolean {
    this.signals++
    this.end(143)
    return true
  }

  #take(message: unknown): void {
    const [method, id] = [at(message, 'method'), at(message, 'id')]
    if (typeof method !== 'string') return this.answered(message)
    this.heard.push(method)
    if (id !== undefined) this.lastId = JSON.stringify(id)
    const result = this.#script(method, at(message, 'params'), this)
    if (result !== undefined && id !== undefined)
      this.say(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`)
  }
}

/** The children run one script, and delays have no jitter. */
export class FakeRuntime implements Runtime {
  readonly clock: FakeClock = new FakeClock()
  readonly children: FakeChild[] = []
  readonly env: Readonly<Record<string, string | undefined>> = {}
  script: Script = polite
  files?: (folder: string) => KeptFiles
  connect?: Connect

  now(): number {
    return this.clock.now()
  }

  wallNow(): number {
    return this.clock.now()
  }

  setTimer(delayMs: number, fire: () => void): Timer {
    if (delayMs > 0) return this.clock.setTimer(delayMs, fire)
    // The next turn of the event loop needs no time.
    const turn = setImmediate(fire)
    return { cancel: () => clearImmediate(turn) }
  }

  random(): number {
    return 0.5
  }

  spawn({ command }: SpawnSpec): Child {
    const pid = 1000 + this.children.length
    const child = new FakeChild(pid, this.now(), command, (...said) => this.script(...said))
    this.children.push(child)
    return child
  }

  memoryOf(): Promise<undefined> {
    return Promise.resolve(undefined)
  }

  /** Lets time pass in steps, with all consequences of each step. */
  async pass(ms: number, stepMs = 1000): Promise<void> {
    await settled()
    for (let left = ms; left > 0; left -= stepMs) {
      const step = Math.min(stepMs, left)
      const isDue = this.clock.isDue(step)
      this.clock.advance(step)
      // A step without timers has no consequences.
      if (isDue) await settled()
    }
  }

  /** Lets time pass until `coming` settles. */
  async until<T>(coming: Promise<T>): Promise<T> {
    const state = { isOver: false }
    const end = (): void => void (state.isOver = true)
    coming.then(end, end)
    await settled()
    for (let passedMs = 0; passedMs < 60_000 && !state.isOver; passedMs += 50) await this.pass(50, 50)
    return coming
  }
}

/** Runs everything that needs no simulated time, including reads of real files. */
export async function settled(): Promise<void> {
  await turns()
  while (readsFiles()) {
    await new Promise((resolve) => setTimeout(resolve, 1))
    await turns()
  }
}

async function turns(): Promise<void> {
  for (let i = 0; i < 30; i++) await new Promise((resolve) => setImmediate(resolve))
}

const readsFiles = (): boolean => process.getActiveResourcesInfo().some((name) => name.startsWith('FSReq'))
