// The MCP client of the commands `tools` and `call`. It uses a separate proxy and sees what any client sees.

import { Buffer } from 'node:buffer'
import type { McpProxy } from '../index.js'
import type { NotificationFrame, RequestFrame } from '../jsonrpc/frame.js'
import { TransportError } from '../jsonrpc/jsonrpc-errors.js'
import { Peer, type PeerOwner } from '../jsonrpc/peer.js'
import { write } from '../jsonrpc/text.js'
import { isMissing, methodNotFound } from '../mcp/error-codes.js'
import { latestSession } from '../mcp/revisions.js'
import { memoryPair } from '../transports/memory.js'
import { version } from '../version.js'
import { JsonValue, readTree } from './json-value.js'

/** The error of a JSON-RPC response (JSON-RPC 2.0, section 5.1). */
export class AnswerError extends Error {
  readonly isMissing: boolean

  constructor(code: number, message: string) {
    super(message)
    this.isMissing = isMissing(code)
  }
}

const noParams = readTree(Buffer.from('{}'))

/** Answers the requests of servers for a person. */
export interface Person {
  /** Client capabilities, as raw JSON. */
  readonly capabilities: string
  /** Returns the result as raw JSON; undefined for an unknown method. */
  answer(method: string, params: JsonValue): Promise<string> | undefined
}

const CLOSED = 'the proxy has closed the connection'

const INFLIGHT_MAX = 1000

export class LocalClient {
  readonly #peer: Peer<never>
  readonly #person: Person | undefined
  readonly #onProgress: (params: JsonValue) => void
  #onToolsChanged: () => void = ignore

  /** `view` names a view of the proxy; undefined shows everything. */
  constructor(
    proxy: Pick<McpProxy, 'attach'>,
    person?: Person,
    view?: string,
    onProgress: (params: JsonValue) => void = ignore,
  ) {
    const [ours, theirs] = memoryPair()
    this.#onProgress = onProgress
    this.#person = person
    this.#peer = new Peer<never>(ours, this.#owner, { inflightMax: INFLIGHT_MAX })
    this.#peer.start()
    void proxy.attach(theirs, { view })
  }

  async open(): Promise<void> {
    const info = write({ name: 'mcps-proxy', version })
    const capabilities = this.#person?.capabilities ?? '{}'
    await this.request(
      'initialize',
      `{"protocolVersion":"${latestSession.version}","capabilities":${capabilities},"clientInfo":${info}}`,
    )
    this.#peer.notify('notifications/initialized')
  }

  /** Sends a request; `params` is raw JSON. @throws AnswerError when the response is an error */
  async request(method: string, params: string): Promise<JsonValue> {
    const asked = this.#peer.ask(method, params)
    if (asked === undefined) throw new Error(CLOSED)
    const frame = await asked.answer
    if (frame.kind === 'result') return new JsonValue(frame.line, frame.result)
    const error = new JsonValue(frame.line, frame.error)
    throw new AnswerError(Number(error.member('code')?.text), error.string('message') ?? error.raw)
  }

  async listTools(): Promise<JsonValue[]> {
    const all: JsonValue[] = []
    for (let cursor: string | undefined = ''; cursor !== undefined;) {
      const page: JsonValue = await this.request('tools/list', cursor === '' ? '{}' : write({ cursor }))
      all.push(...(page.member('tools')?.items ?? []))
      cursor = page.string('nextCursor')
    }
    return all
  }

  /** Resolves when a server reports changed tools. Some servers list more tools right after the handshake. */
  toolsChanged(): Promise<void> {
    return new Promise((resolve) => {
      this.#onToolsChanged = resolve
    })
  }

  get #owner(): PeerOwner<never> {
    return {
      request: (frame) => void this.#answer(frame),
      notification: (frame) => this.#onNotification(frame),
      ended: () => this.#peer.failOwn(new TransportError('TRANSPORT_CLOSED', CLOSED)),
      stray: ignore,
      batch: ignore,
      malformed: ignore,
      failed: ignore,
      oversize: ignore,
      closed: ignore,
    }
  }

  #onNotification({ method, line, params }: NotificationFrame): void {
    if (method === 'notifications/tools/list_changed') this.#onToolsChanged()
    if (method === 'notifications/progress' && params.span !== undefined)
      this.#onProgress(new JsonValue(line, params.span))
  }

  async #answer({ id, method, line, params }: RequestFrame): Promise<void> {
    if (method === 'ping') return this.#peer.reply(id, '{}')
    const asked = params.span === undefined ? noParams : new JsonValue(line, params.span)
    const answer = this.#person?.answer(method, asked)
    if (answer === undefined) this.#peer.refuse(id, methodNotFound(method))
    else this.#peer.reply(id, await answer)
  }
}

function ignore(): void {}
