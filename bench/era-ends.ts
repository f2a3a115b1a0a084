// A proxy, or the relay, between a client and a server of either era on stdio.

import { type ChildProcess, spawn } from 'node:child_process'

import { type Cell, opening } from './era-messages.js'
import { INITIALIZED, type Place, closeInput, emptyHome, program, writeConfig } from './subject.js'

const LF = 10
const NOTIFICATION = '"method":"notifications/'
/** No notification that comes here is longer. */
const NOTIFICATION_BYTES_MAX = 300

function serverArgv({ isNewServer }: Cell): string[] {
  return [process.execPath, program('era-server.js'), ...(isNewServer ? ['--stateless'] : [])]
}

function proxyArgv(cell: Cell, place: Place): string[] {
  const [command, ...args] = serverArgv(cell)
  const config = writeConfig(place, cell.name.replaceAll(/\W+/g, '-'), { era: { command, args } })
  return [process.execPath, place.cli, '--stdio', '--silent', '--no-kept-lists', '--config', config]
}

/** Client and server on pipes, with the proxy between them or the relay; answers are counted by their line ends. */
export class LineEnds {
  readonly cell: Cell
  readonly pid: number
  readonly #child: ChildProcess
  #nextId = 1
  #bytes = 0
  #onAnswers: (count: number) => void = () => {}
  #onError: (error: Error) => void = () => {}

  private constructor(cell: Cell, argv: readonly string[], place: Place) {
    this.cell = cell
    const [command = '', ...args] = argv
    this.#child = spawn(command, args, { env: emptyHome(place), stdio: ['pipe', 'pipe', 'inherit'] })
    this.pid = this.#child.pid ?? 0
    this.#child.once('exit', () => this.#onError(new Error(`${cell.name} has ended`)))
    this.#child.stdout?.on('data', (chunk: Buffer) => this.#receive(chunk))
  }

  /** With the relay in place of the proxy where that is said. */
  static async open(cell: Cell, place: Place, isRelayed = false): Promise<LineEnds> {
    const relay = [process.execPath, program('relay.js'), ...serverArgv(cell)]
    const ends = new LineEnds(cell, isRelayed ? relay : proxyArgv(cell, place), place)
    await ends.calls(() => opening(cell), 1, 1)
    if (!cell.isNewClient) ends.#child.stdin?.write(INITIALIZED)
    return ends
  }

  /** Makes so many calls, so many at a time; gives how many bytes were answered. */
  calls(next: (id: number) => string, count: number, inflightMax: number): Promise<number> {
    return new Promise((resolve, reject) => {
      let [sent, answered] = [0, 0]
      this.#bytes = 0
      const send = (): void => {
        let lines = ''
        for (; sent < Math.min(count, answered + inflightMax); sent++) lines += `${next(this.#nextId++)}\n`
        this.#child.stdin?.write(lines)
      }
      this.#onError = reject
      this.#onAnswers = (more) => {
        answered += more
        if (answered >= count) resolve(this.#bytes)
        else send()
      }
      send()
    })
  }

  async close(): Promise<void> {
    this.#onError = () => {}
    await closeInput(this.#child)
  }

  #receive(chunk: Buffer): void {
    this.#bytes += chunk.length
    if (chunk.includes('"error":'))
      this.#onError(new Error(`a call failed: ${chunk.toString('utf8', 0, 300)}`))
    let count = 0
    for (let from = 0, end = chunk.indexOf(LF); end >= 0; from = end + 1, end = chunk.indexOf(LF, from))
      if (!chunk.subarray(Math.max(from, end - NOTIFICATION_BYTES_MAX), end).includes(NOTIFICATION)) count++
    if (count > 0) this.#onAnswers(count)
  }
}
