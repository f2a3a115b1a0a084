// The proxy between a client and a server of either era, on stdio.
//
// Calls are made in volleys: so many at once, and the next so many when all of them are answered. How many calls one read
// brings the proxy is then the same in every cell, and does not depend on what else the machine does.

import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

import { type Cell, RESULT_MARK, call, opening } from './era-messages.js'
import { INITIALIZED, type Place, closeInput, emptyHome, program, writeConfig } from './subject.js'

export function configName(cell: Cell, way: string): string {
  return `${way} ${cell.name}`.replaceAll(/\W+/g, '-')
}

export function serverArgs({ isNewServer }: Cell): string[] {
  return [program('era-server.js'), ...(isNewServer ? ['--stateless'] : [])]
}

export const CALLS_IN_VOLLEY = 64

/** One proxy with its client and server on pipes. */
export class LineEnds {
  readonly cell: Cell
  readonly pid: number
  readonly #child: ChildProcess
  #nextId = 1
  #left = 0
  #answered: () => void = () => {}
  #failed: (error: Error) => void = () => {}

  private constructor(cell: Cell, place: Place) {
    this.cell = cell
    const server = { command: process.execPath, args: serverArgs(cell) }
    const config = writeConfig(place, configName(cell, 'era-stdio'), { era: server })
    const argv = [place.cli, '--stdio', '--silent', '--no-kept-lists', '--config', config]
    const env = emptyHome(place)
    this.#child = spawn(process.execPath, argv, { env, stdio: ['pipe', 'pipe', 'inherit'] })
    if (this.#child.pid === undefined || this.#child.stdout === null)
      throw new Error('the proxy did not start')
    this.pid = this.#child.pid
    createInterface({ input: this.#child.stdout }).on('line', (line) => this.#heard(line))
    this.#child.once('exit', () => this.#failed(new Error('the proxy has ended')))
  }

  static async open(cell: Cell, place: Place): Promise<LineEnds> {
    const ends = new LineEnds(cell, place)
    await ends.#handshake()
    return ends
  }

  async #handshake(): Promise<void> {
    await this.#answers([opening(this.cell)], 1)
    if (!this.cell.isNewClient) this.#child.stdin?.write(INITIALIZED)
    await this.volleys(1)
  }

  /** Makes so many volleys of calls, one after the other. */
  async volleys(count: number): Promise<void> {
    for (let n = 0; n < count; n += 1) {
      const calls = Array.from({ length: CALLS_IN_VOLLEY }, () => call(this.cell, this.#nextId++))
      await this.#answers(calls, calls.length)
    }
  }

  async close(): Promise<void> {
    this.#failed = () => {}
    await closeInput(this.#child)
  }

  #answers(lines: readonly string[], wanted: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#left = wanted
      this.#answered = resolve
      this.#failed = reject
      this.#child.stdin?.write(`${lines.join('\n')}\n`)
    })
  }

  #heard(line: string): void {
    if (line.includes('"method":')) return
    if (!line.includes('"result":') || (line.includes('"content":') && !line.includes(RESULT_MARK)))
      return this.#failed(new Error(`a call failed: ${line.slice(0, 300)}`))
    if (--this.#left === 0) this.#answered()
  }
}
