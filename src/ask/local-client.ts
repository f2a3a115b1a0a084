// An MCP client inside this process: what `tools`, `call`, `read` and `prompt` talk to the servers with.
//
// It uses a separate proxy, so that a person sees what a client would see.

import { Buffer } from 'node:buffer'
import type { McpProxy } from '../index.js'
import type { NotificationFrame, RequestFrame } from '../jsonrpc/frame.js'
import { TransportError } from '../jsonrpc/jsonrpc-errors.js'
import { itemsAt, membersAt } from '../jsonrpc/members.js'
import { Peer, type PeerOwner } from '../jsonrpc/peer.js'
import type { Span } from '../jsonrpc/scan.js'
import { rawAt, write } from '../jsonrpc/text.js'
import { isMissing, methodNotFound } from '../mcp/error-codes.js'
import { latestSession } from '../mcp/revisions.js'
import { memoryPair } from '../transports/memory.js'
import { version } from '../version.js'

/** An error that a call was answered with (JSON-RPC 2.0, 5.1). */
export class AnswerError extends Error {
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }

  /** Whether there is no such tool or method. */
  get isMissing(): boolean {
    return isMissing(this.code)
  }
}

/** A value as its server wrote it: the bytes of a message, and where the value stands. */
export class RawValue {
  readonly #line: Buffer
  readonly #span: Span

  constructor(line: Buffer, span: Span) {
    this.#line = line
    this.#span = span
  }

  get text(): string {
    return rawAt(this.#line, this.#span)
  }

  /** A member of an object; undefined where there is none. */
  member(name: string): RawValue | undefined {
    const span = membersAt(this.#line, this.#span)?.span(name)
    return span && new RawValue(this.#line, span)
  }

  /** The names of the members of an object, in the order in which they are written. */
  get keys(): string[] {
    const value: unknown = JSON.parse(this.text)
    return typeof value === 'object' && value !== null ? Object.keys(value) : []
  }

  string(name: string): string | undefined {
    return membersAt(this.#line, this.#span)?.string(name)
  }

  /** The items of an array; none of anything else. */
  get items(): RawValue[] {
    return itemsAt(this.#line, this.#span, Number.MAX_SAFE_INTEGER).map(
      (span) => new RawValue(this.#line, span),
    )
  }
}

const noParams = new RawValue(Buffer.from('{}'), { start: 0, end: 2 })

/** Answers the questions of a server; undefined where no person can. */
export interface Person {
  /** Client capabilities, as raw JSON. */
  readonly capabilities: string
  /** Gives a result as raw JSON; undefined for a question that is not known. */
  answer(method: string, params: RawValue): Promise<string> | undefined
}

/** Progress of a call (MCP, Utilities: progress). */
export interface Progress {
  readonly progress: string
  readonly total: string | undefined
  readonly message: string | undefined
}

const CLOSED = 'the proxy has closed the connection'

/** The most requests that wait for an answer. */
const INFLIGHT_MAX = 1000

/** A client of one proxy. */
export class LocalClient {
  readonly #peer: Peer<never>
  readonly #person: Person | undefined
  /** Of requests that wait for an answer, by their progress tokens. */
  readonly #progressed = new Map<string, (progress: Progress) => void>()
  #lastToken = 0
  #toolsChanged: () => void = () => {}

  /** `view` is one of the proxy's; undefined is everything. */
  constructor(proxy: Pick<McpProxy, 'attach'>, person?: Person, view?: string) {
    const [ours, theirs] = memoryPair()
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

  /** Sends a request; `params` is raw JSON. @throws AnswerError when it is answered with an error */
  async request(
    method: string,
    params: string,
    progressed?: (progress: Progress) => void,
  ): Promise<RawValue> {
    const token = String(++this.#lastToken)
    if (progressed !== undefined) this.#progressed.set(token, progressed)
    const asked = this.#peer.ask(method, params)
    if (asked === undefined) throw new Error(CLOSED)
    const frame = await asked.answer.finally(() => this.#progressed.delete(token))
    if (frame.kind === 'result') return new RawValue(frame.line, frame.result)
    const error = new RawValue(frame.line, frame.error)
    throw new AnswerError(Number(error.member('code')?.text), error.string('message') ?? error.text)
  }

  /** Everything of a list, page by page. */
  async list(method: string, member: string): Promise<RawValue[]> {
    const all: RawValue[] = []
    for (let cursor: string | undefined = ''; cursor !== undefined;) {
      const page: RawValue = await this.request(method, cursor === '' ? '{}' : write({ cursor }))
      all.push(...(page.member(member)?.items ?? []))
      cursor = page.string('nextCursor')
    }
    return all
  }

  /** Resolves when a server says that its tools have changed: some list more of them right after the handshake. */
  toolsChanged(): Promise<void> {
    return new Promise((resolve) => {
      this.#toolsChanged = resolve
    })
  }

  /** The token with which the progress of the next request is reported. */
  get nextToken(): number {
    return this.#lastToken + 1
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
    if (method === 'notifications/tools/list_changed') this.#toolsChanged()
    if (method !== 'notifications/progress' || params.span === undefined) return
    const values = new RawValue(line, params.span)
    const progress = values.member('progress')?.text
    if (progress === undefined) return
    const report = { progress, total: values.member('total')?.text, message: values.string('message') }
    this.#progressed.get(values.member('progressToken')?.text ?? '')?.(report)
  }

  async #answer({ id, method, line, params }: RequestFrame): Promise<void> {
    if (method === 'ping') return this.#peer.reply(id, '{}')
    const asked = params.span === undefined ? noParams : new RawValue(line, params.span)
    const answer = this.#person?.answer(method, asked)
    if (answer === undefined) this.#peer.refuse(id, methodNotFound(method))
    else this.#peer.reply(id, await answer)
  }
}

function ignore(): void {}
