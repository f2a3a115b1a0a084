// Both ends of an HTTP connection after the handshake, as one pair of connections.

import type { Connection, MessageHead, Reply, Sink } from '../../../src/jsonrpc/connection.js'
import { buildNotification, buildResult } from '../../../src/jsonrpc/build.js'
import type { Line } from '../../../src/jsonrpc/line.js'
import { readFrame } from '../../../src/jsonrpc/frame.js'
import type { Message } from '../../../src/jsonrpc/splice.js'
import { latestSession } from '../../../src/mcp/revisions.js'
import { HttpLink } from '../../../src/transports/http-client/link.js'
import { HttpAgent, connectPlain } from '../../../src/transports/http1/client.js'
import { until } from '../../integration/support/waiting.js'
import { type Scope, front } from './http.js'
import { bytesOf, target, testLimits } from './scripted.js'
import { send } from './sending.js'

const INITIALIZE = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}'

const CLOSE_MS = 60_000

/** One end, which is started for the handshake and handed over afterwards. */
class End implements Connection {
  readonly inner: Connection
  /** Receives messages during the handshake. */
  opening: ((text: string, line: Line, reply?: Reply) => void) | undefined
  #sink: Sink | undefined
  /** Events from before the hand-over, while they are still being delivered. */
  #early: ((sink: Sink) => void)[] | undefined = []

  constructor(inner: Connection, opening?: (text: string, line: Line, reply?: Reply) => void) {
    this.inner = inner
    this.opening = opening
    inner.start({
      message: (line, during, reply) => {
        if (this.opening === undefined) this.#tell((sink) => sink.message(line, during))
        else this.opening(line.toString(), line, reply)
      },
      failed: (id, error) => this.#tell((sink) => sink.failed?.(id, error)),
      oversize: (id, bytes, isCall) => this.#tell((sink) => sink.oversize(id, bytes, isCall)),
      drained: () => this.#tell((sink) => sink.drained()),
      ended: () => this.#tell((sink) => sink.ended()),
      closed: (cause) => this.#tell((sink) => sink.closed(cause)),
      wire: (direction, bytes, whole) => this.#sink?.wire?.(direction, bytes, whole),
    })
  }

  get congested(): boolean {
    return this.inner.congested
  }

  get backlogBytes(): number {
    return this.inner.backlogBytes
  }

  start(sink: Sink): void {
    this.#sink = sink
    setImmediate(() => {
      const early = this.#early ?? []
      this.#early = undefined
      for (const tell of early) tell(sink)
    })
  }

  send(message: Message, head: MessageHead): void {
    this.inner.send(message, head)
  }

  read(on: boolean): void {
    this.inner.read(on)
  }

  close(): Promise<void> {
    return this.inner.close()
  }

  #tell(tell: (sink: Sink) => void): void {
    if (this.#early !== undefined) this.#early.push(tell)
    else if (this.#sink !== undefined) tell(this.#sink)
  }
}

export interface HttpPair {
  readonly client: Connection
  readonly server: Connection
}

export type HttpKind = 'Streamable HTTP' | 'HTTP+SSE'

export async function httpPair(scope: Scope, kind: HttpKind): Promise<HttpPair> {
  let server: End | undefined
  const { port } = await front(scope, {
    take: (connection) => {
      server = new End(connection, (text, line, reply) => answer(connection, text, line, reply))
      return { revision: latestSession }
    },
  })
  const isStreamable = kind === 'Streamable HTTP'
  const url = new URL(`http://127.0.0.1:${port}/${isStreamable ? 'mcp' : 'sse'}`)
  // On a busy machine a hundred messages need some time before the close.
  const given = target(url, { limits: { ...testLimits, closeMs: CLOSE_MS } })
  const agent = new HttpAgent(url, given.limits, connectPlain)
  const connection = new HttpLink(given, agent, isStreamable ? {} : { older: 'yes' })
  scope.after(async () => {
    await connection.close()
    agent.destroy()
  })
  let isOpen = false
  const client = new End(connection, () => (isOpen = true))
  send(client, bytesOf(INITIALIZE))
  await until(() => isOpen && server !== undefined)
  if (server === undefined) throw new Error('the front took no connection')
  const taken = server
  let isReady = false
  taken.opening = () => (isReady = true)
  send(client, buildNotification('notifications/initialized'))
  // The front would drop messages before the client has opened its stream.
  await until(() => isReady && (!('busy' in taken.inner) || taken.inner.busy))
  client.opening = undefined
  taken.opening = undefined
  return { client, server: taken }
}

function answer(connection: Connection, text: string, line: Line, reply: Reply | undefined): void {
  if (!text.includes('"initialize"')) return
  const frame = readFrame(line)
  if (frame.kind !== 'request') return
  const result = buildResult(frame.id, '{"protocolVersion":"2025-11-25"}')
  if (reply === undefined) send(connection, result)
  else reply.answer(result, 'result')
}
