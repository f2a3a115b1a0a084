// The disk that the log and the recording are on is full, sooner or later.
//
// Without a recording nobody notices: lines are lost, counted, and written again
// once there is room. A recording with a gap is none, so a proxy that is to record
// ends, with an exit code that says so, and nothing is answered twice or left behind.

import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { at, textAt } from '../integration/support/json.js'
import { type Scope, scratch } from '../integration/support/spawned.js'
import { HANG_MS } from '../integration/support/waiting.js'
import { leftAfter, markName } from './support/marked.js'
import { Random } from '../sim/random.js'
import { SwiftServers } from './support/swift.js'
import { type UnderTest, startUnderTest } from './support/under-test.js'
import { type Findings, Promises, type Run, type Scenario, measured } from './support/scenario.js'

const CALLS = 300
const DISK_BYTES = 64 * 1024
/** A log that could not be written is tried again after 30 s. */
const AGAIN_MS = HANG_MS

export const enospc: Scenario = measured(
  'the disk is full: calls go on while log lines are lost; what is to be recorded is not done unrecorded',
  20,
  run,
)

interface Tally {
  calls: number
  wrong: number
  full: number
  recordings: number
}

/** `count` is the number of proxies, each second one with a recording. */
async function run(scope: Scope, { count, seed, cli, say }: Run): Promise<Findings> {
  const disk = new SmallDisk(scope)
  const random = new Random(seed)
  const promises = new Promises()
  const tally: Tally = { calls: 0, wrong: 0, full: 0, recordings: 0 }
  for (let round = 0; round < count; round++) {
    const mark = `enospc-${process.pid}-${round}`
    disk.empty()
    disk.fill(random.below(DISK_BYTES))
    const isRecorded = round % 2 === 1
    const isLast = count > 4 && round >= count - 2 && !isRecorded
    const proxy = start(scope, { cli, disk, mark, isRecorded })
    if (isRecorded) await recorded(proxy, tally, promises)
    else await logged(proxy, { tally, promises, disk, isLast })
    const left = await leftAfter(mark, HANG_MS)
    promises.equal(left.length, 0, 'processes that are left')
    say(`${round + 1} proxies of ${count}, ${tally.wrong} wrong answers`)
  }
  promises.equal(tally.wrong, 0, 'calls without one right answer')
  promises.hold(tally.full > 0 || count < 4, 'the log met a full disk')
  const figures = { 'kind of disk': disk.kind, ...tally }
  return { figures, broken: promises.broken }
}

interface Start {
  readonly cli: string
  readonly disk: SmallDisk
  readonly mark: string
  readonly isRecorded: boolean
}

function start(scope: Scope, { cli, disk, mark, isRecorded }: Start): UnderTest {
  const s = new SwiftServers(scratch(scope)).entry('s', { env: { [markName]: mark } })
  const logging = { level: 'debug', file: join(disk.folder, 'log'), maxSize: '16KB', maxFiles: 2 }
  const args = isRecorded ? ['--record', join(disk.folder, 'record.jsonl')] : []
  return startUnderTest(scope, '--stdio', { s }, { cli, args, more: { logging }, under: disk.under })
}

interface Logged {
  readonly tally: Tally
  readonly promises: Promises
  readonly disk: SmallDisk
  /** There is room in the end, and the log goes on. */
  readonly isLast: boolean
}

async function logged(proxy: UnderTest, { tally, promises, disk, isLast }: Logged): Promise<void> {
  const [isFull, isWell] = [saysIn(proxy, 'cannot be written'), saysIn(proxy, 'can be written again')]
  await proxy.client.open()
  for (let turn = 0; turn < CALLS; turn++) await call(proxy, turn, tally)
  if (isLast && disk.kind === 'tmpfs') {
    disk.fill(DISK_BYTES)
    promises.hold(await until(proxy, tally, isFull), 'a log that cannot be written is told of')
    disk.empty()
    promises.hold(await until(proxy, tally, isWell), 'the log goes on once there is room')
  }
  if (isFull()) tally.full++
  promises.equal(Number(await proxy.finish()), 0, 'exit code')
  tally.wrong += strays(proxy)
}

/** Answers beyond one for each request, and lines that are no messages. */
function strays({ client: { heard, invalid } }: UnderTest): number {
  const ids = heard.flatMap(({ value }) => (at(value, 'method') === undefined ? [at(value, 'id')] : []))
  return ids.length - new Set(ids).size + invalid.length
}

/** Whether the proxy has said this on stderr since now, however much it says. */
function saysIn(proxy: UnderTest, words: string): () => boolean {
  let [end, isSaid] = ['', false]
  proxy.child.stderr.on('data', (chunk: Buffer) => {
    const text = end + chunk.toString('latin1')
    isSaid ||= text.includes(words)
    end = text.slice(-words.length)
  })
  return () => isSaid
}

/** Calls, and says something for the log, until it is so. */
async function until(proxy: UnderTest, tally: Tally, isSo: () => boolean): Promise<boolean> {
  const endsAt = performance.now() + AGAIN_MS
  for (let turn = CALLS; performance.now() < endsAt; turn++) {
    if (isSo()) return true
    await call(proxy, turn, tally)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return false
}

/** One call, and a line for the log. */
async function call(proxy: UnderTest, turn: number, tally: Tally): Promise<void> {
  const { client } = proxy
  client.notify(`no/such/${'notification'.repeat(20)}`)
  const { value } = await client.call('s__hit', { nonce: String(turn) })
  tally.calls++
  if (textAt(value, 'result', 'content', 0, 'text') !== String(turn)) tally.wrong++
}

/** Calls until the proxy gives up, which it has to. */
async function recorded(proxy: UnderTest, tally: Tally, promises: Promises): Promise<void> {
  // A disk that is full at the start keeps the proxy from starting.
  await proxy.client.open().catch(() => undefined)
  for (let turn = 0; turn < CALLS && proxy.running; turn++) {
    const answer = await proxy.client.call('s__hit', { nonce: String(turn) }).catch(() => undefined)
    if (answer === undefined) break
    tally.calls++
    if (textAt(answer.value, 'result', 'content', 0, 'text') !== String(turn)) tally.wrong++
  }
  const code = await proxy.finish()
  promises.hold(
    code !== 0,
    `a recording with a gap is no success: exit code ${code}, ${proxy.stderr.slice(-300)}`,
  )
  promises.hold(/record/.test(proxy.stderr), `it says why it ends: ${proxy.stderr.slice(-300)}`)
  tally.wrong += strays(proxy)
  tally.recordings++
}

/** A file system of its own where that can be had, else a limit on the length of files. */
class SmallDisk {
  readonly folder: string
  readonly kind: 'tmpfs' | 'file limit'

  constructor(scope: Scope) {
    this.folder = join(scratch(scope), 'disk')
    mkdirSync(this.folder)
    const options = ['-t', 'tmpfs', '-o', `size=${DISK_BYTES}`, 'none', this.folder]
    this.kind = spawnSync('mount', options).status === 0 ? 'tmpfs' : 'file limit'
    if (this.kind === 'tmpfs') scope.after(() => void spawnSync('umount', ['-l', this.folder]))
  }

  get under(): readonly string[] {
    return this.kind === 'tmpfs' ? [] : ['prlimit', `--fsize=${DISK_BYTES / 8}`]
  }

  /** Takes so much of it, or what there is. */
  fill(bytes: number): void {
    try {
      writeFileSync(join(this.folder, 'filler'), Buffer.alloc(bytes))
    } catch {
      // It is full, as it should be.
    }
  }

  empty(): void {
    for (const name of ['filler', 'log', 'log.1', 'record.jsonl'])
      rmSync(join(this.folder, name), { force: true })
  }
}
