// The load generator over HTTP: raw sockets, prepared requests, nothing parsed but lengths.
//
// node:http as a client would cost more than the forwarder it is to measure. Each
// connection has one request out at a time, whose id is written over nine digits
// of prepared bytes. Of an answer it reads the status and the length, and checks
// the id at its fixed place, first or last, the length, which is known, and the last byte.
// An answer in chunks, as one with notifications before it, is put together and checked too.

import { type Socket, connect } from 'node:net'

import { type Caller, type Load, RUN_LIMIT_MS } from './client.js'
import {
  ANSWER_HEAD_BYTES,
  type AroundId,
  ID_DIGITS,
  LAST_MARK,
  LINE_HEAD,
  SMALL_IDS_FROM,
  readId,
  writeId,
} from './wire.js'

const HEAD_END = Buffer.from('\r\n\r\n')
const HEAD_BYTES_MAX = 64 * 1024
const BODY_BYTES_MAX = 64 * 1024 * 1024
const CONNECT_LIMIT_MS = 5_000
const CLOSING_BRACE = 125
/** An id that stands last, and the brace behind it. */
const TAIL_BYTES: number = ID_DIGITS + 1
const CHUNKS_END = '0\r\n\r\n'
const REVISION = '2025-06-18'

const PARAMS = `{"protocolVersion":"${REVISION}","capabilities":{},"clientInfo":{"name":"bench","version":"1.0.0"}}`

interface HttpAnswer {
  readonly status: number
  /** The status line and the header fields. */
  readonly head: string
  readonly bodyBytes: number
  /** All of it where it was asked for or came in chunks, else enough of its start to see the id. */
  readonly body: Buffer
  /** The last bytes of the body. */
  readonly tail: Buffer
}

/** The value of a header field. */
function field(head: string, name: string): string | undefined {
  return new RegExp(`\\r\\n${name}: *([^\\r]*)`, 'i').exec(head)?.[1]
}

/** Puts one answer together. */
class AnswerReader {
  readonly #keep: boolean
  #pending: Buffer = Buffer.alloc(0)
  #head: string | undefined
  /** Undefined when the body comes in chunks. */
  #length: number | undefined
  #kept: Buffer[] = []
  #keptBytes = 0
  #bytes = 0
  #lastBytes = ''
  #tail: Buffer = Buffer.alloc(0)

  constructor(keep: boolean) {
    this.#keep = keep
  }

  push(chunk: Buffer): HttpAnswer | undefined {
    if (this.#head !== undefined) return this.#body(chunk)
    const bytes = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk])
    const end = bytes.indexOf(HEAD_END)
    if (end < 0) {
      if (bytes.length > HEAD_BYTES_MAX) throw new Error('a head without end')
      this.#pending = bytes
      return undefined
    }
    const head = bytes.toString('latin1', 0, end)
    this.#head = head
    this.#length = lengthIn(head)
    return this.#body(bytes.subarray(end + HEAD_END.length))
  }

  #body(part: Buffer): HttpAnswer | undefined {
    this.#bytes += part.length
    if (this.#bytes > BODY_BYTES_MAX) throw new Error('a body without end')
    const length = this.#length
    if (this.#keep || length === undefined || this.#keptBytes < ANSWER_HEAD_BYTES) {
      this.#kept.push(part)
      this.#keptBytes += part.length
    }
    if (length === undefined) return this.#chunks(part)
    this.#tail = tailOf(part.length < TAIL_BYTES ? Buffer.concat([this.#tail, part]) : part)
    if (this.#bytes > length) throw new Error('more bytes than the length said')
    return this.#bytes < length ? undefined : this.#made(this.#gathered(), length, this.#tail)
  }

  /** The end of the last chunk cannot be inside of a message: JSON has no bare CR, and events end with LF. */
  #chunks(part: Buffer): HttpAnswer | undefined {
    const last = part.toString('latin1', Math.max(0, part.length - CHUNKS_END.length))
    this.#lastBytes = (this.#lastBytes + last).slice(-CHUNKS_END.length)
    if (this.#lastBytes !== CHUNKS_END) return undefined
    const whole = unchunked(this.#gathered())
    const isEvents = /\r\ncontent-type: *text\/event-stream/i.test(this.#head ?? '')
    const body = isEvents ? lastMessage(whole) : whole
    return this.#made(body, body.length, tailOf(body))
  }

  #gathered(): Buffer {
    const [first = Buffer.alloc(0)] = this.#kept
    return this.#kept.length < 2 ? first : Buffer.concat(this.#kept)
  }

  #made(body: Buffer, bodyBytes: number, tail: Buffer): HttpAnswer {
    const head = this.#head ?? ''
    return { status: Number(head.slice(9, 12)), head, body, bodyBytes, tail }
  }
}

function tailOf(bytes: Buffer): Buffer {
  return bytes.subarray(Math.max(0, bytes.length - TAIL_BYTES))
}

function lengthIn(head: string): number | undefined {
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
  if (length !== undefined) return Number(length)
  if (/\r\ntransfer-encoding: *chunked/i.test(head)) return undefined
  throw new Error(`an answer of unknown length: ${head.slice(0, 200)}`)
}

function unchunked(bytes: Buffer): Buffer {
  const pieces: Buffer[] = []
  let at = 0
  for (;;) {
    const end = bytes.indexOf('\r\n', at)
    const size = Number.parseInt(bytes.toString('latin1', at, end), 16)
    if (end < 0 || !(size >= 0)) throw new Error('a chunk without a size')
    if (size === 0) return Buffer.concat(pieces)
    pieces.push(bytes.subarray(end + 2, end + 2 + size))
    at = end + 2 + size + 2
  }
}

/** The data of the last event: the answer ends the stream. */
function lastMessage(events: Buffer): Buffer {
  const from = events.lastIndexOf('data: {"')
  if (from < 0) throw new Error('an event stream without an answer')
  const at = from + 'data: '.length
  const end = events.indexOf('\n', at)
  return events.subarray(at, end < 0 ? events.length : end)
}

/** One socket with at most one request out. */
class Connection {
  readonly #socket: Socket
  #reader: AnswerReader | undefined
  #answered: (answer: HttpAnswer) => void = () => {}
  #failed: (error: Error) => void = () => {}
  session = ''
  closed = false

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', (chunk: Buffer) => this.#receive(chunk))
    socket.on('error', (error) => this.#end(error))
    socket.on('close', () => this.#end(new Error('closed the connection')))
  }

  static async open(port: number): Promise<Connection> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    await new Promise<void>((resolve, reject) => {
      socket.setTimeout(CONNECT_LIMIT_MS, () => socket.destroy(new Error('no connection in time')))
      socket.once('connect', resolve)
      socket.once('error', reject)
    })
    socket.setTimeout(0)
    return new Connection(socket)
  }

  /** Hands the answer over in the turn that brought its last byte. */
  send(
    bytes: Buffer | string,
    keep: boolean,
    answered: (answer: HttpAnswer) => void,
    failed: (error: Error) => void,
  ): void {
    if (this.closed) {
      failed(new Error('closed the connection'))
      return
    }
    this.#reader = new AnswerReader(keep)
    this.#answered = answered
    this.#failed = failed
    this.#socket.write(bytes)
  }

  close(): void {
    this.closed = true
    this.#socket.destroy()
  }

  #receive(chunk: Buffer): void {
    try {
      if (this.#reader === undefined) throw new Error('an answer that nothing was asked for')
      const answer = this.#reader.push(chunk)
      if (answer === undefined) return
      this.#reader = undefined
      this.#answered(answer)
    } catch (error) {
      this.#end(error instanceof Error ? error : new Error(String(error)))
    }
  }

  #end(error: Error): void {
    this.close()
    this.#failed(error)
  }
}

function preparedCall(head: string, { before, after }: AroundId): (id: number) => Buffer {
  // Over HTTP a message is the line without its end.
  const rest = after.subarray(0, after.length - 1)
  const length = before.length + ID_DIGITS + rest.length
  const start = Buffer.concat([Buffer.from(`${head}Content-Length: ${length}\r\n\r\n`), before])
  const bytes = Buffer.concat([start, Buffer.from('0'.repeat(ID_DIGITS)), rest])
  return (id) => {
    writeId(bytes, start.length, id)
    return bytes
  }
}

/** The requests of one connection, which takes them in turn; each is numbered anew for every call. */
function preparedCalls(head: string, forms: readonly AroundId[]): (id: number) => Buffer {
  const calls = forms.map((form) => preparedCall(head, form))
  return (id) => {
    const call = calls[id % calls.length]
    if (call === undefined) throw new Error('no calls')
    return call(id)
  }
}

/** As many MCP clients as there are connections, each with its own session where the server gives one. */
export class HttpClient implements Caller {
  readonly #port: number
  readonly #connections: Connection[] = []
  #nextId = SMALL_IDS_FROM
  #ended: Error | undefined

  constructor(port: number) {
    this.#port = port
  }

  end(cause: Error): void {
    this.#ended ??= cause
    for (const connection of this.#connections) connection.close()
  }

  takeIds(count: number): number {
    const first = this.#nextId
    this.#nextId += count
    return first
  }

  /** On the first connection; a message is the line without its end. */
  async ask(line: string | Buffer, timeLimitMs: number): Promise<Buffer> {
    const [connection] = await this.#ready(1)
    if (connection === undefined) throw new Error('no connection')
    const answer = await this.#post(connection, String(line).trimEnd(), timeLimitMs)
    return Buffer.concat([answer.body, Buffer.from('\n')])
  }

  async throughput(load: Load): Promise<number> {
    const connections = await this.#ready(load.inflightMax)
    const first = this.takeIds(load.count)
    return this.#bounded<number>(RUN_LIMIT_MS, (done, failed) => {
      let sent = 0
      let came = 0
      const began = performance.now()
      for (const connection of connections) {
        const call = preparedCalls(this.#head('POST', connection.session), load.forms)
        const next = () => {
          if (sent === load.count) return
          const id = first + sent
          sent += 1
          connection.send(call(id), false, (answer) => receive(answer, id), failed)
        }
        const receive = (answer: HttpAnswer, id: number) => {
          check(answer, id, load.answerBytes)
          came += 1
          if (came === load.count) done((performance.now() - began) / 1000)
          else next()
        }
        next()
      }
    })
  }

  async latencies(load: Load): Promise<number[]> {
    const [connection] = await this.#ready(1)
    if (connection === undefined) throw new Error('no connection')
    const call = preparedCalls(this.#head('POST', connection.session), load.forms)
    const first = this.takeIds(load.count)
    const times: number[] = []
    return this.#bounded<number[]>(RUN_LIMIT_MS, (done, failed) => {
      const next = () => {
        const id = first + times.length
        const bytes = call(id)
        const sentAt = performance.now()
        const receive = (answer: HttpAnswer) => {
          times.push((performance.now() - sentAt) * 1000)
          check(answer, id, load.answerBytes)
          if (times.length < load.count) next()
          else done(times)
        }
        connection.send(bytes, false, receive, failed)
      }
      next()
    })
  }

  /** Opens a session, makes one call in it and deletes it, `count` times; gives the seconds it took. */
  async sessions(load: Load): Promise<number> {
    const connections = await this.#ready(load.inflightMax)
    const first = this.takeIds(2 * load.count)
    return this.#bounded<number>(RUN_LIMIT_MS, (done, failed) => {
      let begun = 0
      let ended = 0
      const began = performance.now()
      const run = (connection: Connection) => {
        if (begun === load.count) return
        const id = first + 2 * begun
        begun += 1
        const over = (answer: HttpAnswer) => {
          if (answer.status >= 300) throw new Error(`DELETE was answered ${answer.head.slice(0, 100)}`)
          ended += 1
          if (ended === load.count) done((performance.now() - began) / 1000)
          else run(connection)
        }
        const opened = (answer: HttpAnswer) => {
          if (answer.status !== 200) throw new Error(`initialize was answered ${answer.head.slice(0, 100)}`)
          const session = field(answer.head, 'mcp-session-id') ?? ''
          const form = load.forms[(id >> 1) % load.forms.length]
          if (form === undefined) throw new Error('no calls')
          const call = preparedCall(this.#head('POST', session), form)(id + 1)
          const called = (result: HttpAnswer) => {
            check(result, id + 1, load.answerBytes)
            connection.send(`${this.#head('DELETE', session)}\r\n`, false, over, failed)
          }
          connection.send(call, false, called, failed)
        }
        connection.send(this.#request(initialize(id), ''), false, opened, failed)
      }
      for (const connection of connections) run(connection)
    })
  }

  /** Opens what is missing, outside of every clock, and shakes hands there. */
  async #ready(count: number): Promise<Connection[]> {
    if (this.#ended !== undefined) throw this.#ended
    const open = this.#connections.filter(({ closed }) => !closed)
    this.#connections.splice(0, this.#connections.length, ...open)
    while (this.#connections.length < count) {
      const connection = await Connection.open(this.#port)
      this.#connections.push(connection)
      const answer = await this.#post(connection, initialize(this.takeIds(1)), CONNECT_LIMIT_MS)
      connection.session = field(answer.head, 'mcp-session-id') ?? ''
      await this.#post(connection, '{"jsonrpc":"2.0","method":"notifications/initialized"}', CONNECT_LIMIT_MS)
    }
    return this.#connections.slice(0, count)
  }

  async #post(connection: Connection, body: string | Buffer, timeLimitMs: number): Promise<HttpAnswer> {
    const answer = await this.#bounded<HttpAnswer>(timeLimitMs, (done, failed) => {
      connection.send(this.#request(body, connection.session), true, done, failed)
    })
    if (answer.status >= 300)
      throw new Error(`${answer.head.slice(0, 60)}: ${answer.body.toString('utf8', 0, 300)}`)
    return answer
  }

  #request(body: string | Buffer, session: string): Buffer {
    const head = `${this.#head('POST', session)}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n`
    return Buffer.concat([Buffer.from(head), Buffer.from(body)])
  }

  #head(method: string, session: string): string {
    const own = session === '' ? '' : `Mcp-Session-Id: ${session}\r\nMCP-Protocol-Version: ${REVISION}\r\n`
    const body = method === 'POST' ? 'Content-Type: application/json\r\n' : ''
    const accept = 'Accept: application/json, text/event-stream\r\n'
    return `${method} /mcp HTTP/1.1\r\nHost: 127.0.0.1:${this.#port}\r\n${accept}${own}${body}`
  }

  async #bounded<T>(
    timeLimitMs: number,
    start: (done: (value: T) => void, failed: (error: Error) => void) => void,
  ): Promise<T> {
    let timer: NodeJS.Timeout | undefined
    try {
      return await new Promise<T>((resolve, reject) => {
        timer = setTimeout(() => reject(new Error(`no end within ${timeLimitMs} ms`)), timeLimitMs)
        start(resolve, reject)
      })
    } catch (error) {
      this.end(error instanceof Error ? error : new Error(String(error)))
      throw error
    } finally {
      clearTimeout(timer)
    }
  }
}

function initialize(id: number): string {
  return `{"jsonrpc":"2.0","id":${id},"method":"initialize","params":${PARAMS}}`
}

/** An answer over HTTP is the line without its end. */
function check(answer: HttpAnswer, id: number, lineBytes: number): void {
  const { status, bodyBytes, body, tail } = answer
  const given = body[2] === LAST_MARK ? readId(tail, 0) : readId(body, LINE_HEAD.length)
  const isRight =
    status === 200 && bodyBytes === lineBytes - 1 && given === id && tail[TAIL_BYTES - 1] === CLOSING_BRACE
  if (isRight) return
  const shown = `${answer.head.slice(0, 40)}, ${bodyBytes} bytes: ${body.toString('utf8', 0, 300)}`
  throw new Error(`an answer that was not asked for: ${shown}`)
}
