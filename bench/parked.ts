// How much memory the proxy has for calls that wait for clients without a session to come back.
//
// The calls are of four kinds of clients, as many as one connection may have, at a server over HTTP, which needs no process
// for each. What is measured includes the stream on which the server waits.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

import { type Figure, NOT_BUILT, type Settings, roundsOf } from './figures.js'
import { type Row, atMost, emptyRow } from './report.js'
import { spread } from './statistics.js'
import { type Place, emptyHome, program, proxySpec, writeConfig } from './subject.js'

const FIGURE = 'memory of 256 calls that wait for clients without a session'
const AIM = atMost(4, 'MB')
const MIB = 1024 * 1024
const COUNTED = 256
const OF_ONE_KIND = 32
const ANSWER_LIMIT_MS = 60_000

const PREFIX = 'io.modelcontextprotocol'
const kinds = [
  { elicitation: {} },
  { elicitation: { form: {} } },
  { elicitation: { form: {}, url: {} } },
  { elicitation: {}, roots: {} },
]

/** One proxy, and a client that makes calls at once. */
class Waiting {
  readonly #server: ChildProcess
  readonly #proxy: ChildProcess
  readonly #heard = new Map<number, (line: string) => void>()
  #next = 1

  private constructor(server: ChildProcess, proxy: ChildProcess) {
    this.#server = server
    this.#proxy = proxy
    if (proxy.stdout === null) throw new Error('a proxy without a pipe')
    createInterface({ input: proxy.stdout }).on('line', (line) => {
      const id = Number(/"id":(\d+)/.exec(line)?.[1])
      this.#heard.get(id)?.(line)
    })
  }

  static async start(place: Place): Promise<Waiting> {
    const server = spawn(process.execPath, [program('asking-server.js')], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    if (server.stdout === null) throw new Error('a server without a pipe')
    const [port] = await once(server.stdout, 'data')
    const url = `http://127.0.0.1:${String(port).trim()}/mcp`
    const config = writeConfig(place, 'parked', { asking: { type: 'http', url } })
    const argv = ['--expose-gc', '--import', program('memory-probe.js'), place.cli]
    const options = ['--stdio', '--silent', '--no-kept-lists', '--config', config]
    const proxy = spawn(process.execPath, [...argv, ...options], {
      env: emptyHome(place),
      stdio: ['pipe', 'pipe', 'inherit', 'ipc'],
    })
    return new Waiting(server, proxy)
  }

  /** One call of each kind of client at a time; each answer must have this in it. */
  async calls(tool: string, count: number, want: string): Promise<void> {
    for (let n = 0; n < count; n++) {
      const answers = await Promise.all(kinds.map((can) => this.#call(tool, can)))
      const wrong = answers.find((line) => !line.includes(want))
      if (wrong !== undefined) throw new Error(`the call failed: ${wrong}`)
    }
  }

  /** Bytes of the heap, and those outside that belong to it. */
  async memory(): Promise<number> {
    const told = once(this.#proxy, 'message', { signal: AbortSignal.timeout(ANSWER_LIMIT_MS) })
    this.#proxy.send('tell')
    const [bytes] = await told
    return Number(bytes)
  }

  stop(): void {
    this.#proxy.kill()
    this.#server.kill()
  }

  #call(tool: string, can: object): Promise<string> {
    const id = this.#next++
    const meta = { [`${PREFIX}/protocolVersion`]: '2026-07-28', [`${PREFIX}/clientCapabilities`]: can }
    const params = { name: `asking__${tool}`, arguments: { text: 'packages/core/src' }, _meta: meta }
    const message = { jsonrpc: '2.0', id, method: 'tools/call', params }
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`${tool} was not answered`)), ANSWER_LIMIT_MS)
      this.#heard.set(id, (line) => {
        clearTimeout(late)
        this.#heard.delete(id)
        resolve(line)
      })
      this.#proxy.stdin?.write(`${JSON.stringify(message)}\n`)
    })
  }
}

/** In MB (2^20): what waits makes of it, set against the same proxy before. */
async function grown(place: Place): Promise<number> {
  const waiting = await Waiting.start(place)
  try {
    await waiting.calls('quiet', OF_ONE_KIND, '"content":[]')
    const before = await waiting.memory()
    await waiting.calls('ask', OF_ONE_KIND, '"input_required"')
    const after = await waiting.memory()
    return ((after - before) / (kinds.length * OF_ONE_KIND) / MIB) * COUNTED
  } finally {
    waiting.stop()
  }
}

export const parked: Figure = async (settings: Settings) => {
  const { place } = settings
  if (proxySpec(place, true) === undefined) return [emptyRow(FIGURE, 'proxy', AIM, NOT_BUILT)]
  const values: number[] = []
  for (let round = 0; round < roundsOf(settings, 3, 1); round++) values.push(await grown(place))
  const row: Row = {
    figure: FIGURE,
    way: 'proxy',
    direct: '',
    relay: '',
    own: '',
    spread: spread(values),
    spreadUnit: 'MB',
    aim: AIM,
    aside: '',
    note: '',
  }
  return [row]
}
