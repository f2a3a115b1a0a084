// An HTTP front with scripted sessions behind it, and clients that see every byte.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import { connect } from 'node:net'
import { buildError, buildNotification, buildResult } from '../../../src/jsonrpc/build.js'
import type { Connection, MessageHead, Reply } from '../../../src/jsonrpc/connection.js'
import { type Frame, isBatch, type RequestFrame, readFrame } from '../../../src/jsonrpc/frame.js'
import { toLine } from '../../../src/jsonrpc/line.js'
import type { RequestId } from '../../../src/jsonrpc/request-id.js'
import { type Message, splice } from '../../../src/jsonrpc/splice.js'
import { quote } from '../../../src/jsonrpc/text.js'
import { noCapabilities } from '../../../src/mcp/capabilities.js'
import { invalidRequest, transportRefused } from '../../../src/mcp/error-codes.js'
import { assumedRevision, sessionRevision, type Revision } from '../../../src/mcp/revisions.js'
import type { ClientOrigin } from '../../../src/mcp/client-context.js'
import { cancelledId } from '../../../src/mcp/methods.js'
import { receiveBatch } from '../../../src/proxy/clients/batch.js'
import { realRuntime } from '../../../src/real-runtime.js'
import type {
  HttpEnvironment,
  HttpAttached,
  HttpEndpoint,
  HttpRoute,
  Owner,
} from '../../../src/transports/http-server/endpoint.js'
import {
  type HttpServerLimits,
  defaultHttpServerLimits,
} from '../../../src/transports/http-server/front-limits.js'
import { HttpServer, type HttpFrontOptions } from '../../../src/transports/http-server/http-server.js'
import type { SenderOf, SenderVerdict } from '../../../src/transports/http-server/access.js'
import type { Scope } from '../../support/scope.js'
import { headIn } from './sending.js'

export type { Scope } from '../../support/scope.js'

/** The reply of a batch without requests. */
const unheard: Reply = {
  answer: () => undefined,
  drop: () => undefined,
  tell: () => undefined,
  isCancelledByClosing: false,
}

export class ScriptedSession {
  readonly connection: Connection
  readonly received: Frame[] = []
  revision: Revision = assumedRevision
  closed = false
  /** For two requests with one id, the reply of the later one. */
  readonly #replies = new Map<RequestId, Reply>()

  /** The revision in the requests of a client without a session. */
  readonly version: string | undefined
  readonly principal: string

  constructor(connection: Connection, play: Play, { principal = '', version }: ClientOrigin) {
    this.connection = connection
    this.version = version
    this.principal = principal
    connection.start({
      message: (line, _during, reply) => {
        const take = (frame: Frame, own: Reply | undefined): void => {
          this.received.push(frame)
          if (frame.kind === 'request' && own !== undefined) this.#replies.set(frame.id, own)
          if (frame.kind === 'notification') this.#cancel(cancelledId(frame))
          play(frame, this)
        }
        if (!isBatch(line)) return take(readFrame(line), reply)
        const leg = {
          profile: { revision: this.revision, capabilities: noCapabilities },
          refusal: buildError,
        }
        receiveBatch(
          line,
          leg,
          reply ?? unheard,
          (to, kind, answer) => to.answer(answer, kind),
          (member, own) => {
            if (member.kind !== 'unreadable') take(member, own)
          },
        )
      },
      oversize: () => undefined,
      drained: () => undefined,
      ended: () => undefined,
      closed: () => (this.closed = true),
    })
  }

  answer(id: RequestId, result: string): void {
    this.say(buildResult(id, result).joined, id)
  }

  notify(method: string, about?: RequestId): void {
    this.say(buildNotification(method).joined, about)
  }

  /** Sends these bytes unchanged. */
  say(bytes: string | Uint8Array, about?: RequestId): void {
    this.#send(splice(toLine(bytes), []), headIn(bytes), about)
  }

  sayInParts(text: string, about?: RequestId): void {
    const bytes = Buffer.from(text)
    const parts = cuts.map((cut, i) => bytes.subarray(cuts[i - 1] ?? 0, cut))
    const message = splice([...parts, toLine(bytes.subarray(cuts.at(-1)))], [])
    this.#send(message, headIn(bytes), about)
  }

  #cancel(id: RequestId | undefined): void {
    if (id !== undefined) this.#replies.get(id)?.drop()
  }

  #send(message: Message, head: MessageHead, about: RequestId | undefined): void {
    const reply = about === undefined ? undefined : this.#replies.get(about)
    if (reply === undefined) this.connection.send(message, head)
    else if (head.kind === 'request' || head.kind === 'notification') reply.tell(message, head)
    else reply.answer(message, head.kind)
  }
}

/** Cuts in the first member, in the id, and in the middle of a character. */
const cuts = [4, 21, 41, 43]

export type Play = (frame: Frame, session: ScriptedSession) => void

/** Answers `initialize`, `echo`, `noisy` and `refuse`. The test answers all other requests. */
const usual: Play = (frame, session) => {
  if (frame.kind !== 'request') return
  if (frame.method === 'initialize') return initialize(frame, session)
  if (frame.method === 'echo') session.answer(frame.id, `{"id":${quote(frame.id)}}`)
  if (frame.method === 'noisy') {
    session.notify('notifications/one', frame.id)
    session.notify('notifications/two', frame.id)
    session.answer(frame.id, '{}')
  }
  if (frame.method === 'refuse') session.say(buildError(frame.id, invalidRequest('no')).joined, frame.id)
}

function initialize(frame: RequestFrame, session: ScriptedSession): void {
  const version = frame.params.members.string('protocolVersion')
  const revision = sessionRevision(version)
  if (revision === undefined)
    return session.say(buildError(frame.id, invalidRequest('no version')).joined, frame.id)
  session.revision = revision
  session.answer(frame.id, `{"protocolVersion":${quote(revision.version)}}`)
}

export interface Front {
  readonly port: number
  readonly server: HttpServer
  readonly sessions: ScriptedSession[]
  readonly failures: unknown[]
  readonly warnings: string[]
}

export interface FrontOptions extends Partial<Omit<HttpFrontOptions, 'limits'>> {
  /** The principal of a token. Undefined refuses it. */
  readonly principalOf?: (token: string) => string | undefined | Promise<string | undefined>
  readonly limits?: Partial<HttpServerLimits>
  readonly play?: Play
  /** Takes the connections in place of scripted sessions, and must start them. */
  readonly take?: (connection: Connection) => HttpAttached
  readonly now?: () => number
  /** Stores sessions outside of the front. */
  readonly kept?: HttpEnvironment['sessions']
  readonly newId?: (owner: Owner) => string
  readonly roomOf?: () => 'enough' | 'little' | 'none'
}

/** Listens on a free loopback port until the test ends. */
export async function front(scope: Scope, options: FrontOptions = {}): Promise<Front> {
  const sessions: ScriptedSession[] = []
  const failures: unknown[] = []
  const warnings: string[] = []
  const endpoint = (name: string): HttpEndpoint => ({
    name,
    attach: (connection, { principal, version }) => {
      if (options.take !== undefined) return Promise.resolve(options.take(connection))
      const session = new ScriptedSession(connection, options.play ?? usual, { principal, version })
      sessions.push(session)
      return Promise.resolve(session)
    },
    status: () => `{"schema":${quote(name)}}`,
    isBound: () => false,
  })
  const targets = new Map<string, HttpRoute>([
    ['/mcp', { kind: 'mcp', endpoint: endpoint('one') }],
    ['/other', { kind: 'mcp', endpoint: endpoint('other') }],
    ['/page', { kind: 'page', open: false, body: () => '{"page":true}' }],
    [
      '/register',
      { kind: 'nothing', isForAll: true, refusal: { status: 404, error: transportRefused('no') } },
    ],
    ['/health', { kind: 'page', open: true, body: () => '{"ok":true}' }],
  ])
  const pair = endpoint('pair')
  targets.set('/sse', { kind: 'events', endpoint: pair, messagePath: '/message' })
  targets.set('/message', { kind: 'messages', endpoint: pair })
  const server = new HttpServer(
    {
      host: '127.0.0.1',
      port: 0,
      allowedHosts: [],
      cors: { enabled: true, origins: [], methods: ['GET', 'POST'], credentials: false, allowedHeaders: [] },
      senderOf: options.principalOf && senderBy(options.principalOf),
      remedies: { page: (origin) => `name ${origin}`, name: (host) => `allow ${host}` },
      environment: {
        limits: { ...defaultHttpServerLimits, closeWaitMs: 200, ...options.limits },
        room: options.roomOf ?? (() => 'enough'),
        newId: options.newId ?? (() => randomBytes(12).toString('base64url')),
        now: options.now ?? (() => realRuntime().now()),
        wallNow: () => realRuntime().wallNow(),
        setTimer: (delayMs, fire) => realRuntime().setTimer(delayMs, fire),
        sessions: options.kept,
        watch: () => () => undefined,
        warn: (message) => warnings.push(message),
        failed: (error) => failures.push(error),
      },
      ...options,
    },
    {
      find: (path) =>
        targets.get(path) ?? {
          kind: 'nothing',
          refusal: { status: 404, error: transportRefused('nothing') },
        },
    },
  )
  const { port } = await server.listen()
  scope.after(() => server.close())
  return { port, server, sessions, failures, warnings }
}

function senderBy(principalOf: NonNullable<FrontOptions['principalOf']>): SenderOf {
  return (token) => {
    const found = principalOf(token)
    return found instanceof Promise ? found.then(verdictOf) : verdictOf(found)
  }
}

function verdictOf(principal: string | undefined): SenderVerdict {
  return principal === undefined ? { status: 401, why: 'its bearer token is not accepted' } : { principal }
}

/** Sends bytes on a new socket, and resolves with all bytes until the server closes. */
export async function raw(port: number, text: string | readonly string[]): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  socket.on('error', () => undefined)
  const closed = new Promise((resolve) => socket.once('close', resolve))
  for (const part of typeof text === 'string' ? [text] : text) {
    socket.write(part)
    await new Promise((resolve) => setImmediate(resolve))
  }
  await closed
  return Buffer.concat(chunks).toString()
}

/** The status code of a raw answer. 0 when the connection was closed without one. */
export function statusOf(answer: string): number {
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0)
}

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface Sent {
  readonly path?: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
}

export const both = 'application/json, text/event-stream'

/** Sends a request, and resolves with the response as soon as its head has arrived. */
export function open(
  port: number,
  { path = '/mcp', method = 'POST', headers = {}, body }: Sent,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const sent = request({
      port,
      host: '127.0.0.1',
      path,
      method,
      agent: false,
      headers: { ...(method === 'POST' && { 'content-type': 'application/json' }), accept: both, ...headers },
    })
    sent.on('response', resolve)
    sent.on('error', reject)
    sent.end(body)
  })
}

export async function read(response: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(Buffer.from(chunk))
  const { statusCode = 0, headers } = response
  return { status: statusCode, headers, body: Buffer.concat(chunks).toString() }
}

export async function send(port: number, sent: Sent): Promise<Answer> {
  return read(await open(port, sent))
}

export function message(method: string, id?: number | string, params?: object): string {
  return JSON.stringify({
    jsonrpc: '2.0',
    ...(id !== undefined && { id }),
    method,
    ...(params && { params }),
  })
}

/** Opens a session of that revision, and resolves with the header fields for its requests. */
export async function handshake(
  port: number,
  version = '2025-11-25',
  path = '/mcp',
  fields: Readonly<Record<string, string>> = {},
): Promise<Record<string, string>> {
  const body = message('initialize', 0, { protocolVersion: version })
  const { headers, status } = await send(port, { path, body, headers: fields })
  const id = headers['mcp-session-id']
  if (status !== 200 || typeof id !== 'string') throw new Error(`initialize: ${status}`)
  return { ...fields, 'mcp-session-id': id }
}

/** A front with one session: its header fields, and the session as the script sees it. */
export async function opened(scope: Scope, options: FrontOptions = {}, version?: string) {
  const made = await front(scope, options)
  const headers = await handshake(made.port, version)
  const session = made.sessions[0] ?? assert.fail('no session was opened')
  return { ...made, headers, session }
}

export interface Event {
  readonly id?: string
  readonly event?: string
  readonly retry?: string
  readonly data?: string
}

/** The complete events of a text. */
export function events(text: string): Event[] {
  return text
    .split('\n\n')
    .slice(0, -1)
    .map((block) => Object.fromEntries(block.split('\n').map((line) => line.split(/: (.*)/s))))
}

/** The message in a response. A slow answer, as on a busy machine, comes as an event stream. */
export function messageIn(body: string): unknown {
  return JSON.parse(body.startsWith('{') ? body : (events(body).at(-1)?.data ?? 'null'))
}

export class EventReader {
  readonly response: IncomingMessage
  #text = ''
  #seen = 0

  constructor(response: IncomingMessage) {
    this.response = response
    response.on('data', (chunk: Buffer) => (this.#text += chunk.toString()))
    response.on('error', () => undefined)
  }

  get all(): Event[] {
    return events(this.#text)
  }

  /** The next event with a message. Undefined at the end. */
  async next(): Promise<Event | undefined> {
    for (;;) {
      const found = this.all.slice(this.#seen).findIndex(({ data }) => data !== undefined && data !== '')
      if (found >= 0) {
        this.#seen += found + 1
        return this.all[this.#seen - 1]
      }
      if (this.response.readableEnded || this.response.destroyed) return undefined
      await new Promise((resolve) => {
        for (const name of ['data', 'end', 'close']) this.response.once(name, resolve)
      })
    }
  }

  async having(words: string): Promise<unknown> {
    for (;;) {
      const { data } = (await this.next()) ?? assert.fail(`the stream ended before ${words}`)
      if (data?.includes(words) === true) return JSON.parse(data)
    }
  }

  cut(): void {
    this.response.destroy()
  }
}

/** Opens the standalone stream of a session, or resumes it after an event. */
export async function listen(
  port: number,
  session: Readonly<Record<string, string>>,
  lastId?: string,
): Promise<EventReader> {
  const after = lastId === undefined ? {} : { 'last-event-id': lastId }
  const headers = { ...session, accept: 'text/event-stream', ...after }
  return new EventReader(await open(port, { method: 'GET', headers }))
}

/** The bytes of a POST. `fields` are additional lines of its head. */
export function posting(port: number, body: string, fields = '', length: number = body.length): string {
  return (
    `POST /mcp HTTP/1.1\r\nHost: localhost:${port}\r\nContent-Type: application/json\r\n` +
    `Content-Length: ${length}\r\n${fields}\r\n${body}`
  )
}
