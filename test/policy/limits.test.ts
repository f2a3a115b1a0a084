// How often a principal may call tools, and that every way to a tool is counted.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { CallLimits, type LimitRule } from '../../src/policy/limits.js'
import { claim } from '../integration/support/claim.js'
import type { Heard } from '../integration/support/client.js'
import { at, numberAt } from '../integration/support/json.js'
import type { Attached } from '../integration/support/library.js'
import { type Act, type Scripted, enter, scripted, simple, timed } from '../integration/support/scripted.js'
import { asRead } from '../integration/support/programs.js'
import type { Scope } from '../integration/support/spawned.js'

const rule = (more: Partial<LimitRule> = {}): LimitRule => ({
  principal: undefined,
  tools: ['*'],
  perMinute: 60,
  burst: 2,
  each: false,
  ...more,
})

/** A clock, and `take` with the names of a principal and a tool. */
function stage(...rules: LimitRule[]) {
  let now = 0
  const limits = new CallLimits(rules, { now: () => now })
  return {
    limits,
    pass: (ms: number) => void (now += ms),
    take: (principal = 'p', name = 'a__x') => {
      const taken = limits.take({ principal, tool: name, name })
      assert(!(taken instanceof Promise))
      return taken?.waitMs
    },
  }
}

describe('a bucket', () => {
  test('gives as many calls as it holds, and then one for each part of the minute', () => {
    const { take, pass } = stage(rule())
    assert.deepEqual([take(), take(), take()], [undefined, undefined, 1000])
    pass(999)
    assert.equal(Math.round(take() ?? 0), 1)
    pass(1)
    assert.deepEqual([take(), take()], [undefined, 1000])
    pass(3_600_000)
    assert.deepEqual([take(), take(), take()], [undefined, undefined, 1000])
  })

  const cases: readonly (readonly [string, LimitRule[], readonly (readonly [string, string])[], string])[] = [
    ['is of one principal', [rule({ burst: 1 })], [['p', 'a__x'], ['q', 'a__x'], ['p', 'a__x']], '++-'],
    ['is of all tools of a rule', [rule({ burst: 1 })], [['p', 'a__x'], ['p', 'a__y']], '+-'],
    ['may be of each tool', [rule({ burst: 1, each: true })], [['p', 'a__x'], ['p', 'a__y'], ['p', 'a__x']], '++-'],
    ['is for tools by patterns', [rule({ burst: 1, tools: ['a__*', 'b'] })], [['p', 'a__x'], ['p', 'c'], ['p', 'c'], ['p', 'b']], '+++-'],
    ['is for principals by patterns', [rule({ burst: 1, principal: 'ci*' })], [['ci-1', 'x'], ['ci-1', 'x'], ['me', 'x'], ['me', 'x']], '+-++'],
    ['is left alone by a call that another rule refuses', [rule({ burst: 3 }), rule({ burst: 1, tools: ['a'] })], [['p', 'a'], ['p', 'a'], ['p', 'b'], ['p', 'b'], ['p', 'b']], '+-++-'],
  ] // prettier-ignore
  for (const [title, rules, calls, wanted] of cases)
    test(title, () => {
      const { take } = stage(...rules)
      assert.equal(calls.map((call) => (take(...call) === undefined ? '+' : '-')).join(''), wanted)
    })

  test('keeps its fill when a reload adds another rule', () => {
    const { take, limits } = stage(rule())
    take()
    limits.change([rule({ tools: ['other'] }), rule()])
    assert.deepEqual([take(), take()], [undefined, 1000])
    limits.change([])
    limits.change([rule()])
    assert.equal(take(), undefined, 'a rule that has gone leaves nothing')
  })

  test('that was used longest ago makes room for one more than 10,000', () => {
    const { take } = stage(rule({ burst: 1 }))
    for (let at = 0; at < 10_000; at++) take(`p${at}`)
    assert.equal(take('p0'), 1000)
    take('one more')
    assert.equal(take('p0'), 1000)
    assert.equal(take('p1'), undefined)
  })
})

const refusal = ({ value }: Heard): unknown[] => [
  numberAt(value, 'error', 'code'),
  at(value, 'error', 'data', 'reason'),
  at(value, 'error', 'data', 'retryAfterSeconds'),
]
const refused = [-32603, 'rate-limited', 30]

/** Two servers, of which `a` calls its tool otherwise in a profile. */
const servers = { a: { tools: { rename: { t: 'first' } } }, b: {} }
const more = {
  limits: [{ tools: 'a__first', perMinute: 2, burst: 1 }],
  profiles: { p: { tools: { rename: { a__first: 'other' } } } },
}

const act: Act = (method, child) =>
  method === 'tools/list' && child.command === 'b'
    ? '{"tools":[{"name":"u","inputSchema":{"type":"object"}}]}'
    : simple(method, child)

async function proxy(t: Scope): Promise<Scripted> {
  const it = await scripted(t, servers, act, {}, more)
  // Both servers have listed then.
  await enter(it)
  return it
}

const call = (it: Scripted, { client }: Attached, name: string, isStateless = false): Promise<Heard> =>
  timed(it, client.request('tools/call', { name, ...(isStateless && { _meta: claim({}) }) })).then(
    ({ heard }) => heard,
  )

describe('a limit', () => {
  const ways: readonly (readonly [string, { readonly view?: string }, string, boolean])[] = [
    ['the same name', {}, 'a__first', false],
    ["the server's own name", {}, 't', false],
    ['a name of a profile', { view: 'profile:p' }, 'other', false],
    ['the door of its server', { view: 'server:a' }, 'first', false],
    ['a request without a session', {}, 'a__first', true],
    ['a request without a session in a profile', { view: 'profile:p' }, 'other', true],
  ]
  for (const [title, origin, name, isStateless] of ways)
    test(`holds for ${title}`, async (t) => {
      const it = await proxy(t)
      const first = await it.attach({ principal: 'ci' })
      assert.equal(at((await call(it, first, 'a__first')).value, 'error'), undefined)
      const again = await it.attach({ ...origin, principal: 'ci' })
      assert.deepEqual(refusal(await call(it, again, name, isStateless)), refused)
      const other = await it.attach({ ...origin, principal: 'me' })
      assert.equal(at((await call(it, other, name, isStateless)).value, 'error'), undefined)
    })

  test('is one for all clients without a principal, with a session or without', async (t) => {
    const it = await proxy(t)
    const [one, other] = [await it.attach(), await it.attach()]
    assert.equal(at((await call(it, one, 'a__first', true)).value, 'error'), undefined)
    assert.deepEqual(refusal(await call(it, other, 'a__first', true)), refused)
    assert.deepEqual(refusal(await call(it, other, 'a__first')), refused)
  })

  test('counts no call with wrong arguments, and leaves other tools alone', async (t) => {
    const it = await proxy(t)
    const party = await it.attach()
    const wrong = await party.client.request('tools/call', { name: 'a__first', arguments: [] })
    assert.equal(numberAt(wrong.value, 'error', 'code'), -32602)
    for (const name of ['a__first', 'b__u', 'b__u'])
      assert.equal(at((await call(it, party, name)).value, 'error'), undefined, name)
    assert.deepEqual(refusal(await call(it, party, 'a__first')), refused)
    await it.runtime.pass(30_000)
    assert.equal(at((await call(it, party, 'a__first')).value, 'error'), undefined)
  })

  test('of a reload holds for clients that are connected', async (t) => {
    const it = await proxy(t)
    const party = await it.attach()
    await call(it, party, 'a__first')
    const named = Object.fromEntries(
      Object.entries(servers).map(([name, each]) => [name, { command: name, ...each }]),
    )
    await it.proxy.reload(asRead({ mcpServers: named, limits: [{ tools: 'b__*', perMinute: 2, burst: 1 }] }))
    for (const name of ['a__first', 'a__first', 'b__u'])
      assert.equal(at((await call(it, party, name)).value, 'error'), undefined, name)
    assert.deepEqual(refusal(await call(it, party, 'b__u')), refused)
  })
})
