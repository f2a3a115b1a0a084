// The token of one user never serves another: two users, every way from the front to a server, both eras on both sides.

import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { type TestContext, describe, test } from 'node:test'
import { claim } from '../integration/support/claim.js'
import { bearer, gatewayOf, requestFields, tokenOf } from '../integration/support/gateway.js'
import { textAt } from '../integration/support/json.js'
import { itEcho } from '../integration/support/programs.js'
import { type Fields, opened } from '../integration/support/raw-sessions.js'
import { until, untilAnswered } from '../integration/support/waiting.js'
import { EventReader, message, messageIn, open, read } from '../transports/support/http.js'
import { type Kind, OwnersServer, kinds } from './owners-server.js'
import { openRuntime } from '../support/open-runtime.js'
import { storeAtHome } from './place.js'

type Era = 'session' | 'stateless'
type Params = Readonly<Record<string, unknown>>

const users = ['ann', 'bob'] as const
const other = { ann: 'bob', bob: 'ann' } as const
const paths = ['/mcp', '/p/part/mcp', '/servers/own/mcp', '/api/team/mcp'] as const
const askable = { elicitation: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } }

/** A client of one user at one path. */
class Client {
  readonly user: (typeof users)[number]
  readonly #port: number
  readonly #path: string
  readonly #era: Era
  /** The fields of its session. */
  #session: Fields = {}

  constructor(user: (typeof users)[number], port: number, path: string, era: Era) {
    this.user = user
    this.#port = port
    this.#path = path
    this.#era = era
  }

  async open(): Promise<this> {
    const [to, path, headers] = [{ port: this.#port }, this.#path, bearer(`of-${this.user}`)]
    if (this.#era === 'session') this.#session = await opened(to, { path, headers })
    return this
  }

  async ask(method: string, params: Params = {}): Promise<string> {
    return (await read(await this.request('POST', method, params))).body
  }

  /** A request with the token of a user, by its HTTP method; that of the protocol is for POST. */
  request(
    httpMethod: string,
    method = '',
    params: Params = {},
    as: string = this.user,
  ): Promise<IncomingMessage> {
    const isStateless = this.#era === 'stateless'
    const _meta = { ...Object(params['_meta']), 'it/by': as, ...(isStateless && claim(askable)) }
    const task = params['taskId']
    const repeated = requestFields(method, task === undefined ? params : { name: task })
    const headers = { ...this.#session, ...(isStateless && repeated), ...bearer(`of-${as}`) }
    const body = httpMethod === 'POST' ? message(method, 1, { ...params, _meta }) : undefined
    const accept = httpMethod === 'GET' ? { accept: 'text/event-stream' } : {}
    const sent = { path: this.#path, method: httpMethod, headers: { ...headers, ...accept } }
    return open(this.#port, body === undefined ? sent : { ...sent, body })
  }

  /** Opens a stream until the end of the test, and gives a function that gives all its events. */
  async listen(t: TestContext): Promise<() => string> {
    const notifications = { toolsListChanged: true, resourceSubscriptions: ['own://all'] }
    const stream =
      this.#era === 'stateless'
        ? this.request('POST', 'subscriptions/listen', { notifications })
        : this.request('GET')
    const reader = new EventReader(await stream)
    t.after(() => reader.cut())
    return () => JSON.stringify(reader.all)
  }
}

async function place(t: TestContext, kind: Kind, era: Era, more: object = {}) {
  const server = await OwnersServer.open(t, kind)
  const runtime = openRuntime(t)
  const own = { url: server.url, prefix: false, describe: false, auth: { type: 'oauth', perUser: true } }
  const schema = { mcpServers: { own, ...more } }
  const value = {
    server: { tokens: users.map((name) => tokenOf(name, `of-${name}`)) },
    schemas: { default: schema, team: schema },
    profiles: { part: {} },
  }
  for (const user of users) storeAtHome(runtime, user).write(server.login(user))
  const gateway = await gatewayOf(t, value, { runtime, person: 'here' })
  t.after(() => {
    for (const user of users) storeAtHome(runtime, user).remove(server.url)
  })
  const open = async (user: (typeof users)[number], path = '/mcp'): Promise<Client> => {
    const client = await new Client(user, gateway.port, path, era).open()
    await untilAnswered(async () => (await client.ask('tools/list')).includes(`own_${user}`))
    return client
  }
  return { server, open }
}

/** Each request of a user went with the token of that user, and in a session of it. */
function assertOwned({ served }: OwnersServer): void {
  const owners = new Map<string, string>()
  for (const { owner, session, body } of served) {
    const [, by = owner] = /"it\/by":"(\w+)"/.exec(body) ?? []
    assert.equal(by, owner, body)
    if (session !== undefined) assert.equal(owners.get(session) ?? owner, owner)
    if (session !== undefined) owners.set(session, owner)
  }
  for (const user of users) assert(served.some(({ owner }) => owner === user))
}

const work = { name: 'work', arguments: {} }
/** Each answer names its owner. */
const requests: readonly [method: string, params: Params][] = [
  ['tools/list', {}],
  ['resources/list', {}],
  ['resources/templates/list', {}],
  ['prompts/list', {}],
  ['tools/call', work],
  ['tools/call', { ...work, _meta: { progressToken: 'p' } }],
  ['resources/read', { uri: 'own://all' }],
  ['prompts/get', { name: 'p' }],
  ['completion/complete', { ref: { type: 'ref/prompt', name: 'p' }, argument: { name: 'a', value: '' } }],
]

describe('the token of one user never serves another', () => {
  for (const kind of kinds)
    for (const era of ['session', 'stateless'] as const) {
      test(`${era} client, server with ${kind}: every request at every path`, async (t) => {
        const { server, open } = await place(t, kind, era, { more: itEcho() })
        for (const path of paths) {
          const clients = await Promise.all(users.map((user) => open(user, path)))
          for (const [method, params] of requests)
            await Promise.all(
              clients.map(async (client) => {
                const answer = await client.ask(method, params)
                assert.match(answer, new RegExp(client.user), `${path} ${method}`)
                assert.doesNotMatch(answer, new RegExp(other[client.user]), `${path} ${method}`)
              }),
            )
        }
        assertOwned(server)
      })

      test(`${era} client, server with ${kind}: after a 401 the token of that user is renewed`, async (t) => {
        const { server, open } = await place(t, kind, era)
        const clients = await Promise.all(users.map((user) => open(user)))
        for (const user of users) {
          server.expire(user)
          const answers = await Promise.all(clients.map((client) => client.ask('tools/call', work)))
          for (const [at, answer] of answers.entries()) assert.match(answer, new RegExp(users[at] ?? '-'))
        }
        const renewed = server.served.filter(({ method }) => method === 'token')
        const owners = renewed.map(({ owner }) => owner)
        assert.deepEqual(owners, users)
        assertOwned(server)
      })

      test(`${era} client, server with ${kind}: changes reach the user to whom they happen`, async (t) => {
        const { server, open } = await place(t, kind, era)
        const clients = await Promise.all(users.map((user) => open(user)))
        const heard = await Promise.all(clients.map((client) => client.listen(t)))
        if (era === 'session')
          for (const client of clients) await client.ask('resources/subscribe', { uri: 'own://all' })
        // A server without sessions that has no subscriptions either says nothing by itself.
        if (kind === 'handshake') return assertOwned(server)
        for (const user of users) await until(() => server.streamsOf(user) > 0)
        for (const [index, user] of users.entries()) {
          const wanted = ['list_changed', 'resources/updated']
          // A subscription may reach the server after the stream has opened.
          await untilAnswered(async () => {
            server.change(user)
            return wanted.every((each) => heard[index]?.().includes(each) === true)
          })
          if (index === 0) assert.doesNotMatch(heard[1]?.() ?? '', /list_changed|updated|ann/)
        }
        for (const [index, user] of users.entries())
          assert.doesNotMatch(heard[index]?.() ?? '', new RegExp(other[user]))
        assertOwned(server)
      })
    }

  test('a session that another user shows is not found, by POST, GET and DELETE', async (t) => {
    const { server, open } = await place(t, 'sessions', 'session')
    const [ann] = [await open('ann'), await open('bob')]
    for (const httpMethod of ['POST', 'GET', 'DELETE']) {
      const { statusCode } = await ann.request(httpMethod, 'tools/call', work, 'bob')
      assert.equal(statusCode, 404, httpMethod)
    }
    assert(server.served.every(({ method }) => method !== 'tools/call' && method !== 'DELETE'))
    assert.match(await ann.ask('tools/call', work), /ann/)
  })

  test('a question is answered with the state that its user got', async (t) => {
    const { server, open } = await place(t, 'stateless', 'stateless')
    const [ann, bob] = [await open('ann'), await open('bob')]
    const asked = messageIn(await ann.ask('tools/call', { name: 'ask', arguments: {} }))
    const again = {
      name: 'ask',
      arguments: {},
      requestState: textAt(asked, 'result', 'requestState'),
      inputResponses: { n: { action: 'accept', content: { n: 'x' } } },
    }
    assert.match(await bob.ask('tools/call', again), /"error"/)
    assert.match(await ann.ask('tools/call', again), /"text":"ann"/)
    const states = server.served.filter(({ body }) => body.includes('state-ann'))
    const owners = states.map(({ owner }) => owner)
    assert.deepEqual(owners, ['ann'])
    assertOwned(server)
  })

  test('a task is of the user who began it', async (t) => {
    const { server, open } = await place(t, 'stateless', 'stateless')
    const [ann, bob] = [await open('ann'), await open('bob')]
    const begun = textAt(
      messageIn(await ann.ask('tools/call', { name: 'begin', arguments: {} })),
      'result',
      'taskId',
    )
    for (const method of ['tasks/get', 'tasks/cancel'])
      assert.match(await bob.ask(method, { taskId: begun }), /"error"/)
    assert.match(await ann.ask('tasks/get', { taskId: begun }), /"owner":"ann"/)
    assert(server.served.every(({ owner, body }) => owner === 'ann' || !body.includes('task-ann')))
    assertOwned(server)
  })
})
