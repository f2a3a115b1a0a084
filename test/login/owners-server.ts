// A remote server that notes whose token served what, and whose every answer names that owner: with sessions, with a handshake
// and no session, or of 2026-07-28. It is its own authorization server.

import { type IncomingMessage, type ServerResponse, createServer } from 'node:http'
import { text as bodyOf } from 'node:stream/consumers'
import type { Login } from '../../src/login/login-store.js'
import { metaKey } from '../integration/support/claim.js'
import { at, textAt } from '../integration/support/json.js'
import { listening } from '../support/listening.js'
import type { Scope } from '../support/scope.js'

export const kinds = ['sessions', 'handshake', 'stateless'] as const
export type Kind = (typeof kinds)[number]

/** A request and the owner of its token. */
export interface Served {
  readonly owner: string
  readonly session: string | undefined
  readonly method: string
  readonly body: string
}

interface Stream {
  readonly owner: string
  readonly response: ServerResponse
  /** Of a subscription without a session. */
  readonly id: unknown
}

interface Asked {
  readonly id: unknown
  readonly method: string
  readonly params: unknown
}

const TASKS = metaKey('tasks')

export class OwnersServer {
  readonly served: Served[] = []
  readonly #kind: Kind
  readonly #server = createServer((request, response) => void this.#answer(request, response))
  readonly #streams = new Set<Stream>()
  readonly #changed = new Set<string>()
  readonly #owners = new Map<string, string>()
  #sessions = 0
  #port = 0

  private constructor(kind: Kind) {
    this.#kind = kind
  }

  static async open(scope: Scope, kind: Kind): Promise<OwnersServer> {
    const server = new OwnersServer(kind)
    server.#port = await listening(scope, server.#server)
    return server
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/mcp`
  }

  /** A login of this owner, which was made before. */
  login(owner: string): Login {
    const issuer = `http://127.0.0.1:${this.#port}`
    return {
      url: this.url,
      resource: undefined,
      issuer,
      tokenEndpoint: `${issuer}/token`,
      revocationEndpoint: undefined,
      client: { id: 'c', secret: undefined, method: 'none' },
      isRegistered: false,
      redirectUri: 'http://127.0.0.1/callback',
      accessToken: this.#tokenOf(owner),
      refreshToken: `refresh-${owner}`,
      scope: undefined,
      obtainedAtMs: Date.now(),
      expiresAtMs: undefined,
    }
  }

  /** The access token of this owner is not good any more. */
  expire(owner: string): void {
    for (const [token, whose] of this.#owners) if (whose === owner) this.#owners.delete(token)
  }

  /** How many streams of this owner are open. */
  streamsOf(owner: string): number {
    return [...this.#streams].filter((stream) => stream.owner === owner).length
  }

  /** This owner alone has a tool more, and another content of a resource. */
  change(owner: string): void {
    this.#changed.add(owner)
    for (const stream of this.#streams) {
      if (stream.owner !== owner) continue
      const _meta = stream.id === undefined ? {} : { [metaKey('subscriptionId')]: stream.id }
      this.#tell(stream.response, 'notifications/tools/list_changed', { _meta })
      this.#tell(stream.response, 'notifications/resources/updated', { uri: 'own://all', _meta, owner })
    }
  }

  #tokenOf(owner: string): string {
    const token = `token-${owner}-${this.#owners.size}-${this.served.length}`
    this.#owners.set(token, owner)
    return token
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bodyOf(request)
    const json = (status: number, value: object, fields: object = {}): void =>
      void response
        .writeHead(status, { 'content-type': 'application/json', ...fields })
        .end(JSON.stringify(value))
    if (request.url === '/token') {
      const [, owner = ''] = /refresh_token=refresh-(\w+)/.exec(body) ?? []
      this.served.push({ owner, session: undefined, method: 'token', body })
      return json(200, { access_token: this.#tokenOf(owner), token_type: 'Bearer' })
    }
    const owner = this.#owners.get((request.headers.authorization ?? '').replace('Bearer ', ''))
    if (owner === undefined) return json(401, {}, { 'www-authenticate': 'Bearer' })
    const sent = request.headers['mcp-session-id']
    const { id, method = request.method, params } = body === '' ? {} : Object(JSON.parse(body))
    this.served.push({ owner, session: sent === undefined ? undefined : String(sent), method, body })
    if (request.method === 'GET' && this.#kind === 'sessions') return this.#stream(response, owner, undefined)
    if (request.method !== 'POST') return json(request.method === 'GET' ? 405 : 200, {})
    if (id === undefined) return json(202, {})
    if (method === 'subscriptions/listen' && this.#kind === 'stateless') {
      this.#stream(response, owner, id)
      const notifications = at(params, 'notifications')
      const _meta = { [metaKey('subscriptionId')]: id }
      return this.#tell(response, 'notifications/subscriptions/acknowledged', { notifications, _meta })
    }
    const token = at(params, '_meta', 'progressToken')
    if (token !== undefined) {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      this.#tell(response, 'notifications/progress', { progressToken: token, progress: 1, message: owner })
    }
    const result = this.#resultOf({ id, method, params }, owner)
    const error = { code: -32601, message: 'Method not found' }
    const message = { jsonrpc: '2.0', id, ...(result === undefined ? { error } : { result }) }
    if (token !== undefined) return void response.end(`data: ${JSON.stringify(message)}\n\n`)
    const isOpening = method === 'initialize' && this.#kind === 'sessions'
    json(200, message, isOpening ? { 'mcp-session-id': `${owner}-${++this.#sessions}` } : {})
  }

  #stream(response: ServerResponse, owner: string, id: unknown): void {
    const stream = { owner, response, id }
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
    this.#streams.add(stream)
    response.on('close', () => this.#streams.delete(stream))
  }

  #tell(response: ServerResponse, method: string, params: object): void {
    response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', method, params })}\n\n`)
  }

  #resultOf(asked: Asked, owner: string): object | undefined {
    const isStateless = this.#kind === 'stateless'
    if (asked.method === (isStateless ? 'initialize' : 'server/discover')) return undefined
    const more = this.#changed.has(owner) ? [`more_${owner}`] : []
    const result = resultOf(asked, owner, ['work', 'ask', 'begin', `own_${owner}`, ...more])
    return isStateless && result !== undefined
      ? { resultType: 'complete', ttlMs: 0, cacheScope: 'private', ...result }
      : result
  }
}

const date = '2026-07-28T10:30:00Z'

function resultOf({ method, params }: Asked, owner: string, tools: readonly string[]): object | undefined {
  const content = [{ type: 'text', text: owner }]
  const capabilities = {
    tools: { listChanged: true },
    resources: { subscribe: true, listChanged: true },
    prompts: {},
    completions: {},
    logging: {},
  }
  const task = {
    taskId: `task-${owner}`,
    status: 'working',
    ttlMs: null,
    createdAt: date,
    lastUpdatedAt: date,
  }
  switch (method) {
    case 'initialize':
      return { protocolVersion: '2025-06-18', capabilities, serverInfo: { name: owner, version: '1' } }
    case 'server/discover':
      return {
        supportedVersions: ['2026-07-28'],
        capabilities: { ...capabilities, extensions: { [TASKS]: {} } },
      }
    case 'tools/list':
      return { tools: tools.map((name) => ({ name, inputSchema: { type: 'object' } })) }
    case 'resources/list':
      return { resources: ['all', owner].map((name) => ({ name, uri: `own://${name}` })) }
    case 'resources/templates/list':
      return { resourceTemplates: [{ name: owner, uriTemplate: `${owner}://{x}` }] }
    case 'prompts/list':
      return { prompts: [{ name: 'p', description: owner }] }
    case 'prompts/get':
      return { messages: [{ role: 'user', content: content[0] }] }
    case 'resources/read':
      return { contents: [{ uri: textAt(params, 'uri'), text: owner }] }
    case 'completion/complete':
      return { completion: { values: [owner] } }
    case 'tools/call':
      return calledOf(textAt(params, 'name'), params, owner, task) ?? { content }
    case 'tasks/get':
      return { ...task, owner }
    case 'ping':
    case 'logging/setLevel':
    case 'resources/subscribe':
    case 'resources/unsubscribe':
      return {}
    default:
      return undefined
  }
}

/** The results of the tools that answer with a task or a question. */
function calledOf(name: string, params: unknown, owner: string, task: object): object | undefined {
  if (name === 'begin') return { resultType: 'task', ...task }
  if (name !== 'ask' || at(params, 'inputResponses') !== undefined) return undefined
  const requestedSchema = { type: 'object', properties: { n: { type: 'string' } } }
  const question = { method: 'elicitation/create', params: { mode: 'form', message: 'n?', requestedSchema } }
  return { resultType: 'input_required', inputRequests: { n: question }, requestState: `state-${owner}` }
}
