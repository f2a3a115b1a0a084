// What the worst messages of one server cost the proxy, and the calls of another server beside them.

import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'

import { type Figure, NOT_BUILT, type Settings } from './figures.js'
import { cpuSeconds, peakResidentBytes } from './process-facts.js'
import { type Aim, type Row, atMost, emptyRow } from './report.js'
import { MIB } from './start.js'
import { spread } from './statistics.js'
import {
  INITIALIZE,
  INITIALIZED,
  SERVER_NAME,
  TOOLS,
  emptyHome,
  program,
  serverArgv,
  writeConfig,
} from './subject.js'
import { LIST, kinds } from './worst-server.js'

/** No message of these takes as long on any machine. */
const ANSWER_LIMIT_MS = 120_000
/** Between two calls of the other server. */
const PAUSE_MS = 10
/** Calls of the other server after a list was announced, which the proxy reads meanwhile. */
const CALLS_AFTER_LIST = 200
/** Of a long line only the beginning is kept. */
const KEPT_BYTES = 1000

const PEAK: { readonly figure: string; readonly aim: Aim } = {
  figure: 'the worst messages of a server: peak resident memory',
  aim: atMost(500, 'MB'),
}
const WAIT: { readonly figure: string; readonly aim: Aim } = {
  figure: 'the worst messages of a server: slowest call of another server',
  aim: atMost(1000, 'ms'),
}

/** A proxy in front of the server of the bench and the worst one, and its client. */
class WorstCase {
  readonly #child
  readonly #waiting = new Map<number, () => void>()
  #beginning = ''
  #lastId = 1

  constructor({ place }: Settings) {
    const [command, ...args] = serverArgv(place, TOOLS)
    const config = writeConfig(place, 'worst', {
      [SERVER_NAME]: { command, args },
      worst: { command: process.execPath, args: [program('worst-server.js')], timeout: ANSWER_LIMIT_MS },
    })
    this.#child = spawn(process.execPath, [place.cli, '--stdio', '--config', config], {
      stdio: ['pipe', 'pipe', 'ignore'],
      env: emptyHome(place),
    })
    // A proxy that has ended is told by its exit.
    this.#child.stdin.on('error', () => {})
    this.#child.stdout.on('data', (chunk: Buffer) => this.#take(chunk))
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  async open(): Promise<void> {
    this.#child.stdin.write(INITIALIZE)
    await this.#answer(1)
    this.#child.stdin.write(INITIALIZED)
    // A call of each waits for the start of its server.
    await this.call(`${SERVER_NAME}__echo`, { text: 'a' })
  }

  /** Gives how long the answer takes, in milliseconds. */
  async call(name: string, given: object): Promise<number> {
    const id = ++this.#lastId
    const params = { name, arguments: given }
    const began = performance.now()
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params })}\n`)
    await this.#answer(id)
    return performance.now() - began
  }

  async close(): Promise<void> {
    const exited = new Promise((resolve) => this.#child.once('exit', resolve))
    this.#child.stdin.end()
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), 10_000)
    await exited
    clearTimeout(timer)
  }

  #answer(id: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no answer to call ${id}`)), ANSWER_LIMIT_MS)
      const gone = (): void => reject(new Error('the proxy has ended'))
      this.#child.once('exit', gone)
      this.#waiting.set(id, () => {
        clearTimeout(timer)
        this.#child.off('exit', gone)
        resolve()
      })
    })
  }

  #take(chunk: Buffer): void {
    let from = 0
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
      this.#keep(chunk.subarray(from, at))
      this.#end()
      from = at + 1
    }
    this.#keep(chunk.subarray(from))
  }

  #keep(part: Buffer): void {
    if (this.#beginning.length < KEPT_BYTES)
      this.#beginning += part.toString('latin1', 0, KEPT_BYTES - this.#beginning.length)
  }

  #end(): void {
    const id = Number(/"id":(\d+)/.exec(this.#beginning)?.[1])
    this.#beginning = ''
    this.#waiting.get(id)?.()
    this.#waiting.delete(id)
  }
}

/** Calls the other server again and again until `isOver`; gives the slowest call in milliseconds. */
async function slowestBeside(worst: WorstCase, isOver: () => boolean): Promise<number> {
  let slowest = 0
  while (!isOver()) {
    slowest = Math.max(slowest, await worst.call(`${SERVER_NAME}__echo`, { text: 'a' }))
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
  }
  return slowest
}

async function measure(settings: Settings): Promise<{ readonly peakMb: number; readonly waitsMs: number[] }> {
  const worst = new WorstCase(settings)
  const waitsMs: number[] = []
  try {
    await worst.open()
    for (const kind of kinds) {
      let isOver = false
      let calls = 0
      const before = cpuSeconds(worst.pid) ?? 0
      const isDone = (): boolean => isOver && (kind !== LIST || ++calls > CALLS_AFTER_LIST)
      const beside = slowestBeside(worst, isDone)
      const ms = await worst.call('worst__answer', { kind }).finally(() => (isOver = true))
      const wait = await beside
      waitsMs.push(wait)
      const peak = (peakResidentBytes(worst.pid) ?? 0) / MIB
      const cpuMs = ((cpuSeconds(worst.pid) ?? 0) - before) * 1000
      process.stderr.write(
        `  ${kind}: ${ms.toFixed(0)} ms, of the proxy's processor time ${cpuMs.toFixed(0)} ms, another server's slowest call ${wait.toFixed(0)} ms, peak so far ${peak.toFixed(0)} MB\n`,
      )
    }
    const peak = peakResidentBytes(worst.pid)
    if (peak === undefined) throw new Error('the kernel does not say')
    return { peakMb: peak / MIB, waitsMs }
  } finally {
    await worst.close()
  }
}

/** One run: every message once. */
export const worst: Figure = async (settings) => {
  const figures = [PEAK, WAIT]
  const none = (why: string): Row[] => figures.map(({ figure, aim }) => emptyRow(figure, 'proxy', aim, why))
  if (!existsSync(settings.place.cli)) return none(NOT_BUILT)
  try {
    const { peakMb, waitsMs } = await measure(settings)
    const slowest = Math.max(...waitsMs)
    return [rowOf(PEAK, peakMb, 'MB'), rowOf(WAIT, slowest, 'ms')]
  } catch (error) {
    return none(error instanceof Error ? error.message : String(error))
  }
}

function rowOf(
  { figure, aim }: { readonly figure: string; readonly aim: Aim },
  value: number,
  unit: string,
): Row {
  const shown = { ...emptyRow(figure, 'proxy', aim, ''), own: `${value.toFixed(0)} ${unit}` }
  return { ...shown, spread: spread([value]), spreadUnit: unit }
}
