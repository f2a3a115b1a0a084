// The program ends in every way in which it can be ended, with 100 calls in flight:
// each is answered once, and nobody is left.

import { at } from '../integration/support/json.js'
import { mixedCall, startMixedCalls, wrongAnswers } from '../integration/support/mixed-calls.js'
import { itServer } from '../integration/support/programs.js'
import { type Scope, Spawned, configFile } from '../integration/support/spawned.js'
import { HANG_MS } from '../integration/support/waiting.js'
import { message, send } from '../transports/support/http.js'
import type { Scenario } from './scenario.js'
import { killMarked, leftAfter, markName } from './support/marked.js'
import { measured } from './support/measured.js'
import { Random } from '../sim/random.js'
import { type Findings, Promises, type Run, percentile } from './support/run.js'

const CALLS = 100
/** An end is waiting for the most part. */
const AT_ONCE = 4
/** Longest time in which a client reads nothing. */
const UNREAD_MS_MAX = 2000

const ways = ['SIGTERM', 'SIGINT', 'end of stdin', 'exit', 'SIGTERM over HTTP'] as const
type Way = (typeof ways)[number]

export const drain: Scenario = measured(
  `${CALLS} calls are in flight when the program ends: each is answered once, and nobody is left`,
  200,
  run,
)

interface Outcome {
  readonly tookMs: number
  readonly problems: readonly string[]
}

/** `count` is the number of ends. */
async function run(scope: Scope, { count, seed, cli, say }: Run): Promise<Findings> {
  const random = new Random(seed)
  const outcomes: Outcome[] = []
  let started = 0
  const lane = async (): Promise<void> => {
    while (started < count) {
      const turn = started++
      const way = ways[turn % ways.length] ?? 'SIGTERM'
      outcomes.push(await end({ scope, cli, random, way, mark: `drain-${process.pid}-${turn}` }))
      say(`${outcomes.length} ends of ${count}, ${problemsOf(outcomes).length} problems so far`)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, lane))
  const promises = new Promises()
  const problems = problemsOf(outcomes)
  const times = outcomes.map(({ tookMs }) => tookMs)
  promises.below(Math.max(...times), HANG_MS, 'ms that the longest end took')
  promises.broken.push(...problems.slice(0, 5))
  const figures = {
    ends: count,
    calls: count * CALLS,
    'median ms': percentile(times, 0.5),
    'longest ms': Math.max(...times),
    problems: problems.length,
  }
  return { figures, broken: promises.broken }
}

function problemsOf(outcomes: readonly Outcome[]): string[] {
  return outcomes.flatMap(({ problems }) => problems)
}

interface Setting {
  readonly scope: Scope
  readonly cli: string
  readonly random: Random
  readonly way: Way
  readonly mark: string
}

async function end(setting: Setting): Promise<Outcome> {
  const { scope, cli, random, way, mark } = setting
  const isStubborn = random.chance(0.3)
  const server = itServer({ [markName]: mark, ...(isStubborn && { IT_STUBBORN: '1' }) })
  const config = configFile(scope, { s: server }, { server: { port: 0 } })
  const isHttp = way === 'SIGTERM over HTTP'
  const proxy = new Spawned(process.execPath, [cli, isHttp ? '--http' : '--stdio', '--config', config])
  try {
    const problems = isHttp ? await endHttp(proxy) : await endStdio(proxy, way, random)
    const left = await leftAfter(mark, HANG_MS)
    const survivors = left.map(({ pid, command }) => `survived: ${pid} ${command}`)
    const { tookMs, wrong } = problems
    return { tookMs, problems: [...wrong, ...survivors].map((problem) => `${way}: ${problem}`) }
  } finally {
    proxy.kill()
    killMarked(mark)
  }
}

interface Ended {
  readonly tookMs: number
  readonly wrong: readonly string[]
}

async function endStdio(proxy: Spawned, way: Way, random: Random): Promise<Ended> {
  const { client, child } = proxy
  await client.open()
  await client.call('s__nonce', { n: '' })
  startMixedCalls(client, CALLS)
  // What stands before the end of stdin is read; what a signal finds unread was never taken.
  if (way !== 'end of stdin') await client.request('ping')
  const isUnread = random.chance(0.3)
  if (isUnread) child.stdout.pause()
  const startedAt = performance.now()
  if (way === 'end of stdin') proxy.end()
  else if (way === 'exit') {
    client.send('{"jsonrpc":"2.0","id":"s","method":"shutdown"}')
    client.send('{"jsonrpc":"2.0","method":"exit"}')
  } else child.kill(way === 'SIGINT' ? 'SIGINT' : 'SIGTERM')
  if (isUnread) setTimeout(() => child.stdout.resume(), UNREAD_MS_MAX * random.next())
  const exit = await proxy.exited
  const wrong = [...wrongAnswers(client, CALLS), ...client.invalid]
  return {
    tookMs: performance.now() - startedAt,
    wrong: exit === 0 ? wrong : [...wrong, `exit code ${exit}`],
  }
}

function body(tool: string, args: unknown, id: number | string): string {
  return message('tools/call', id, { name: `s__${tool}`, arguments: args })
}

async function endHttp(proxy: Spawned): Promise<Ended> {
  const port = await portOf(proxy)
  await send(port, { body: body('nonce', { n: '' }, 'first') })
  const answers = Array.from({ length: CALLS }, async (_, index) => {
    const { tool, args } = mixedCall(index)
    const answer = await send(port, { body: body(tool, args, index) }).catch((error: unknown) =>
      String(error),
    )
    return wrongInHttp(answer, index, tool)
  })
  // Every call that a server has begun has been taken.
  while ((await begun(port, body('seen', {}, 'seen'))) < CALLS) await pause(20)
  const startedAt = performance.now()
  proxy.child.kill('SIGTERM')
  const wrong = (await Promise.all(answers)).flat()
  const exit = await proxy.exited
  return {
    tookMs: performance.now() - startedAt,
    wrong: exit === 0 ? wrong : [...wrong, `exit code ${exit}`],
  }
}

async function portOf(proxy: Spawned): Promise<number> {
  for (;;) {
    const port = /ready: POST to http:\/\/[^\s/]+:(\d+)/.exec(proxy.stderr)?.[1]
    if (port !== undefined) return Number(port)
    await pause(10)
  }
}

async function begun(port: number, body: string): Promise<number> {
  const text = JSON.stringify(lastJson((await send(port, { body })).body))
  const lines = text.match(/[\w+/]{40,}=*/g) ?? []
  return lines.filter((line) => Buffer.from(line, 'base64').includes('"tools/call"')).length
}

/** The one answer in a body: alone, or as the last event. */
function lastJson(body: string): unknown {
  const line = body.split('\n').findLast((each) => each.includes('{')) ?? ''
  return JSON.parse(/\{.*\}/.exec(line)?.[0] ?? 'null')
}

function wrongInHttp(answer: { readonly body: string } | string, index: number, tool: string): string[] {
  if (typeof answer === 'string') return [`call ${index}: ${answer}`]
  const value = lastJson(answer.body)
  const isEnded = at(value, 'error', 'data', 'reason') === 'shutting-down'
  const isRight =
    at(value, 'id') === index && (isEnded || (tool !== 'never' && at(value, 'result') !== undefined))
  return isRight ? [] : [`call ${index}: ${answer.body.slice(0, 200)}`]
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
