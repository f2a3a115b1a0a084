// The facts and the messages of a session that outlive this process.

import { createHash } from 'node:crypto'
import { buildNotification, buildRequest } from '../../jsonrpc/build.js'
import { type Frame, type RequestFrame, readFrame } from '../../jsonrpc/frame.js'
import { textId } from '../../jsonrpc/request-id.js'
import { onOneLine, quote, rawAt, write } from '../../jsonrpc/text.js'
import { clientInfo } from '../../mcp/capabilities.js'
import { severity } from '../../mcp/methods.js'
import { latestSession, sessionRevision } from '../../mcp/revisions.js'
import type { SessionBook, SealedFacts, SessionNotes } from './session-ids.js'

/** If a client follows more resources, only the latest ones are followed again. */
const SUBSCRIPTIONS_MAX = 256
const URI_LENGTH_MAX = 2048
/** The limit for all URIs together, because each change writes all of them. */
const URIS_LENGTH_MAX = 65_536

export class SessionRecord {
  readonly #book: SessionBook
  readonly #id: string
  #level: string | undefined
  readonly #subscriptions = new Set<string>()

  constructor(book: SessionBook, id: string) {
    this.#book = book
    this.#id = id
  }

  /** Loads the notes of other processes. Returns false if the session has ended, or if that is unknown now. */
  async load(): Promise<boolean> {
    const notes = await this.#book.read(this.#hash).catch(() => 'ended' as const)
    if (notes === 'ended') return false
    this.#level = notes?.level
    for (const uri of notes?.subscriptions ?? []) this.#subscriptions.add(uri)
    return true
  }

  note(frame: Frame): void {
    if (frame.kind === 'result' || frame.kind === 'error') return
    switch (frame.method) {
      case 'exit':
      case 'notifications/exit':
        return void this.end().catch(() => {})
      case 'logging/setLevel':
        return this.#setLevel(frame.params.members.string('level'))
      case 'resources/subscribe':
        return this.#follow(frame)
      case 'resources/unsubscribe':
        if (this.#subscriptions.delete(frame.params.members.string('uri') ?? '')) this.#write()
    }
  }

  /** The client has ended its session, on every instance. */
  end(): Promise<void> {
    return this.#book.end(this.#hash)
  }

  /** The messages that repeat what the client has sent after its `initialize`. */
  messages(): Frame[] {
    const [level, uris] = [this.#level, [...this.#subscriptions]]
    return [
      readFrame(buildNotification('notifications/initialized').joined),
      ...(level === undefined ? [] : [again('logging/setLevel', 0, write({ level }))]),
      ...uris.map((uri, at) => again('resources/subscribe', at, write({ uri }))),
    ]
  }

  #setLevel(level: string | undefined): void {
    if (severity(level) < 0 || level === this.#level) return
    this.#level = level
    this.#write()
  }

  #follow({ params: { members } }: Pick<RequestFrame, 'params'>): void {
    const uri = members.string('uri')
    if (uri === undefined || uri.length > URI_LENGTH_MAX) return
    // The URI that the client names last is removed last.
    this.#subscriptions.delete(uri)
    this.#subscriptions.add(uri)
    let length = [...this.#subscriptions].reduce((sum, each) => sum + each.length, 0)
    for (const oldest of this.#subscriptions) {
      if (this.#subscriptions.size <= SUBSCRIPTIONS_MAX && length <= URIS_LENGTH_MAX) break
      this.#subscriptions.delete(oldest)
      length -= oldest.length
    }
    this.#write()
  }

  #write(): void {
    const notes: SessionNotes = { level: this.#level, subscriptions: [...this.#subscriptions] }
    this.#book.write(this.#hash, notes)
  }

  /** A reader of the book must not learn the ids. */
  get #hash(): string {
    return createHash('sha256').update(this.#id).digest('base64url').slice(0, HASH_LENGTH)
  }
}

/** 132 bits. */
const HASH_LENGTH = 22

/** The facts that a session id contains. */
export function factsIn({ line, params: { members } }: RequestFrame, isBound: boolean): SealedFacts {
  const capabilities = members.span('capabilities')
  const info = clientInfo(line, members.span('clientInfo'))
  return {
    revision: (sessionRevision(members.string('protocolVersion')) ?? latestSession).version,
    name: info?.name,
    version: info?.version,
    capabilities: capabilities === undefined ? '{}' : onOneLine(rawAt(line, capabilities)),
    isBound,
  }
}

/** The `initialize` of a session that another process has opened. */
export function initializeAgain({ revision, name, version, capabilities }: SealedFacts): Frame {
  const info = write({ name: name ?? '', version: version ?? '' })
  const params = `{"protocolVersion":${quote(revision)},"capabilities":${capabilities},"clientInfo":${info}}`
  return again('initialize', 0, params)
}

/** The client must not have a request with the same id in flight. */
function again(method: string, number: number, params: string): Frame {
  return readFrame(buildRequest(textId(`mcps-proxy again: ${method} ${number}`), method, params).joined)
}
