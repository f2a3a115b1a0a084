// One session of a client that sends each message to the instance that a test names.

import assert from 'node:assert/strict'
import { at, parsed, textAt } from '../../integration/support/json.js'
import {
  type Answer,
  type Event,
  EventReader,
  listen,
  message,
  messageIn,
  open,
  send,
} from '../../transports/support/http.js'
import { type User, paths, tokens } from './cluster.js'

export interface RawOptions {
  readonly user?: User
  readonly path?: string
  readonly capabilities?: object
}

let made = 0

/** A number of a call that no other call has. */
export const unique = (): string => `raw-${++made}`

/** The header fields of a user. */
export const bearer = (user: User): { readonly authorization: string } => ({
  authorization: `Bearer ${tokens[user]}`,
})

/** What `initialize` of a new session gives. */
export function initialize(port: number, options: RawOptions = {}): Promise<Answer> {
  const { user = 'ann', path = paths.shared, capabilities = {} } = options
  const clientInfo = { name: 'raw', version: '1' }
  const body = message('initialize', 0, { protocolVersion: '2025-11-25', capabilities, clientInfo })
  return send(port, { path, headers: bearer(user), body })
}

export class RawSession {
  readonly headers: Readonly<Record<string, string>>
  readonly path: string

  constructor(id: string, { user = 'ann', path = paths.shared }: RawOptions = {}) {
    this.headers = { ...bearer(user), 'mcp-session-id': id }
    this.path = path
  }

  static async open(port: number, options: RawOptions = {}): Promise<RawSession> {
    let opened = await initialize(port, options)
    // On a busy machine the store may answer too late.
    while (opened.status === 503) opened = await initialize(port, options)
    const { status, headers, body } = opened
    assert.equal(status, 200, body)
    const session = new RawSession(String(headers['mcp-session-id']), options)
    assert.equal((await session.send(port, message('notifications/initialized'))).status, 202)
    return session
  }

  get id(): string {
    return this.headers['mcp-session-id'] ?? ''
  }

  send(port: number, body: string): Promise<Answer> {
    return send(port, { path: this.path, headers: this.headers, body })
  }

  notify(port: number, method: string, params: object = {}): Promise<Answer> {
    return this.send(port, message(method, undefined, params))
  }

  delete(port: number): Promise<Answer> {
    return send(port, { path: this.path, headers: this.headers, method: 'DELETE' })
  }

  request(port: number, id: number, method: string, params: object = {}): Promise<Answer> {
    return this.send(port, message(method, id, params))
  }

  /** What the tool says, or the status and the error. */
  async call(port: number, id: number, name: string, args: object = {}): Promise<string> {
    const n = unique()
    const { status, body } = await this.request(port, id, 'tools/call', { name, arguments: { n, ...args } })
    if (status !== 200) return `${status}: ${body}`
    const answer = messageIn(body)
    assert.equal(at(answer, 'id'), id, body)
    return at(answer, 'result') === undefined ? body : textAt(answer, 'result', 'content', 0, 'text')
  }

  /** A call whose answer is a stream of events. */
  async stream(port: number, id: number, name: string, args: object): Promise<EventReader> {
    const body = message('tools/call', id, { name, arguments: args })
    const headers = { ...this.headers, accept: 'text/event-stream' }
    return new EventReader(await open(port, { path: this.path, headers, body }))
  }

  /** The standalone stream, or what follows an event. */
  listen(port: number, lastId?: string): Promise<EventReader> {
    assert.equal(this.path, '/mcp')
    return listen(port, this.headers, lastId)
  }
}

/** The id of the last event that has come, once there is one. */
export async function lastIdOf(reader: EventReader): Promise<string> {
  for (;;) {
    const id = reader.all.findLast((event) => event.id !== undefined)?.id
    if (id !== undefined) return id
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

/** The message of an event. */
export function messageOf(event: Event | undefined): unknown {
  return parsed(event?.data ?? 'null')
}
