// A proxy, or the relay, between a client and a server of either era on stdio, and what such clients say.

import { type ChildProcess, spawn } from 'node:child_process'

import { INITIALIZED, type Place, closeInput, emptyHome, program, writeConfig } from './subject.js'
import type { Envelope } from './wire.js'

const PREFIX = 'io.modelcontextprotocol'
const STATELESS_REVISION = '2026-07-28'
const SESSION_REVISION = '2025-11-25'
const TOOL = 'era__echo'
export const BLOB_TOOL = 'era__blob'

const claims = `"${PREFIX}/protocolVersion":"${STATELESS_REVISION}","${PREFIX}/clientInfo":{"name":"bench","version":"1"},"${PREFIX}/clientCapabilities":{}`

const INITIALIZE_PARAMS = `{"protocolVersion":"${SESSION_REVISION}","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`
const DISCOVER_PARAMS = `{"_meta":{${claims}}}`

/** The era of each end. */
export interface Cell {
  readonly name: string
  readonly isNewClient: boolean
  readonly isNewServer: boolean
}

/** The first is what the others are compared with. */
export const CELLS: readonly Cell[] = [
  { name: 'old client, old server', isNewClient: false, isNewServer: false },
  { name: 'new client, new server', isNewClient: true, isNewServer: true },
  { name: 'new client, old server', isNewClient: true, isNewServer: false },
  { name: 'old client, new server', isNewClient: false, isNewServer: true },
]

function message(id: number, method: string, params: string): string {
  return `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`
}

/** The first request of its client. */
function opening({ isNewClient }: Cell): string {
  return isNewClient
    ? message(0, 'server/discover', DISCOVER_PARAMS)
    : message(0, 'initialize', INITIALIZE_PARAMS)
}

/** One small call of the tool. */
export function call(cell: Cell, id: number): string {
  return message(
    id,
    'tools/call',
    `{"name":"${TOOL}","arguments":{"text":"packages/core/src"}${metaOf(cell)}}`,
  )
}

/** A call for a result of so many bytes, which says where the id of that is to stand. */
export function blobCall(cell: Cell, id: number, tool: string, bytes: number, envelope: Envelope): string {
  const args = `{"bytes":${bytes},"envelope":"${envelope}"}`
  return message(id, 'tools/call', `{"name":"${tool}","arguments":${args}${metaOf(cell)}}`)
}

/** The `_meta` that a client without a session has in each request. */
function metaOf({ isNewClient }: Cell): string {
  return isNewClient ? `,"_meta":{${claims}}` : ''
}

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
