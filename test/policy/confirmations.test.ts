// Calls that a person must agree to: for clients and servers of either era, and for clients that cheat.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { claim } from '../integration/support/claim.js'
import type { Heard } from '../integration/support/client.js'
import { at, textAt } from '../integration/support/json.js'
import type { Attached } from '../integration/support/library.js'
import {
  type Act,
  type Scripted,
  enter,
  handshake,
  scripted,
  timed,
} from '../integration/support/scripted.js'
import type { Scope } from '../integration/support/spawned.js'

const V = '2026-07-28'
const hints = '"resultType":"complete","ttlMs":0,"cacheScope":"private"'

interface Stage extends Scripted {
  /** Each call that a server got. */
  readonly got: string[]
}

/** A server of each era; `ask` of the new one wants to know something first. */
async function stage(t: Scope, confirm: unknown = ['delete*', 'ask'], more: object = {}): Promise<Stage> {
  const got: string[] = []
  const named = ['delete', 'read', 'ask']
    .map((name) => `{"name":"${name}","inputSchema":{"type":"object"}}`)
    .join(',')
  const act: Act = (method, { command }, params) => {
    const isNew = command === 'new'
    if (method === 'server/discover' && isNew)
      return `{${hints},"supportedVersions":["${V}"],"capabilities":{"tools":{}},"serverInfo":{"name":"n","version":"1"}}`
    if (method === 'initialize') return handshake(command)
    if (method === 'tools/list') return `{${isNew ? `${hints},` : ''}"tools":[${named}]}`
    if (method !== 'tools/call') return '{}'
    const { _meta, ...own } = { _meta: undefined, ...Object(params) }
    got.push(`${command} ${JSON.stringify(own)}`)
    const wantsMore = isNew && own.name === 'ask' && own.requestState === undefined
    return wantsMore
      ? '{"resultType":"input_required","requestState":"mine"}'
      : `{${isNew ? '"resultType":"complete",' : ''}"content":[]}`
  }
  const servers = { old: { confirm }, new: { confirm, protocol: V } }
  const it = await scripted(t, servers, act, {}, { ...more })
  await enter(it)
  return { ...it, got }
}

const forms = { elicitation: {} }
const error = ({ value }: Heard): unknown[] => [
  at(value, 'error', 'code'),
  at(value, 'error', 'data', 'reason'),
  /: (.*)/.exec(textAt(value, 'error', 'message'))?.[1],
]
const refusal = (why: string): unknown[] => [-1, 'not-confirmed', why]
const isDone = ({ value }: Heard): boolean => at(value, 'result', 'content') !== undefined

/** Answers the next question, and gives its message. */
function answering({ client }: Attached, answer: string): string[] {
  const asked: string[] = []
  client.onRequest = (_method, params) => {
    asked.push(textAt(params, 'message'))
    return answer
  }
  return asked
}

const send = async (
  it: Stage,
  { client }: Attached,
  params: object,
  capabilities?: object,
): Promise<Heard> => {
  const meta = capabilities && { _meta: claim(capabilities) }
  return (await timed(it, client.request('tools/call', { ...params, ...meta }))).heard
}

const ask = ({ client }: Attached, params: object): Promise<Heard> =>
  client.request('tools/call', { ...params, _meta: claim(forms) })

/** The same call again, with an answer. */
const again = (asked: Heard, action?: string): object => ({
  requestState: textAt(asked.value, 'result', 'requestState'),
  ...(action !== undefined && { inputResponses: { q1: { action } } }),
})

const answers: readonly (readonly [string, string | undefined])[] = [
  ['accept', undefined],
  ['decline', 'its user has declined'],
  ['cancel', 'its user has not agreed'],
  ['', 'its user has not agreed'],
]

describe('a call that needs consent', () => {
  for (const server of ['old', 'new'])
    for (const [action, why] of answers) {
      const params = { name: `${server}__delete`, arguments: { path: '/a' } }
      const sent = `${server} {"name":"delete","arguments":{"path":"/a"}}`
      test(`of a client with a session for the ${server} server: ${action}`, async (t) => {
        const it = await stage(t)
        const party = await enter(it, forms)
        const asked = answering(party, `{"action":"${action}"}`)
        const heard = await send(it, party, params)
        assert.equal(
          asked.join(),
          `Allow this call of the tool 'delete' of the server '${server}'?\n\nArguments: {"path":"/a"}`,
        )
        if (why === undefined) assert(isDone(heard), heard.text)
        else assert.deepEqual(error(heard), refusal(why))
        assert.deepEqual(it.got, why === undefined ? [sent] : [])
      })

      test(`of a client without a session for the ${server} server: ${action}`, async (t) => {
        const it = await stage(t)
        const party = await it.attach({ principal: 'p' })
        const asked = await send(it, party, params, forms)
        assert.equal(at(asked.value, 'result', 'inputRequests', 'q1', 'method'), 'elicitation/create')
        assert.deepEqual(it.got, [])
        const heard = await send(it, party, { ...params, ...again(asked, action) }, forms)
        if (why === undefined) assert(isDone(heard), heard.text)
        else assert.deepEqual(error(heard), refusal(why))
        assert.deepEqual(it.got, why === undefined ? [sent] : [])
      })
    }

  const unable: readonly (readonly [string, object])[] = [
    ['its client has not declared elicitation', {}],
    ['its client has declared no elicitation by forms', { elicitation: { url: {} } }],
  ]
  for (const [what, capabilities] of unable)
    test(`is refused where ${what}`, async (t) => {
      const it = await stage(t)
      const [session, other] = [await enter(it, capabilities), await it.attach()]
      const wanted = refusal(`its user cannot be asked, because ${what}`)
      assert.deepEqual(error(await send(it, session, { name: 'old__delete' })), wanted)
      assert.deepEqual(error(await send(it, other, { name: 'old__delete' }, capabilities)), wanted)
      assert.deepEqual(it.got, [])
    })

  test('is refused after five minutes, and its question is taken back', async (t) => {
    const it = await stage(t)
    const { client } = await enter(it, forms)
    const late = client.request('tools/call', { name: 'old__delete' })
    await it.runtime.pass(299_000)
    assert(!client.heard.some(({ value }) => at(value, 'method') === 'notifications/cancelled'))
    await it.runtime.pass(2000)
    assert.deepEqual(error(await late), refusal('its user has not agreed'))
    await client.notification('notifications/cancelled')
  })

  test('is gone with its client, or when that gives it up', async (t) => {
    const it = await stage(t)
    const [leaver, quitter] = [await enter(it, forms), await enter(it, forms)]
    void leaver.client.request('tools/call', { name: 'old__delete' }).catch(() => undefined)
    const question = leaver.client.next('a question', ({ value }) => at(value, 'method') !== undefined)
    await it.runtime.until(question)
    await leaver.connection.close()
    const asked = quitter.client.next(
      'a question',
      ({ value }) => at(value, 'method') === 'elicitation/create',
    )
    quitter.client.send('{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"old__delete"}}')
    const itsQuestion = await it.runtime.until(asked)
    quitter.client.notify('notifications/cancelled', { requestId: 'x' })
    quitter.client.respond(itsQuestion, { action: 'accept' })
    await it.runtime.pass(1000)
    assert.deepEqual(it.got, [])
    assert.equal(quitter.client.answersTo('x'), 0)
  })

  test('goes on with a server that asks for more, without another question', async (t) => {
    const it = await stage(t)
    const party = await it.attach()
    const params = { name: 'new__ask', arguments: {} }
    const asked = await send(it, party, params, forms)
    const more = await send(it, party, { ...params, ...again(asked, 'accept') }, forms)
    assert.equal(textAt(more.value, 'result', 'requestState').endsWith('mine'), true, more.text)
    assert(isDone(await send(it, party, { ...params, ...again(more) }, forms)))
    assert.deepEqual(it.got.at(-1), 'new {"name":"ask","arguments":{},"requestState":"mine"}')
    const replayed = await send(it, party, { ...params, ...again(more) }, forms)
    assert.notEqual(at(replayed.value, 'result', 'inputRequests', 'q1'), undefined, replayed.text)
    assert.equal(it.got.length, 2)
  })
})

describe('a state', () => {
  const name = 'old__delete'
  const mine = { principal: 'p' }
  const call = { name, arguments: { n: 1 } }
  type Cheat = (asked: Heard) => object
  const cheats: readonly (readonly [string, Cheat, string, { readonly principal?: string }?, string?])[] = [
    ['that is used again', (asked) => ({ ...call, ...again(asked, 'accept') }), 'state-unknown'],
    ['of another principal', (asked) => ({ ...call, ...again(asked, 'accept') }), 'state-unknown', { principal: 'q' }],
    ['that was altered', (asked) => ({ ...call, ...again(asked, 'accept'), requestState: `${textAt(again(asked), 'requestState').slice(0, -1)}_` }), 'state-unknown'],
    ['with other arguments', (asked) => ({ ...call, arguments: { n: 2 }, ...again(asked, 'accept') }), 'state-other-request'],
    ['for another tool', (asked) => ({ ...call, name: 'new__delete', ...again(asked, 'accept') }), 'state-other-request'],
    ['for a tool without a question', (asked) => ({ ...call, name: 'old__read', ...again(asked, 'accept') }), 'state-other-request'],
    ['for something else than a tool', (asked) => ({ ...call, ...again(asked, 'accept') }), 'state-unknown', mine, 'prompts/get'],
  ] // prettier-ignore
  for (const [title, cheat, reason, origin = mine, method = 'tools/call'] of cheats)
    test(`${title} is a no`, async (t) => {
      const it = await stage(t)
      const party = await it.attach(mine)
      const asked = await send(it, party, call, forms)
      if (title.includes('again')) await send(it, party, { ...call, ...again(asked, 'accept') }, forms)
      const before = it.got.length
      const cheater = origin === mine ? party : await it.attach(origin)
      const params = { ...cheat(asked), _meta: claim(forms) }
      const { heard } = await timed(it, cheater.client.request(method, params))
      assert.deepEqual(error(heard).slice(0, 2), [-32602, reason], heard.text)
      assert.equal(it.got.length, before)
    })

  test('expires after five minutes; a call without an answer is asked about anew', async (t) => {
    const it = await stage(t)
    const party = await it.attach(mine)
    const asked = await send(it, party, call, forms)
    const other = await send(it, party, { ...call, ...again(asked) }, forms)
    assert.notEqual(at(other.value, 'result', 'inputRequests', 'q1'), undefined)
    await it.runtime.pass(301_000)
    const late = await send(it, party, { ...call, ...again(other, 'accept') }, forms)
    assert.deepEqual(error(late).slice(0, 2), [-32602, 'state-unknown'])
    assert.deepEqual(it.got, [])
  })

  test('is given to a principal 128 times, and to others still', async (t) => {
    const it = await stage(t)
    const [party, other] = [await it.attach(mine), await it.attach({ principal: 'q' })]
    const all = Array.from({ length: 128 }, () => ask(party, call))
    for (const asked of await it.runtime.until(Promise.all(all)))
      assert(asked.text.includes('requestState'), asked.text)
    const found = error(await ask(party, call))
    assert.deepEqual(found, refusal('its client cannot be asked elicitation/create now'))
    assert((await it.runtime.until(ask(other, call))).text.includes('requestState'))
  })
})

test('the rules hold under every name, show what a profile sets, and count a call once', async (t) => {
  const tools = {
    rename: { old__delete: 'tidy' },
    set: { old__delete: { path: '/b', password: 'hunter2!' } },
  }
  const limits = [{ tools: '*', perMinute: 1 }]
  const it = await stage(t, ['delete'], { profiles: { p: { tools } }, limits })
  const party = await it.attach({ view: 'profile:p' })
  const params = { name: 'tidy', arguments: { 'a\u202eb': 1 } }
  const asked = await send(it, party, params, forms)
  const message = textAt(asked.value, 'result', 'inputRequests', 'q1', 'params', 'message')
  assert(message.endsWith('{"path":"/b","password":"[redacted]","a\\u202eb":1}'), message)
  assert(isDone(await send(it, party, { ...params, ...again(asked, 'accept') }, forms)))
  assert.deepEqual(error(await send(it, party, params, forms)).slice(0, 2), [-32603, 'rate-limited'])
})
