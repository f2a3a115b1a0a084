// A hundred clients over real sockets, with sessions and without, calling all kinds
// of things for a while: nobody gets an error or somebody else's answer, and memory stays.

import { createServer } from 'node:http'
import { at, parsed, textAt } from '../integration/support/json.js'
import { type Scope, scratch } from '../integration/support/spawned.js'
import { HttpCaller, type Posted, answerOf } from './support/http-caller.js'
import { SwiftServers } from './support/swift.js'
import { settled, startUnderTest } from './support/under-test.js'
import {
  type Findings,
  MiB,
  Promises,
  type Run,
  type Scenario,
  measured,
  percentile,
} from './support/scenario.js'

const CLIENTS = 100
const GROWTH_BYTES_MAX = 64 * MiB
const ROUNDS_MAX = 3
/** A large argument and its answer, among many small ones. */
const LARGE = 'x'.repeat(100_000)

export const httpSoak: Scenario = measured(
  '100 clients over HTTP with mixed calls: no error, nobody else’s answer, memory bounded',
  30,
  run,
)

/** `count` is the number of seconds. */
async function run(scope: Scope, { count, cli, say }: Run): Promise<Findings> {
  const servers = {
    near: new SwiftServers(scratch(scope)).entry('near'),
    far: { url: await remote(scope) },
  }
  const proxy = startUnderTest(scope, '--http', servers, { cli })
  const port = await proxy.port()
  const tally: Tally = { latencies: [], wrong: [], sessions: 0 }
  // Code is compiled and buffers are there before memory is looked at.
  await all(port, Math.max(1, count / 3), tally)
  const { rss: before } = await settled(() => proxy.facts('gc'))
  say(`${tally.latencies.length} calls, ${Math.round(before / MiB)} MiB`)
  const growth = await grown(before, async () => {
    await all(port, count, tally)
    return (await settled(() => proxy.facts('gc'))).rss
  })
  const promises = new Promises()
  promises.equal(tally.wrong.length, 0, `calls that went wrong (${tally.wrong[0] ?? ''})`)
  promises.below(growth, GROWTH_BYTES_MAX, 'bytes that the calls leave')
  const { latencies, sessions, wrong } = tally
  const figures = {
    clients: CLIENTS,
    calls: latencies.length,
    sessions,
    wrong: wrong.length,
    'p50 ms': percentile(latencies, 0.5),
    'p99 ms': percentile(latencies, 0.99),
    'MiB grown': growth / MiB,
  }
  return { figures, broken: promises.broken }
}

/** Bytes by which a round has grown. The heap may still get its size in the first ones; what is kept grows in each. */
async function grown(before: number, rssAfterRound: () => Promise<number>): Promise<number> {
  let [rss, growth] = [before, Infinity]
  for (let round = 0; round < ROUNDS_MAX && growth >= GROWTH_BYTES_MAX; round++) {
    const after = await rssAfterRound()
    growth = after - rss
    rss = after
  }
  return growth
}

interface Tally {
  readonly latencies: number[]
  /** What each call got that went wrong. */
  readonly wrong: string[]
  sessions: number
}

async function all(port: number, seconds: number, tally: Tally): Promise<void> {
  const endsAt = performance.now() + seconds * 1000
  await Promise.all(Array.from({ length: CLIENTS }, (_, client) => mixed(port, client, endsAt, tally)))
}

/** One client; every fourth keeps no session, and the others begin a new one now and then. */
async function mixed(port: number, client: number, endsAt: number, tally: Tally): Promise<void> {
  const caller = new HttpCaller(port, 2)
  const isPassing = client % 4 === 0
  try {
    for (let round = 0; performance.now() < endsAt; round++) {
      if (!isPassing && round % 50 === 0) await anew(caller, round > 0, tally)
      await step(caller, `${client}-${round}`, round, tally)
    }
    if (!isPassing) await caller.leave()
  } catch (error) {
    tally.wrong.push(String(error))
  } finally {
    caller.close()
  }
}

async function anew(caller: HttpCaller, isAgain: boolean, tally: Tally): Promise<void> {
  if (isAgain) await caller.leave()
  caller.session = undefined
  await caller.open()
  tally.sessions++
}

async function step(caller: HttpCaller, nonce: string, round: number, tally: Tally): Promise<void> {
  const startedAt = performance.now()
  const posted = await kinds[round % kinds.length]?.(caller, nonce)
  tally.latencies.push(performance.now() - startedAt)
  if (posted !== undefined && !posted.isRight) tally.wrong.push(posted.got.slice(0, 300))
}

interface Got {
  readonly isRight: boolean
  readonly got: string
}

function judged(posted: Posted, isRight: (answer: unknown) => boolean): Got {
  return {
    isRight: posted.status === 200 && isRight(answerOf(posted)),
    got: `${posted.status} ${posted.body}`,
  }
}

async function called(caller: HttpCaller, tool: string, nonce: string): Promise<Got> {
  const posted = await caller.call(tool, { nonce })
  return judged(posted, (answer) => textAt(answer, 'result', 'content', 0, 'text') === nonce)
}

const kinds: readonly ((caller: HttpCaller, nonce: string) => Promise<Got>)[] = [
  (caller, nonce) => called(caller, 'near__hit', nonce),
  (caller, nonce) => called(caller, 'far__hit', nonce),
  async (caller) => {
    const posted = await caller.request('tools/list')
    return judged(posted, (answer) => textAt(answer, 'result', 'tools', 1, 'name') === 'far__hit')
  },
  (caller, nonce) => called(caller, 'far__hit', nonce + LARGE),
  async (caller) => judged(await caller.request('ping'), (answer) => at(answer, 'result') !== undefined),
  async (caller, nonce) => {
    const posted = await caller.call('near__none', { nonce })
    return judged(posted, (answer) => at(answer, 'error', 'code') === -32601)
  },
  async (caller, nonce) => {
    const both = await Promise.all([
      called(caller, 'near__hit', `${nonce}a`),
      called(caller, 'far__hit', `${nonce}b`),
    ])
    return both.find(({ isRight }) => !isRight) ?? { isRight: true, got: '' }
  },
]

/** A remote server that keeps sessions and says what it is told. */
async function remote(scope: Scope): Promise<string> {
  let sessions = 0
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const value = chunks.length === 0 ? undefined : parsed(Buffer.concat(chunks).toString())
      const [id, method] = [at(value, 'id'), at(value, 'method')]
      if (id === undefined) return void response.writeHead(request.method === 'POST' ? 202 : 405).end()
      const headers = {
        'content-type': 'application/json',
        ...(method === 'initialize' && { 'mcp-session-id': `s-${++sessions}` }),
      }
      response.writeHead(200, headers)
      response.end(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${resultOf(method, value)}}`)
    })
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  scope.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${String(at(server.address(), 'port'))}/mcp`
}

function resultOf(method: unknown, value: unknown): string {
  if (method === 'initialize')
    return '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"far","version":"1"}}'
  if (method === 'tools/list') return '{"tools":[{"name":"hit","inputSchema":{"type":"object"}}]}'
  const nonce = textAt(value, 'params', 'arguments', 'nonce')
  return JSON.stringify({ content: [{ type: 'text', text: nonce }] })
}
