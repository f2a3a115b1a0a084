// What one client makes of the calls of another one, over HTTP, by asking for more than there is.
//
// Each flood has a proxy of its own, and a program of its own makes it. The small calls of the other client are made one
// at a time before it begins, while it lasts, and resident memory is taken then and when it is over. How long calls
// take beside a client that makes ordinary ones, as many at a time, is the first row: what is more than that is the flood's.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

import { type Cell, STATELESS_REVISION, TOOL, RESULT_MARK, call } from './era-messages.js'
import { type Figure, NOT_BUILT, type Settings, roundsOf } from './figures.js'
import { FLOOD_KINDS, type FloodKind, isFloodKind } from './flood-kinds.js'
import { Connection, type HttpAnswer } from './http-client.js'
import { HttpProcess, freePort } from './http-subject.js'
import { residentBytes } from './process-facts.js'
import { type Row, atMost, emptyRow } from './report.js'
import { median, percentile, roundOrder, spread } from './statistics.js'
import { type Place, exited, program, proxySpec, writeConfig } from './subject.js'

const FIGURE = 'p99 of small calls over HTTP beside a flood / beside as many ordinary calls'
const ORDINARY_FIGURE = 'p99 of small calls over HTTP beside ordinary calls / alone'
const AIM = atMost(2)
const MIB = 1024 * 1024
const EXIT_LIMIT_MS = 5_000
const BEGIN_LIMIT_MS = 60_000
/** What is closed is seen by then. */
const REST_MS = 1_000

const CLIENT: Cell = { name: 'good', isNewClient: true, isNewServer: false, extra: 'nothing' }

/** A client that does what clients do, on one connection. */
class GoodClient {
  readonly #connection: Connection
  readonly #head: string
  #nextId = 1

  private constructor(connection: Connection, port: number) {
    this.#connection = connection
    this.#head = [
      `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:${port}`,
      'Accept: application/json, text/event-stream\r\nContent-Type: application/json',
      `MCP-Protocol-Version: ${STATELESS_REVISION}\r\nMcp-Method: tools/call\r\nMcp-Name: ${TOOL}`,
    ].join('\r\n')
  }

  static async open(port: number): Promise<GoodClient> {
    return new GoodClient(await Connection.open(port), port)
  }

  /** Milliseconds of each call, one after the other. */
  async calls(count: number): Promise<number[]> {
    const times: number[] = []
    while (times.length < count) {
      const began = performance.now()
      await this.#call()
      times.push(performance.now() - began)
    }
    return times
  }

  close(): void {
    this.#connection.close()
  }

  async #call(): Promise<void> {
    const body = call(CLIENT, this.#nextId++)
    const request = `${this.#head}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
    const answer = await new Promise<HttpAnswer>((resolve, reject) => {
      this.#connection.send(request, true, resolve, reject)
    })
    if (!answer.body.includes(RESULT_MARK))
      throw new Error(`a call failed: ${answer.status} ${answer.body.toString('utf8', 0, 300)}`)
  }
}

/** A program beside the proxy, which ends with its stdin. */
async function begun(
  name: string,
  ...args: readonly string[]
): Promise<{ child: ChildProcess; said: string }> {
  const child = spawn(process.execPath, [program(name), ...args], { stdio: ['pipe', 'pipe', 'inherit'] })
  if (child.stdout === null) throw new Error('a program without a pipe')
  const [said] = await once(child.stdout, 'data', { signal: AbortSignal.timeout(BEGIN_LIMIT_MS) })
  return { child, said: String(said).trim() }
}

async function end(child: ChildProcess): Promise<void> {
  child.stdin?.end()
  if (!(await exited(child, EXIT_LIMIT_MS))) child.kill('SIGKILL')
}

/** One flood of one proxy; times in milliseconds, memory in bytes. */
interface Flooded {
  readonly before: number
  readonly during: number
  readonly memory: readonly number[]
}

function p99(times: readonly number[]): number {
  return percentile(times, 0.99)
}

async function flooded(kind: FloodKind, proxy: HttpProcess, settings: Settings): Promise<Flooded> {
  await proxy.healthy()
  const [warmUp, count] = settings.quick ? [300, 300] : [4_000, 2_000]
  const good = await GoodClient.open(proxy.port)
  try {
    await good.calls(warmUp)
    const memory = [residentBytes(proxy.pid) ?? Number.NaN]
    const before = p99(await good.calls(count))
    const { child } = await begun('flooder.js', kind, String(proxy.port))
    let during = Number.NaN
    try {
      during = p99(await good.calls(count))
      memory.push(residentBytes(proxy.pid) ?? Number.NaN)
    } finally {
      await end(child)
    }
    await new Promise((resolve) => setTimeout(resolve, REST_MS))
    await good.calls(count)
    memory.push(residentBytes(proxy.pid) ?? Number.NaN)
    return { before, during, memory }
  } finally {
    good.close()
  }
}

async function measured(kind: FloodKind, settings: Settings, config: string): Promise<Flooded> {
  process.stderr.write(`  ${FLOOD_KINDS[kind]}\n`)
  const { place } = settings
  const args = ['--http', '--silent', '--no-kept-lists', '--config', config, '--port']
  const argv = (port: number): string[] => [process.execPath, place.cli, ...args, String(port)]
  const proxy = HttpProcess.start(argv, place, await freePort())
  try {
    return await flooded(kind, proxy, settings)
  } catch (error) {
    throw new Error(proxy.explain(error), { cause: error })
  } finally {
    await proxy.close()
  }
}

function rowOf(kind: FloodKind, all: readonly Flooded[], ordinary: readonly Flooded[]): Row {
  const isOrdinary = kind === 'ordinary'
  const base = isOrdinary ? all.map(({ before }) => before) : ordinary.map(({ during }) => during)
  const memory = [0, 1, 2].map((at) =>
    Math.round(median(all.map((each) => each.memory[at] ?? Number.NaN)) / MIB),
  )
  return {
    figure: isOrdinary ? ORDINARY_FIGURE : FIGURE,
    way: FLOOD_KINDS[kind],
    direct: '',
    relay: `${median(base).toFixed(2)} ms`,
    own: `${median(all.map(({ during }) => during)).toFixed(2)} ms`,
    spread: spread(all.map(({ during }, round) => during / (base[round] ?? Number.NaN))),
    spreadUnit: '',
    aim: isOrdinary ? undefined : AIM,
    aside: ` resident before, during, after: ${memory.join(', ')} MB`,
    note: '',
  }
}

async function allRows(settings: Settings, asking: string): Promise<Row[]> {
  const config = configOf(settings.place, asking)
  const kinds = Object.keys(FLOOD_KINDS).filter((kind) => isFloodKind(kind))
  const found = new Map<FloodKind, Flooded[]>(kinds.map((kind) => [kind, []]))
  for (let round = 0; round < roundsOf(settings, 3, 1); round += 1)
    for (const kind of roundOrder(kinds, round)) found.get(kind)?.push(await measured(kind, settings, config))
  return [...found].map(([kind, all]) => rowOf(kind, all, found.get('ordinary') ?? []))
}

function configOf(place: Place, asking: string): string {
  return writeConfig(place, 'floods', {
    era: { command: process.execPath, args: [program('era-server.js')] },
    asking: { type: 'http', url: `http://127.0.0.1:${asking}/mcp` },
  })
}

export const floods: Figure = async (settings) => {
  if (proxySpec(settings.place, true) === undefined) return [emptyRow(FIGURE, 'proxy', AIM, NOT_BUILT)]
  const { child, said } = await begun('asking-server.js')
  try {
    return await allRows(settings, said)
  } finally {
    await end(child)
  }
}
