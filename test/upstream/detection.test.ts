// How the first answer of a stdio server determines its revision.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { at } from '../integration/support/json.js'
import type { Scope } from '../integration/support/spawned.js'
import { limits } from '../../src/index.js'
import { type FakeChild, type Script, polite, settled } from './support/fake-runtime.js'
import { served } from './support/served.js'

const N = '2026-07-28'
const V = 'io.modelcontextprotocol/protocolVersion'
const { probeMs } = limits.upstream

const description = (versions: readonly string[]): string =>
  `{"resultType":"complete","supportedVersions":${JSON.stringify(versions)},"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}`

function refusal(child: FakeChild, error: string): undefined {
  child.say(`{"jsonrpc":"2.0","id":${child.lastId},"error":${error}}`)
}

const stateless: Script = (method, params, child) => {
  const [version] = [at(params, '_meta', V)]
  if (version !== N) return refusal(child, `{"code":-32602,"message":"no _meta"}`)
  switch (method) {
    case 'server/discover':
      return description([N])
    case 'tools/list':
      return '{"resultType":"complete","tools":[{"name":"t","inputSchema":{"type":"object"}}],"ttlMs":0,"cacheScope":"private"}'
    case 'tools/call':
      return '{"resultType":"complete","content":[{"type":"text","text":"typed"}]}'
    default:
      return refusal(child, '{"code":-32601,"message":"no such method"}')
  }
}

/** Answers `server/discover` with this error, and other requests as a server with sessions. */
const answering =
  (error: string): Script =>
  (method, params, child) =>
    method === 'server/discover' ? refusal(child, error) : polite(method, params, child)

async function run(t: Scope, script: Script, more: object = {}) {
  const { client, log, proxy, runtime } = await served(t, script, { entry: more })
  await runtime.pass(1000)
  return {
    runtime,
    heard: () => runtime.children.map(({ heard }) => heard),
    revision: () => proxy.status()[0]?.revision,
    evidence: () => proxy.status()[0]?.evidence,
    state: () => proxy.status()[0]?.state,
    call: async () => {
      const calling = client.call('s__t')
      await runtime.pass(1000)
      return (await calling).text
    },
    ask: async (method: string) => {
      const asking = client.request(method)
      await runtime.pass(1000)
      return (await asking).text
    },
    problems: () => log.flatMap(({ level, message }) => (level === 'error' ? [message] : [])),
  }
}

const O = ['server/discover', 'initialize', 'notifications/initialized', 'tools/list']

const silent: Script = (method, ...rest) =>
  method === 'server/discover' ? undefined : polite(method, ...rest)

const evident: readonly (readonly [found: string, script: Script, entry?: object])[] = [
  ['described', stateless],
  ['unlisted', polite],
  ['refused', answering('{"code":-32601,"message":"no"}')],
  ['configured', polite, { protocol: 'legacy' }],
]

for (const [found, script, entry] of evident)
  test(`the status says by what the revision is known: ${found}`, async (t) => {
    assert.equal((await run(t, script, entry)).evidence(), found)
  })

test('a server that ends on the first question starts again, also without restarts, unless it says why', async (t) => {
  for (const [words, more, starts] of [
    ['API_KEY is not set', {}, 1],
    ['Received request before initialization was complete', {}, 2],
    ['', {}, 2],
    ['', { restart: false }, 2],
  ] as const) {
    const { heard, problems } = await run(
      t,
      (_method, _params, child) => {
        child.stderr.write(words)
        child.end(1)
        return undefined
      },
      { restartDelay: 60_000, ...more },
    )
    assert.equal(heard().length, starts, words)
    assert.equal(problems().length, 1, words)
  }
})

test('a server that ends on the first question is stateless when it refuses one after all', async (t) => {
  let ends = 1
  const { heard, revision } = await run(t, (method, params, child) => {
    if (ends-- > 0) {
      child.end(1)
      return undefined
    }
    return stateless(method, params, child)
  })
  assert.deepEqual(heard(), [['server/discover'], ['initialize', 'server/discover', 'tools/list']])
  assert.equal(revision(), N)
})

describe('a server that says nothing to the first question', () => {
  test('has its part of a short time of a start', async (t) => {
    const { heard, revision } = await run(t, silent, { startTimeout: 2000 })
    assert.deepEqual([heard(), revision()], [[O], '2025-06-18'])
  })

  test('and describes itself late is spoken to so by the next connection', async (t) => {
    const held: FakeChild[] = []
    const late: Script = (method, params, child) => {
      if (method !== 'server/discover') return polite(method, params, child)
      if (held.push(child) > 1) return stateless(method, params, child)
      const { lastId } = child
      child.answered = () => child.say(`{"jsonrpc":"2.0","id":${lastId},"result":${description([N])}}`)
      return undefined
    }
    const { runtime, heard, revision, evidence } = await run(t, late)
    await runtime.pass(probeMs)
    held[0]?.answered(undefined)
    await settled()
    const spoken = (): unknown[] => [revision(), evidence()]
    assert.deepEqual(spoken(), ['2025-06-18', 'silent'], 'this connection stays what it was opened as')
    runtime.script = stateless
    runtime.children[0]?.end(1)
    await runtime.pass(5000)
    assert.deepEqual(heard()[1], ['server/discover', 'tools/list'])
    assert.deepEqual(spoken(), [N, 'described'])
  })

  test('and refuses the handshake is spoken to as it has described itself meanwhile', async (t) => {
    const { runtime, heard, revision } = await run(t, (method, params, child) => {
      if (method === 'server/discover') return undefined
      if (method !== 'initialize') return stateless(method, params, child)
      // The server was still starting, and reads all buffered requests now.
      child.say(`{"jsonrpc":"2.0","id":1,"result":${description([N])}}`)
      return refusal(child, '{"code":-32601,"message":"no such method"}')
    })
    await runtime.pass(probeMs)
    assert.deepEqual(heard(), [['server/discover', 'initialize', 'tools/list']])
    assert.equal(revision(), N)
  })

  test('and refuses the handshake has its refusal told at once, and is started once in each round, also where it ends', async (t) => {
    const first = ['server/discover', 'initialize']
    const unset = '{"code":-32000,"message":"API key missing"}'
    const stays: Script = (method, _params, child) =>
      method === 'initialize' ? refusal(child, unset) : undefined
    const ends: Script = (method, params, child) => {
      stays(method, params, child)
      if (method === 'initialize') setImmediate(() => child.end(1))
      return undefined
    }
    const endsOnQuestion: Script = (method, params, child) => {
      stays(method, params, child)
      if (method === 'server/discover' && child.heard.length > 1) child.end(1)
      return undefined
    }
    for (const [script, second] of [
      [stays, first.toReversed()],
      [ends, ['initialize']],
      [endsOnQuestion, first.toReversed()],
    ] as const) {
      const { runtime, heard, problems } = await run(t, script, { restartDelay: 20_000 })
      await runtime.pass(probeMs - 2000)
      assert.deepEqual(heard(), [first])
      assert.equal(problems().length, 1)
      await runtime.pass(25_000)
      assert.deepEqual(heard(), [first, second])
      assert.equal(problems().length, 2)
      for (const problem of problems()) assert.match(problem, /answered initialize with .*API key missing/)
    }
  })
})

/** How a server refuses the first `initialize`, and the revisions that it is offered. The client has 2025-06-18. */
const refusedRevisions: [title: string, error: string, more: object, offered: string[]][] = [
  [
    'names its own',
    '{"code":-32602,"message":"Unsupported protocol version","data":{"supported":["2024-11-05","2025-03-26"],"requested":"2025-11-25"}}',
    {},
    ['2025-11-25', '2025-03-26'],
  ],
  ['names none', '{"code":-32602,"message":"Unsupported protocolVersion"}', {}, ['2025-11-25', '2025-06-18']],
  ['refuses something else', '{"code":-32602,"message":"no token"}', {}, ['2025-11-25']],
  ['has its revision', '{"code":-32602,"message":"no token"}', { protocol: '2025-06-18' }, ['2025-06-18']],
]

for (const [title, error, more, offered] of refusedRevisions)
  test(`a server that refuses the revision and ${title} is asked for ${offered.join(', then ')}`, async (t) => {
    const versions: unknown[] = []
    const script: Script = (method, params, child) => {
      if (method !== 'initialize') return polite(method, params, child)
      versions.push(at(params, 'protocolVersion'))
      return versions.length < 2 ? refusal(child, error) : polite(method, params, child)
    }
    const { state } = await run(t, script, { restart: false, ...more })
    assert.deepEqual(versions, offered)
    assert.equal(state(), offered.length > 1 ? 'connected' : 'error')
  })

test('each further connection to a server that is known shakes hands at once, and a known one without is asked what it is', async (t) => {
  for (const [script, wanted] of [
    [polite, O.slice(1)],
    [stateless, ['server/discover', 'tools/list']],
  ] as const) {
    const { runtime, heard, evidence } = await run(t, script)
    const before = evidence()
    runtime.children[0]?.end(1)
    await runtime.pass(5000)
    assert.deepEqual([heard()[1], evidence()], [wanted, before])
  }
})

test('a server that spoke without a handshake and does so no more fails, and is asked again', async (t) => {
  const { runtime, heard, revision, problems } = await run(t, stateless)
  runtime.script = answering('{"code":-32601,"message":"no"}')
  runtime.children[0]?.end(1)
  await runtime.pass(2000, 500)
  assert.deepEqual(heard()[1], ['server/discover'])
  assert(problems().some((problem) => problem.includes('server/discover')))
  await runtime.pass(5000, 500)
  assert.deepEqual([heard()[2], revision()], [O, '2025-06-18'])
})

test('a list that does not hold any longer is shown, and read anew', async (t) => {
  let reads = 0
  const { runtime, call, ask } = await run(t, (method, params, child) => {
    if (method !== 'tools/list') return stateless(method, params, child)
    const name = ++reads === 1 ? 't' : 'u'
    return `{"resultType":"complete","tools":[{"name":"${name}","inputSchema":{"type":"object"}}],"ttlMs":5000,"cacheScope":"private"}`
  })
  assert.match(await call(), /typed/)
  assert.match(await ask('tools/list'), /"s__t"/)
  assert.equal(reads, 1)
  await runtime.pass(6000)
  assert.match(await ask('tools/list'), /"s__t"/)
  assert.equal(reads, 2)
  assert.match(await ask('tools/list'), /"s__u"/)
  assert.equal(reads, 2)
})
