// What a small call costs the proxy where client and server are of different eras, over what it costs between old ones.
//
// Only the proxy's own processor time counts, so client and servers are simple and parse.

import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

import { type Figure, NOT_BUILT, type Settings, roundsOf } from './figures.js'
import { cpuSeconds } from './process-facts.js'
import { type Row, atMost, emptyRow } from './report.js'
import { median, roundOrder, spread } from './statistics.js'
import { type Place, program, proxySpec, writeConfig } from './subject.js'

const FIGURE = 'processor time of a small call between eras / between old ones'
const AIM = atMost(1.15)
const IN_FLIGHT = 64
const CALLS = 20_000
const QUICK_CALLS = 5_000

const PREFIX = 'io.modelcontextprotocol'
const CLAIM = `"_meta":{"${PREFIX}/protocolVersion":"2026-07-28","${PREFIX}/clientInfo":{"name":"bench","version":"1"},"${PREFIX}/clientCapabilities":{}}`
const INITIALIZE =
  '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}\n'
const DISCOVER = `{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{${CLAIM}}}\n`

/** Who speaks how. */
interface Cell {
  readonly name: string
  readonly isNewClient: boolean
  readonly isNewServer: boolean
}

const OLD: Cell = { name: 'old client, old server', isNewClient: false, isNewServer: false }
const CELLS: readonly Cell[] = [
  OLD,
  { name: 'new client, new server', isNewClient: true, isNewServer: true },
  { name: 'new client, old server', isNewClient: true, isNewServer: false },
  { name: 'old client, new server', isNewClient: false, isNewServer: true },
]

/** One proxy, and a client that keeps so many calls in flight. */
class Running {
  readonly cell: Cell
  readonly #child: ChildProcess
  readonly #pid: number
  #next = 1
  #left = 0
  #heard: (line: string) => void = () => {}

  constructor(cell: Cell, place: Place) {
    this.cell = cell
    const args = [program('era-server.js'), ...(cell.isNewServer ? ['--stateless'] : [])]
    const name = cell.name.replaceAll(/\W+/g, '-')
    const config = writeConfig(place, name, { era: { command: process.execPath, args } })
    const argv = [place.cli, '--stdio', '--silent', '--no-kept-lists', '--config', config]
    this.#child = spawn(process.execPath, argv, { stdio: ['pipe', 'pipe', 'inherit'] })
    if (this.#child.pid === undefined || this.#child.stdout === null)
      throw new Error('the proxy did not start')
    this.#pid = this.#child.pid
    createInterface({ input: this.#child.stdout }).on('line', (line) => this.#heard(line))
  }

  async open(): Promise<void> {
    const answered = new Promise<void>((resolve) => {
      this.#heard = () => resolve()
    })
    this.#child.stdin?.write(this.cell.isNewClient ? DISCOVER : INITIALIZE)
    await answered
    if (!this.cell.isNewClient)
      this.#child.stdin?.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    await this.calls(1)
  }

  /** Makes so many calls; resolves with the proxy's microseconds for each. */
  async calls(count: number): Promise<number> {
    const before = cpuSeconds(this.#pid)
    this.#left = count
    let open = 0
    await new Promise<void>((resolve, reject) => {
      this.#heard = (line) => {
        if (!line.includes('connection-state')) return reject(new Error(`the call failed: ${line}`))
        if (this.#left > 0) this.#send()
        else if (--open === 0) resolve()
      }
      for (; open < IN_FLIGHT && this.#left > 0; open++) this.#send()
    })
    const after = cpuSeconds(this.#pid)
    if (before === undefined || after === undefined) throw new Error('the system tells no processor time')
    return ((after - before) * 1e6) / count
  }

  #send(): void {
    this.#left--
    const meta = this.cell.isNewClient ? `,${CLAIM}` : ''
    const params = `{"name":"era__echo","arguments":{"text":"packages/core/src"}${meta}}`
    this.#child.stdin?.write(
      `{"jsonrpc":"2.0","id":${this.#next++},"method":"tools/call","params":${params}}\n`,
    )
  }

  stop(): void {
    this.#child.kill()
  }
}

async function measured(settings: Settings): Promise<ReadonlyMap<Cell, readonly number[]>> {
  const running = CELLS.map((cell) => new Running(cell, settings.place))
  const values = new Map<Cell, number[]>(CELLS.map((cell) => [cell, []]))
  const count = settings.quick ? QUICK_CALLS : CALLS
  try {
    for (const each of running) {
      await each.open()
      await each.calls(count)
    }
    for (let round = 0; round < roundsOf(settings, 12, 3); round++)
      for (const each of roundOrder(running, round)) values.get(each.cell)?.push(await each.calls(count))
  } finally {
    for (const each of running) each.stop()
  }
  return values
}

export const eras: Figure = async (settings) => {
  if (proxySpec(settings.place, true) === undefined) return [emptyRow(FIGURE, 'proxy', AIM, NOT_BUILT)]
  const values = await measured(settings)
  const old = values.get(OLD) ?? []
  const shown = (cell: Cell): string => `${median(values.get(cell) ?? []).toFixed(1)} µs`
  return CELLS.filter((cell) => cell !== OLD).map((cell): Row => {
    const ratios = (values.get(cell) ?? []).map((value, round) => value / (old[round] ?? Number.NaN))
    return {
      figure: FIGURE,
      way: cell.name,
      direct: '',
      relay: shown(OLD),
      own: shown(cell),
      spread: spread(ratios),
      spreadUnit: '',
      aim: AIM,
      aside: '',
      note: '',
    }
  })
}
