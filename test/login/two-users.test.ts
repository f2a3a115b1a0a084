// The token of one user never serves another: two users, every way from the front to a server, both eras on both sides.

import assert from 'node:assert/strict'
import { type TestContext, describe, test } from 'node:test'
import { claim } from '../integration/support/claim.js'
import { gatewayOf, requestFields, tokenOf } from '../integration/support/gateway.js'
import { textAt } from '../integration/support/json.js'
import { itEcho } from '../integration/support/programs.js'
import { until, untilAnswered } from '../integration/support/waiting.js'
import { messageIn } from '../transports/support/http.js'
import { type Kind, OwnersServer, kinds } from './owners-server.js'
import { openRuntime, storeAtHome } from './place.js'

type Era = 'session' | 'stateless'
type Params = Readonly<Record<string, unknown>>

const users = ['ann', 'bob'] as const
const other = { ann: 'bob', bob: 'ann' } as const
const paths = ['/mcp', '/p/part/mcp', '/servers/own/mcp', '/api/team/mcp'] as const
const askable = { elicitation: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } }

/** A client of one user at one path. */
class Client {
  readonly user: (typeof users)[number]
  readonly url: string
  readonly #era: Era
  session: string | undefined

  constructor(user: (typeof users)[number], url: string, era: Era) {
    this.user = user
    this.url = url
    this.#era = era
  }

  async open(): Promise<this> {
    if (this.#era === 'stateless') return this
    const opening = {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'it', version: '1' },
    }
    const response = await this.post('initialize', opening)
    this.session = response.headers.get('mcp-session-id') ?? undefined
    await response.text()
    await (await this.post('notifications/initialized')).text()
    return this
  }

  async ask(method: string, params: Params = {}): Promise<string> {
    return (await this.post(method, params)).text()
  }

  /** `as` is the user whose token is shown. */
  post(method: string, params: Params = {}, as: string = this.user): Promise<Response> {
    const isStateless = this.#era === 'stateless'
    const meta = { ...Object(params['_meta']), 'it/by': as, ...(isStateless && claim(askable)) }
    const id = method.startsWith('notifications/') ? {} : { id: 1 }
    const body = JSON.stringify({ jsonrpc: '2.0', ...id, method, params: { ...params, _meta: meta } })
    const task = params['taskId']
    const headers = {
      ...fields(as),
      'content-type': 'application/json',
      'mcp-protocol-version': '2025-06-18',
      ...(isStateless && requestFields(method, task === undefined ? params : { name: task })),
      ...(this.session !== undefined && { 'mcp-session-id': this.session }),
    }
    return fetch(this.url, { method: 'POST', headers, body })
  }

  /** What comes by itself; ends with the test. */
  async listen(t: TestContext): Promise<{ text: string }> {
    const notifications = { toolsListChanged: true, resourceSubscriptions: ['own://all'] }
    const headers = { ...fields(this.user), 'mcp-session-id': this.session ?? '' }
    const response =
      this.#era === 'stateless'
        ? await this.post('subscriptions/listen', { notifications })
        : await fetch(this.url, { headers: { ...headers, accept: 'text/event-stream' } })
    const heard = { text: '' }
    const reader = response.body?.getReader()
    t.after(() => reader?.cancel())
    const decoder = new TextDecoder()
    const read = async (): Promise<void> => {
      for (;;) {
        const { value, done } = (await reader?.read()) ?? { done: true, value: undefined }
        if (done) return
        heard.text += decoder.decode(value, { stream: true })
      }
    }
    read().catch(() => undefined)
    return heard
  }
}

const fields = (user: string): Record<string, string> => ({
  accept: 'application/json, text/event-stream',
  authorization: `Bearer of-${user}`,
})

async function place(t: TestContext, kind: Kind, era: Era) {
  const server = await OwnersServer.open(t, kind)
  const runtime = openRuntime(t)
  const own = { url: server.url, prefix: false, describe: false, auth: { type: 'oauth', perUser: true } }
  const schema = { mcpServers: { own, more: itEcho() } }
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
    const client = await new Client(user, `${gateway.origin}${path}`, era).open()
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
        const { server, open } = await place(t, kind, era)
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
        assert.deepEqual(
          renewed.map(({ owner }) => owner),
          users,
        )
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
          // A subscription may reach the server after the stream is there.
          await untilAnswered(async () => {
            server.change(user)
            return wanted.every((each) => heard[index]?.text.includes(each) === true)
          })
          if (index === 0) assert.doesNotMatch(heard[1]?.text ?? '', /list_changed|updated|ann/)
        }
        for (const [index, user] of users.entries())
          assert.doesNotMatch(heard[index]?.text ?? '', new RegExp(other[user]))
        assertOwned(server)
      })
    }

  test('a session that another user shows is not found, by POST, GET and DELETE', async (t) => {
    const { server, open } = await place(t, 'sessions', 'session')
    const [ann] = [await open('ann'), await open('bob')]
    assert.equal((await ann.post('tools/call', work, 'bob')).status, 404)
    const headers = { ...fields('bob'), 'mcp-session-id': ann.session ?? '' }
    for (const method of ['GET', 'DELETE'])
      assert.equal((await fetch(ann.url, { method, headers })).status, 404)
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
    assert.deepEqual(
      states.map(({ owner }) => owner),
      ['ann'],
    )
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
