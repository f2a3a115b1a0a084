// Messages of servers to a client of either era.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { type NotificationFrame } from '../../../src/jsonrpc/frame.js'
import { limits } from '../../../src/limits.js'
import type { Call, Asker } from '../../../src/calls/call.js'
import { CatalogView } from '../../../src/proxy/routing/views.js'
import type { RoutedClient } from '../../../src/proxy/routing/router.js'
import { FakeServer } from '../support/fake-server.js'
import { FakeConnection, stageOf } from '../support/stage.js'
import { notificationOf, requestOf } from '../../jsonrpc/support/frames.js'

class Answers implements Asker {
  readonly service = 's'
  readonly got: string[] = []

  onAnswer({ line }: { readonly line: Buffer }, id: string): void {
    this.got.push(`${id} ${/"result":(.*)\}$/.exec(line.toString())?.[1]}`)
  }

  onRefusal(id: string): void {
    this.got.push(`${id} refused`)
  }

  onProgress(): void {}
}

type Era = 'session' | 'stateless'

const elicit = '{"capabilities":{"elicitation":{}}'
const claim = (level = ''): string =>
  `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}${level}}`

/** A client with a call in flight, and another client. */
class Scene {
  readonly connection = new FakeConnection()
  readonly other = new FakeConnection()
  readonly answers = new Answers()
  readonly #era: Era
  readonly #server = new FakeServer('s', { tools: ['t'] }, [])
  readonly #stage = stageOf([this.#server.lane])
  readonly client: RoutedClient
  readonly call: Call

  constructor(era: Era, { isReady = true, level = '' } = {}) {
    this.#era = era
    const { clients } = this.#stage
    for (const [connection, principal] of [
      [this.other, 'other'],
      [this.connection, 'one'],
    ] as const) {
      clients.attach(connection, { principal }, new CatalogView(''))
      if (era === 'session')
        connection.says(
          `{"id":0,"method":"initialize","params":${elicit},"protocolVersion":"2025-06-18","clientInfo":{}}}`,
        )
      if (era === 'session' && isReady) connection.says('{"method":"notifications/initialized"}')
      this.calls(7, level === '' ? '' : `,"io.modelcontextprotocol/logLevel":"${level}"`, connection)
      connection.got()
    }
    assert(this.#server.last !== undefined)
    this.client = this.#stage.latest()
    this.call = this.#server.last
  }

  calls(id: number, level = '', connection = this.connection, more = ''): void {
    const meta = this.#era === 'session' ? '' : `,${claim(level)}`
    connection.says(`{"id":${id},"method":"tools/call","params":{"name":"s__t"${more}${meta}}}`)
  }

  asks(id: number, during: Call | undefined): boolean {
    const frame = requestOf(
      `{"jsonrpc":"2.0","id":${id},"method":"elicitation/create","params":{"message":"?"}}`,
    )
    return this.client.questions.ask({ frame, asker: this.answers, during, onEnd: () => {} })
  }

  /** The messages that the client receives within this time. */
  async gets(ms = 0): Promise<string[]> {
    await this.#stage.runtime.pass(ms)
    assert.deepEqual(this.other.got(), [], 'the other client gets nothing')
    return this.connection.got()
  }

  grows(): void {
    this.#lists(['t', 'more'])
  }

  shrinks(): void {
    this.#lists(['t'])
  }

  leaves(): void {
    if (this.#era === 'session') void this.connection.close()
    else this.#stage.clients.close()
  }

  #lists(tools: readonly string[]): void {
    this.#server.lists = { tools }
    this.client.listsChanged(['tools'])
  }
}

const notification = (method: string, params = '{}'): NotificationFrame =>
  notificationOf(`{"jsonrpc":"2.0","method":"${method}","params":${params}}`)

const PROGRESS = '{"method":"notifications/progress","params":{}}'
const log = (level: string): NotificationFrame =>
  notification('notifications/message', `{"level":"${level}"}`)
const logged = (level: string): string => `{"method":"notifications/message","params":{"level":"${level}"}}`
const CHANGED = '{"method":"notifications/tools/list_changed"}'

describe('a client with a session', () => {
  test('gets each notification of its servers', async () => {
    const { client, call, connection } = new Scene('session')
    client.tell(notification('notifications/progress'), [], undefined)
    client.tell(notification('notifications/progress'), [], call)
    assert.deepEqual(connection.got(), [PROGRESS, PROGRESS])
  })

  test('gets log messages from its level on', async () => {
    const scene = new Scene('session')
    scene.connection.says('{"id":2,"method":"logging/setLevel","params":{"level":"warning"}}')
    for (const level of ['info', 'warning', 'odd']) scene.client.log(log(level), undefined)
    assert.deepEqual(await scene.gets(), ['{"id":2,"result":{}}', logged('warning'), logged('odd')])
  })

  test('is asked on its connection, with an id that no question had before', async () => {
    const scene = new Scene('session')
    assert.equal(scene.asks(1, scene.call) && scene.asks(1, undefined), true)
    const ids = (await scene.gets()).map((sent) => /"id":("?[^,]+)/.exec(sent)?.[1] ?? '')
    assert.equal(new Set(ids).size, 2)
    for (const [at, id] of ids.entries()) scene.connection.says(`{"id":${id},"result":{"at":${at}}}`)
    assert.deepEqual(scene.answers.got, ['1 {"at":0}', '1 {"at":1}'])
  })

  test('is asked what came before it was ready as soon as it is, but for what was withdrawn', async () => {
    const scene = new Scene('session', { isReady: false })
    assert.equal(scene.asks(1, undefined) && scene.asks(2, undefined), true)
    scene.client.questions.withdraw(notification('notifications/cancelled', '{"requestId":1}'), scene.answers)
    assert.deepEqual(await scene.gets(), [])
    scene.connection.says('{"method":"notifications/initialized"}')
    assert.deepEqual(await scene.gets(), ['{"id":1,"method":"elicitation/create","params":{"message":"?"}}'])
  })

  test('is asked no more than so many questions before it is ready', () => {
    const scene = new Scene('session', { isReady: false })
    const { earlyMax } = limits.session
    const asked = Array.from({ length: earlyMax + 1 }, (_, id) => scene.asks(id, undefined))
    assert.deepEqual([asked.filter((isAsked) => isAsked).length, asked.at(-1)], [earlyMax, false])
  })

  test('gets one notification of a list that it has and that looks different', async () => {
    const scene = new Scene('session')
    scene.grows()
    assert.deepEqual(await scene.gets(limits.session.changeDelayMs), [], 'it has no list yet')
    scene.connection.says('{"id":2,"method":"tools/list"}')
    await scene.gets()
    scene.client.listsChanged(['tools'])
    assert.deepEqual(await scene.gets(limits.session.changeDelayMs), [], 'the list looks as before')
    scene.shrinks()
    assert.deepEqual(await scene.gets(limits.session.changeDelayMs), [CHANGED])
  })

  for (const isReady of [true, false])
    test(`that sends nothing any more, ${isReady ? '' : 'not '}ready, answers no question, and gets its answers`, async () => {
      const scene = new Scene('session', { isReady })
      assert.equal(scene.asks(1, scene.call), true)
      await scene.gets()
      scene.connection.ends()
      assert.deepEqual(scene.answers.got, ['1 refused'])
      assert.equal(scene.asks(2, scene.call), false)
      scene.call.settle({ kind: 'result', result: '{}' })
      assert.deepEqual(await scene.gets(), ['{"id":7,"result":{}}'])
    })

  test('leaves its questions refused', () => {
    const scene = new Scene('session')
    scene.asks(1, scene.call)
    scene.leaves()
    assert.deepEqual(scene.answers.got, ['1 refused'])
    assert.equal(scene.call.isSettled, true)
  })
})

describe('a client without a session', () => {
  test('gets notifications about its calls, and no others', async () => {
    const { client, call, connection } = new Scene('stateless')
    client.tell(notification('notifications/progress'), [], undefined)
    assert.deepEqual(connection.got(), [])
    client.tell(notification('notifications/progress'), [], call)
    assert.deepEqual(connection.got(), [PROGRESS])
  })

  for (const [level, wanted] of [
    ['', []],
    ['warning', [logged('warning')]],
  ] as const)
    test(`gets log messages about its call as its request asks: ${level || 'none'}`, async () => {
      const scene = new Scene('stateless', { level })
      for (const during of [scene.call, undefined])
        for (const said of ['info', 'warning']) scene.client.log(log(said), during)
      assert.deepEqual(await scene.gets(), wanted)
    })

  test('is asked with the answer of its call, and answers with the same call', async () => {
    const scene = new Scene('stateless')
    assert.equal(scene.asks(1, undefined), false, 'outside of a call')
    assert.equal(scene.asks(1, scene.call), true)
    const [asked = ''] = await scene.gets(limits.pendingInput.gatherMs)
    assert.match(asked, /^\{"id":7,"result":\{"resultType":"input_required"/)
    const state = /"requestState":("[^"]+")/.exec(asked)?.[1] ?? ''
    scene.calls(
      8,
      '',
      scene.connection,
      `,"requestState":${state},"inputResponses":{"q1":{"action":"accept"}}`,
    )
    assert.deepEqual(scene.answers.got, ['1 {"action":"accept"}'])
    scene.client.tell(notification('notifications/progress'), [], scene.call)
    scene.call.settle({ kind: 'result', result: '{"x":1}' })
    assert.deepEqual(await scene.gets(), [PROGRESS, '{"id":8,"result":{"resultType":"complete","x":1}}'])
  })

  test('is asked no more than so much at once', () => {
    const scene = new Scene('stateless')
    const { questionsMax } = limits.pendingInput
    const asked = Array.from({ length: questionsMax + 1 }, (_, id) => scene.asks(id, scene.call))
    assert.deepEqual([asked.filter((isAsked) => isAsked).length, asked.at(-1)], [questionsMax, false])
  })

  test('gets changes of lists on the request that asks for them', async () => {
    const scene = new Scene('stateless')
    scene.grows()
    assert.deepEqual(await scene.gets(limits.session.changeDelayMs), [])
    scene.connection.says(
      `{"id":9,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},${claim()}}}`,
    )
    assert.match((await scene.gets()).join(), /acknowledged/)
    scene.shrinks()
    const [changed = ''] = await scene.gets(limits.session.changeDelayMs)
    assert.match(changed, /^\{"method":"notifications\/tools\/list_changed".*subscriptionId":9/)
  })

  test('is told what changed while a server was asked about the resources of that request', async () => {
    const scene = new Scene('stateless')
    const filter = '{"toolsListChanged":true,"resourceSubscriptions":["a:b"]}'
    scene.connection.says(
      `{"id":9,"method":"subscriptions/listen","params":{"notifications":${filter},${claim()}}}`,
    )
    scene.grows()
    assert.match((await scene.gets(1000)).join(), /acknowledged/)
    assert.match((await scene.gets(limits.session.changeDelayMs)).join(), /tools\/list_changed/)
  })

  test('leaves its questions cancelled, and their calls', async () => {
    const scene = new Scene('stateless')
    scene.asks(1, scene.call)
    await scene.gets(limits.pendingInput.gatherMs)
    scene.leaves()
    assert.deepEqual(scene.answers.got, ['1 {"action":"cancel"}'])
    assert.equal(scene.call.isSettled, true)
  })
})
