// The proxy between a client and a server of either era, on stdio and over HTTP.
//
// Calls are made in volleys: so many at once, and the next so many when all of them are answered. How many calls one read
// brings the proxy is then the same in every cell, and does not depend on what else the machine does.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

import {
  type Cell,
  DISCOVER_PARAMS,
  INITIALIZE_PARAMS,
  RESULT_MARK,
  SESSION_REVISION,
  STATELESS_REVISION,
  TOOL,
  call,
  message,
} from './era-messages.js'
import { Connection, type HttpAnswer, field } from './http-client.js'
import { HttpProcess, freePort } from './http-subject.js'
import { type Place, emptyHome, exited, program, writeConfig } from './subject.js'

const INITIALIZED = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
const ANSWER_LIMIT_MS = 60_000
const EXIT_LIMIT_MS = 3_000

/** One proxy with its client and server. */
export interface Ends {
  readonly cell: Cell
  readonly pid: number
  /** Makes so many volleys of calls, one after the other. */
  volleys(count: number): Promise<void>
  close(): Promise<void>
}

/** How to make them for a cell. */
export type OpenEnds = (cell: Cell, place: Place) => Promise<Ends>

export function configName(cell: Cell, way: string): string {
  return `${way} ${cell.name} ${cell.extra}`.replaceAll(/\W+/g, '-')
}

export function serverArgs({ isNewServer }: Cell): string[] {
  return [program('era-server.js'), ...(isNewServer ? ['--stateless'] : [])]
}

const LINES_IN_VOLLEY = 64

/** Client and server on pipes. */
class LineEnds implements Ends {
  readonly cell: Cell
  readonly pid: number
  readonly #child: ChildProcess
  #nextId = 1
  #left = 0
  #answered: () => void = () => {}
  #failed: (error: Error) => void = () => {}

  constructor(cell: Cell, place: Place) {
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

  async open(): Promise<void> {
    const { isNewClient } = this.cell
    const first = isNewClient ? message(0, 'server/discover', DISCOVER_PARAMS) : initialize(0)
    await this.#answers([first], 1)
    if (!isNewClient) this.#child.stdin?.write(`${INITIALIZED}\n`)
    await this.volleys(1)
  }

  async volleys(count: number): Promise<void> {
    for (let n = 0; n < count; n += 1) {
      const calls = Array.from({ length: LINES_IN_VOLLEY }, () => call(this.cell, this.#nextId++))
      await this.#answers(calls, calls.length)
    }
  }

  async close(): Promise<void> {
    this.#failed = () => {}
    this.#child.stdin?.end()
    if (await exited(this.#child, EXIT_LIMIT_MS)) return
    this.#child.kill('SIGKILL')
    await once(this.#child, 'exit')
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

export const openLines: OpenEnds = async (cell, place) => {
  const ends = new LineEnds(cell, place)
  await ends.open()
  return ends
}

const CONNECTIONS = 16

function initialize(id: number): string {
  return message(id, 'initialize', INITIALIZE_PARAMS)
}

/** What a server on HTTP, and the bench, have of each other. */
export class RemoteServer {
  readonly url: string
  readonly #child: ChildProcess

  private constructor(url: string, child: ChildProcess) {
    this.url = url
    this.#child = child
  }

  static async start(cell: Cell): Promise<RemoteServer> {
    const child = spawn(process.execPath, [...serverArgs(cell), '--http'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    if (child.stdout === null) throw new Error('a server without a pipe')
    const [port] = await once(child.stdout, 'data', { signal: AbortSignal.timeout(ANSWER_LIMIT_MS) })
    return new RemoteServer(`http://127.0.0.1:${String(port).trim()}/mcp`, child)
  }

  async close(): Promise<void> {
    this.#child.stdin?.end()
    await exited(this.#child, EXIT_LIMIT_MS)
  }
}

/** Client and server over HTTP: each connection has one call out, and a session of its own where the client is old. */
class HttpEnds implements Ends {
  readonly cell: Cell
  readonly #server: RemoteServer
  readonly #proxy: HttpProcess
  readonly #connections: Connection[] = []
  #nextId = 1

  constructor(cell: Cell, server: RemoteServer, proxy: HttpProcess) {
    this.cell = cell
    this.#server = server
    this.#proxy = proxy
  }

  get pid(): number {
    return this.#proxy.pid
  }

  async open(): Promise<void> {
    await this.#proxy.healthy()
    while (this.#connections.length < CONNECTIONS) {
      const connection = await Connection.open(this.#proxy.port)
      this.#connections.push(connection)
      if (!this.cell.isNewClient) await this.#beginSession(connection)
    }
  }

  async volleys(count: number): Promise<void> {
    await this.#openAgain()
    for (let n = 0; n < count; n += 1)
      await Promise.all(this.#connections.map((connection) => this.#call(connection)))
  }

  async close(): Promise<void> {
    for (const connection of this.#connections) connection.close()
    await this.#proxy.close()
    await this.#server.close()
  }

  async #beginSession(connection: Connection): Promise<void> {
    const { head } = await this.#post(connection, initialize(this.#nextId++))
    connection.session = field(head, 'mcp-session-id') ?? ''
    await this.#post(connection, INITIALIZED)
  }

  /** The front closes connections that rest while others have their turn. */
  async #openAgain(): Promise<void> {
    for (const [at, { closed, session }] of this.#connections.entries()) {
      if (!closed) continue
      const connection = await Connection.open(this.#proxy.port)
      connection.session = session
      this.#connections[at] = connection
    }
  }

  async #call(connection: Connection): Promise<void> {
    const { body } = await this.#post(connection, call(this.cell, this.#nextId++))
    if (!body.includes(RESULT_MARK)) throw new Error(`a call failed: ${body.toString('utf8', 0, 300)}`)
  }

  async #post(connection: Connection, body: string): Promise<HttpAnswer> {
    const head = postHead(this.cell, this.#proxy.port, connection, TOOL)
    const request = `${head}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
    const answer = await new Promise<HttpAnswer>((resolve, reject) => {
      connection.send(request, true, resolve, reject)
    })
    if (answer.status < 300) return answer
    throw new Error(`${answer.status}: ${answer.body.toString('utf8', 0, 300)}`)
  }
}

/** The head of a call of `tool`, up to its length. */
export function postHead(
  { isNewClient }: Cell,
  port: number,
  { session }: Pick<Connection, 'session'>,
  tool: string,
): string {
  const host = `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n`
  const types = 'Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n'
  if (isNewClient)
    return `${host}${types}MCP-Protocol-Version: ${STATELESS_REVISION}\r\nMcp-Method: tools/call\r\nMcp-Name: ${tool}\r\n`
  const own = `Mcp-Session-Id: ${session}\r\nMCP-Protocol-Version: ${SESSION_REVISION}\r\n`
  return `${host}${types}${session === '' ? '' : own}`
}

export const openHttp: OpenEnds = async (cell, place) => {
  const server = await RemoteServer.start(cell)
  const config = writeConfig(place, configName(cell, 'era-http'), { era: { type: 'http', url: server.url } })
  const args = ['--http', '--silent', '--no-kept-lists', '--config', config, '--port']
  const argv = (port: number): string[] => [process.execPath, place.cli, ...args, String(port)]
  const proxy = HttpProcess.start(argv, place, await freePort())
  const ends = new HttpEnds(cell, server, proxy)
  try {
    await ends.open()
    return ends
  } catch (error) {
    await ends.close()
    throw new Error(proxy.explain(error), { cause: error })
  }
}
