// More clients and servers than there are descriptors: who is in is served, who is
// turned away is told so, and all is well again when the crowd has gone.

import { readFileSync } from 'node:fs'
import { type Socket, connect } from 'node:net'
import { at, textAt } from '../integration/support/json.js'
import { type Scope, type Servers, scratch } from '../integration/support/spawned.js'
import { HANG_MS } from '../integration/support/waiting.js'
import { HttpCaller, type Posted, answerOf } from './support/http-caller.js'
import { Random } from '../sim/random.js'
import { SwiftServers } from './support/swift.js'
import { type UnderTest, startUnderTest } from './support/under-test.js'
import { type Findings, Promises, type Run, type Scenario, measured } from './support/scenario.js'

const LIMITS = [64, 128, 256] as const
/** Clients for each descriptor there is. */
const CROWD = 4
/** More servers than the smallest limit has room for. */
const SERVERS = 24
/** All of them have room from here on. */
const ROOMY = 128
const CALLS = 20
const RECOVERY_MS = HANG_MS
const SHOWN_LENGTH_MAX = 300

export const emfile: Scenario = measured(
  'more clients and servers than descriptors: who is in is served, others are refused, and it recovers',
  12,
  run,
)

interface Tally {
  calls: number
  wrong: number
  crowd: number
  refused: number
  slowestRecoveryMs: number
}

/** `count` is the number of crowds, each before a proxy of its own. */
/** Fewer crowds may leave room for everybody who asks. */
const CROWDS_MIN = 10

async function run(scope: Scope, { count, seed, cli, say }: Run): Promise<Findings> {
  const random = new Random(seed)
  const promises = new Promises()
  const tally: Tally = { calls: 0, wrong: 0, crowd: 0, refused: 0, slowestRecoveryMs: 0 }
  for (let round = 0; round < count; round++) {
    const descriptors = LIMITS[round % LIMITS.length] ?? 64
    await crowded({ scope, cli, descriptors, random, tally, promises })
    say(`${round + 1} crowds of ${count}, ${tally.refused} refused, ${tally.wrong} wrong answers`)
  }
  promises.equal(tally.wrong, 0, 'calls of who was in without a right answer')
  // Whether a crowd takes the last descriptors before or after the sessions that come is chance.
  promises.hold(tally.refused > 0 || count < CROWDS_MIN, 'somebody is refused in words')
  return { figures: { ...tally }, broken: promises.broken }
}

interface Round {
  readonly scope: Scope
  readonly cli: string
  readonly descriptors: number
  readonly random: Random
  readonly tally: Tally
  readonly promises: Promises
}

async function crowded({ scope, cli, descriptors, random, tally, promises }: Round): Promise<void> {
  const under = ['prlimit', `--nofile=${descriptors}`]
  const proxy = startUnderTest(scope, '--http', servers(scope), { cli, under })
  const port = await proxy.port()
  const inside = new HttpCaller(port)
  await sooner(async () => (await inside.open()).status === 200)
  await sooner(() => hit(inside, 'first'))
  const before = await proxy.facts()
  const silent = await crowd(port, Math.floor(CROWD * descriptors * random.next()))
  const visitors = Array.from({ length: descriptors }, () => visit(port))
  for (let turn = 0; turn < CALLS; turn++) {
    tally.calls++
    const wrong = await missed(inside, String(turn))
    if (wrong === undefined) continue
    tally.wrong++
    promises.hold(false, `call ${turn} of who was in: ${wrong}`)
  }
  // Servers that crash now are started again when there is room.
  const started = serversOf(proxy)
  for (const pid of started) process.kill(pid, 'SIGKILL')
  for (let turn = 0; turn < 5; turn++) {
    const posted = await inside.call('s0__hit', { nonce: 'n' }).catch(() => undefined)
    promises.equal(posted?.messages.length ?? 0, 1, 'answers to a call whose server cannot be started')
  }
  const statuses = await Promise.all(visitors)
  tally.crowd += silent.length + visitors.length
  tally.refused += statuses.filter((status) => status === 503).length
  promises.hold(
    statuses.every((status) => [0, 200, 503].includes(status)),
    `statuses: ${[...new Set(statuses)].join(' ')}`,
  )
  for (const socket of silent) socket.destroy()
  const from = performance.now()
  // Where there is not room for all of them, others may have taken the places of those that crashed.
  const ones = descriptors < ROOMY ? SERVERS : 1
  const isWell =
    (await sooner(() => served(port))) &&
    (await sooner(() => Promise.resolve(serversOf(proxy).length >= started.length))) &&
    (await sooner(() => hitsOne(inside, ones)))
  tally.slowestRecoveryMs = Math.max(tally.slowestRecoveryMs, performance.now() - from)
  promises.hold(isWell, `with ${descriptors} descriptors: well again within ${RECOVERY_MS / 1000} s`)
  promises.hold(proxy.running, `it lives: ${proxy.stderr.slice(-500)}`)
  inside.close()
  const left = await sooner(async () => (await proxy.facts()).descriptors <= before.descriptors + SERVERS)
  promises.hold(left, 'the descriptors are given back')
  proxy.child.kill('SIGTERM')
  promises.equal(Number(await proxy.exited), 0, 'exit code')
}

function servers(scope: Scope): Servers {
  const swift = new SwiftServers(scratch(scope))
  const names = Array.from({ length: SERVERS }, (_, at) => `s${at}`)
  return Object.fromEntries(names.map((name) => [name, swift.entry(name, { restartDelay: 100 })]))
}

function serversOf(proxy: UnderTest): number[] {
  return proxy.children().filter(isServer)
}

function isServer(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1').startsWith('sed')
  } catch {
    return false
  }
}

/** Connections that say nothing; those that are refused are gone already. */
async function crowd(port: number, count: number): Promise<Socket[]> {
  const sockets = Array.from({ length: count }, () => connect(port, '127.0.0.1'))
  await Promise.all(
    sockets.map(
      (socket) =>
        new Promise<void>((resolve) => {
          socket.on('connect', () => resolve())
          socket.on('error', () => resolve())
        }),
    ),
  )
  return sockets
}

/** Somebody who wants a session; the status, 0 where the connection was not even taken. */
async function visit(port: number): Promise<number> {
  const caller = new HttpCaller(port)
  try {
    return (await caller.open()).status
  } catch {
    return 0
  } finally {
    caller.close()
  }
}

/** Somebody new is served. */
async function served(port: number): Promise<boolean> {
  const caller = new HttpCaller(port)
  try {
    const { status } = await caller.open()
    const listed = await caller.request('tools/list')
    return status === 200 && at(answerOf(listed), 'result') !== undefined
  } finally {
    caller.close()
  }
}

/** Whether one of the first `count` servers answers. */
async function hitsOne(caller: HttpCaller, count: number): Promise<boolean> {
  for (let at = 0; at < count; at++) if (await hit(caller, 'last', `s${at}`)) return true
  return false
}

async function hit(caller: HttpCaller, nonce: string, server = 's0'): Promise<boolean> {
  return (await missed(caller, nonce, server)) === undefined
}

/** What went wrong with a call; undefined when its answer is right. */
async function missed(caller: HttpCaller, nonce: string, server = 's0'): Promise<string | undefined> {
  const call = (): Promise<Posted> => caller.call(`${server}__hit`, { nonce })
  try {
    // A connection that rests between two requests may be closed for a new one: that request is sent again.
    const posted = await call().catch((error: unknown) => (isReset(error) ? call() : Promise.reject(error)))
    const isRight = textAt(answerOf(posted), 'result', 'content', 0, 'text') === nonce
    return isRight ? undefined : `${posted.status} ${posted.body.slice(0, SHOWN_LENGTH_MAX)}`
  } catch (error) {
    return String(error)
  }
}

function isReset(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ECONNRESET'
}

/** Tries until it is so, but not for ever. */
async function sooner(holds: () => Promise<boolean>): Promise<boolean> {
  const endsAt = performance.now() + RECOVERY_MS
  while (!(await holds().catch(() => false))) {
    if (performance.now() > endsAt) return false
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  return true
}
