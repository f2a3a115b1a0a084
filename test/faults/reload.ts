// The configuration file of the program changes again and again under load: written
// in place, renamed, half written, broken, noticed or told by SIGHUP. Servers that
// stay the same keep their process and lose no call; the client hears of a change
// once, and of nothing that it cannot see.

import { readFileSync, readdirSync } from 'node:fs'
import { at, listAt, numberAt, textAt } from '../integration/support/json.js'
import { type Scope, scratch } from '../integration/support/spawned.js'
import { HANG_MS } from '../integration/support/waiting.js'
import type { Scenario } from './scenario.js'
import { ChangingConfig, type Servers, type Way, looks, start, ways } from './support/changing-config.js'
import type { Answer, Caller } from './support/caller.js'
import { killMarked, leftAfter, markName } from './support/marked.js'
import { measured } from './support/measured.js'
import { Random } from '../sim/random.js'
import { type Findings, Promises, type Run } from './support/run.js'
import { SwiftServers } from './support/swift.js'
import { UnderTest } from './support/under-test.js'

const INFLIGHT = 16
/** Longest time from a change of the file to its use. */
const APPLIED_MS_MAX = HANG_MS
/** Longer than what is told together waits. */
const QUIET_MS = 150

export const reload: Scenario = measured(
  'the configuration changes under load: no call is lost or answered twice, servers that stay keep their processes, one list_changed at most',
  1000,
  run,
)

/** `count` is the number of changes. */
async function run(scope: Scope, { count, seed, cli, say }: Run): Promise<Findings> {
  const random = new Random(seed)
  const mark = `reload-${process.pid}-${seed}`
  const folder = scratch(scope)
  const swift = new SwiftServers(folder)
  const config = new ChangingConfig(folder, swift, { [markName]: mark })
  await config.write(start, 'renamed', () => undefined)
  const proxy = new UnderTest('--stdio', config.path, { cli })
  scope.after(() => killMarked(mark))
  const watched = new Watched(proxy)
  await proxy.caller.open()
  await watched.shows(start)
  const tally = new Tally()
  const load = Array.from({ length: INFLIGHT }, (_, lane) => callOn(proxy.caller, tally, lane, seed))
  let servers = start
  const ways = new Map<Way, number>()
  for (let change = 1; change <= count && proxy.running; change++) {
    const next = config.next(servers, random)
    const way = config.way(random)
    ways.set(way, (ways.get(way) ?? 0) + 1)
    tally.known = looks(servers).filter((name) => looks(next).includes(name))
    await oneChange({ watched, config, mark, random, tally }, servers, next, way)
    tally.known = looks(next)
    servers = next
    if (change % 50 === 0)
      say(`${change} changes, ${tally.calls} calls, ${tally.wrong.length} problems so far`)
  }
  tally.stopped = true
  await Promise.all(load)
  const exit = await proxy.finish()
  const left = await leftAfter(mark, HANG_MS)
  return findings(proxy, watched, tally, swift, { count, exit, left: left.length, ways })
}

interface Around {
  readonly watched: Watched
  readonly config: ChangingConfig
  readonly mark: string
  readonly random: Random
  readonly tally: Tally
}

async function oneChange(around: Around, before: Servers, next: Servers, way: Way): Promise<void> {
  const { watched, config, mark, random, tally } = around
  const pids = processes(mark)
  watched.told = 0
  const hangUp = (): void => {
    if (random.chance(0.6)) watched.proxy.child.kill('SIGHUP')
  }
  const since = watched.changes
  await config.write(next, way, hangUp)
  hangUp()
  const isTaken = await watched.takes(since)
  const wanted = looks(before).join() === looks(next).join() ? 0 : 1
  // A burst is three changes, each of which may have been used, and told when the next one is under way.
  const most = watched.owed + (way === 'in a burst' ? 3 : wanted)
  await watched.hears(wanted)
  // Whoever lists is told of nothing that the list has shown, so it is looked at last.
  const isUsed = isTaken && (await watched.uses(next))
  if (!isUsed) tally.wrong.push(`after ${way}: not used within ${APPLIED_MS_MAX} ms`)
  if (watched.told < wanted || watched.told > most)
    tally.wrong.push(`after ${way}: ${watched.told} list_changed, wanted ${wanted}`)
  watched.owed = way === 'in a burst' ? most - watched.told : 0
  const now = processes(mark)
  for (const [name, { variant, look }] of next) {
    const [pid] = pids.get(name) ?? []
    if (before.get(name)?.variant !== variant || look === 'disabled' || pid === undefined) continue
    tally.kept++
    if (now.get(name)?.includes(pid) !== true) tally.wrong.push(`after ${way}: ${name} has another process`)
  }
}

/** What the proxy says by itself. */
class Watched {
  readonly proxy: UnderTest
  /** `list_changed` since this was set to 0. */
  told = 0
  /** How many more may come of what was changed before. */
  owed = 0
  changes = 0
  refused = 0

  constructor(proxy: UnderTest) {
    this.proxy = proxy
    proxy.caller.onNotification = (value) => {
      if (textAt(value, 'method') === 'notifications/tools/list_changed') this.told++
    }
    proxy.child.stderr?.on('data', (chunk: Buffer) => {
      const lines = chunk.toString('latin1')
      this.changes += lines.split('configuration changed: ').length - 1
      this.refused += lines.split('nothing is changed').length - 1
    })
  }

  async shows(servers: Servers): Promise<boolean> {
    const { value } = await this.proxy.caller.request('tools/list')
    const names = listAt(value, 'result', 'tools').map((tool) => textAt(tool, 'name'))
    return names.join() === looks(servers).join()
  }

  /** Waits for so many `list_changed`, and then whether more come. */
  async hears(wanted: number): Promise<void> {
    const endsAt = performance.now() + APPLIED_MS_MAX
    while (this.told < wanted && performance.now() < endsAt) await pause(5)
    await pause(QUIET_MS)
  }

  /** Whether the log tells of a change in time. */
  async takes(since: number): Promise<boolean> {
    const endsAt = performance.now() + APPLIED_MS_MAX
    while (this.changes <= since && performance.now() < endsAt) await pause(5)
    return this.changes > since
  }

  /** Whether these servers are used in time. */
  async uses(servers: Servers): Promise<boolean> {
    const endsAt = performance.now() + APPLIED_MS_MAX
    while (performance.now() < endsAt) {
      if (await this.shows(servers)) return true
      await pause(5)
    }
    return false
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

class Tally {
  stopped = false
  calls = 0
  kept = 0
  /** Tools that are there before and after the change which is being made. */
  known = looks(start)
  readonly errors = new Map<string, number>()
  readonly answered = new Set<string>()
  readonly wrong: string[] = []
}

async function callOn(caller: Caller, tally: Tally, lane: number, seed: number): Promise<void> {
  const random = new Random(seed * INFLIGHT + lane)
  for (let call = 0; !tally.stopped; call++) {
    const name = tally.known[random.below(tally.known.length)] ?? 'keep0__hit'
    const nonce = `${lane}-${call}`
    judge(await caller.call(name, { nonce }), name, nonce, tally)
    tally.calls++
  }
}

/** A server that stays answers; one that changes may say that it stops, or not be there any more. */
function judge({ value, text }: Answer, name: string, nonce: string, tally: Tally): void {
  if (at(value, 'result') !== undefined) {
    tally.answered.add(nonce)
    if (textAt(value, 'result', 'content', 0, 'text') !== nonce) tally.wrong.push(`another answer: ${text}`)
    return
  }
  const what = textAt(value, 'error', 'data', 'reason') || String(numberAt(value, 'error', 'code'))
  tally.errors.set(what, (tally.errors.get(what) ?? 0) + 1)
  const isAllowed = !name.startsWith('keep') && ['shutting-down', '-32601'].includes(what)
  if (!isAllowed) tally.wrong.push(`${name}: ${text.slice(0, 200)}`)
}

/** The processes of each server, by its name. */
function processes(mark: string): Map<string, number[]> {
  const found = new Map<string, number[]>()
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const variables = environment(pid)
    const name = variables.find((each) => each.startsWith('SERVER='))?.slice('SERVER='.length)
    if (name === undefined || !variables.includes(`${markName}=${mark}`)) continue
    found.set(name, [...(found.get(name) ?? []), Number(pid)])
  }
  return found
}

function environment(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0')
  } catch {
    return []
  }
}

interface Ended {
  readonly count: number
  readonly exit: number | string
  readonly left: number
  readonly ways: ReadonlyMap<Way, number>
}

function findings(
  { caller }: UnderTest,
  { refused }: Watched,
  tally: Tally,
  swift: SwiftServers,
  { count, exit, left, ways: used }: Ended,
): Findings {
  const { lost, twice, stray, invalid } = caller.misses
  const executed = new Map<string, number>()
  for (const name of ChangingConfig.names)
    for (const [nonce, times] of swift.executions(name))
      executed.set(nonce, (executed.get(nonce) ?? 0) + times)
  const again = [...executed.values()].filter((times) => times > 1).length
  const promises = new Promises()
  promises.equal(lost, 0, 'calls without an answer')
  promises.equal(twice, 0, 'second answers to a call')
  promises.equal(stray + invalid, 0, 'answers that went astray, and lines that are no messages')
  promises.equal(again, 0, 'calls that were executed more than once')
  promises.equal([...tally.answered].filter((nonce) => !executed.has(nonce)).length, 0, 'results of nothing')
  promises.equal(left, 0, 'processes that are left')
  promises.hold(exit === 0, `the exit code is 0, and not ${exit}`)
  promises.hold(count < 5 || tally.kept > 0, 'some servers stay the same')
  promises.hold((used.get('broken') ?? 0) === 0 || refused > 0, 'broken files are refused')
  promises.broken.push(...tally.wrong.slice(0, 5))
  const errors = [...tally.errors].map(([what, times]) => `${what} ${times}`).join(', ') || 'none'
  const told = ways.map((way) => `${way} ${used.get(way) ?? 0}`).join(', ')
  const figures = {
    changes: count,
    ways: told,
    refused,
    calls: tally.calls,
    errors,
    'kept processes': tally.kept,
  }
  return {
    figures: { ...figures, lost, duplicated: twice, problems: tally.wrong.length },
    broken: promises.broken,
  }
}
