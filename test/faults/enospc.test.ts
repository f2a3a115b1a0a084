// The disk of the log and the recording is full. Without a recording, calls continue. Log lines are lost until the
// disk has space again. A recording must have no gaps, so a proxy that records exits with an error.

import { strict as assert } from 'node:assert'
import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { at, textAt } from '../integration/support/json.js'
import { type Scope, scratch } from '../integration/support/spawned.js'
import { HANG_MS, untilAnswered } from '../integration/support/waiting.js'
import { leftAfter, markName } from './support/marked.js'
import { SwiftServers } from './support/swift.js'
import { type UnderTest, isLinux, startUnderTest, times } from './support/under-test.js'

const CALLS = 300
const DISK_BYTES = 64 * 1024

function start(scope: Scope, disk: SmallDisk, mark: string, args: readonly string[] = []): UnderTest {
  const s = new SwiftServers(scratch(scope)).entry({ env: { [markName]: mark } })
  const logging = { level: 'debug', file: join(disk.folder, 'log'), maxSize: '16KB', maxFiles: 2 }
  return startUnderTest(scope, '--stdio', { s }, { args, more: { logging }, under: disk.under })
}

/** Each request got one answer, stdout has no other output, and no process remains. */
async function assertClean({ client: { heard, invalid } }: UnderTest, mark: string): Promise<void> {
  const ids = heard.flatMap(({ value }) => (at(value, 'method') === undefined ? [at(value, 'id')] : []))
  assert.deepEqual([new Set(ids).size, invalid], [ids.length, []])
  assert.deepEqual(await leftAfter(mark, HANG_MS), [])
}

/** A call, and a line for the log. */
async function call({ client }: UnderTest, nonce: string): Promise<void> {
  client.notify(`no/such/${'notification'.repeat(20)}`)
  const { value } = await client.call('s__hit', { nonce })
  assert.equal(textAt(value, 'result', 'content', 0, 'text'), nonce)
}

/** Whether stderr has had these words since now. Only the end of stderr is kept in memory. */
function saysIn(proxy: UnderTest, words: string): () => boolean {
  let [end, isSaid] = ['', false]
  proxy.child.stderr.on('data', (chunk: Buffer) => {
    const text = end + chunk.toString('latin1')
    isSaid ||= text.includes(words)
    end = text.slice(-words.length)
  })
  return () => isSaid
}

test('calls go on while the log cannot be written, and the log goes on', { skip: !isLinux }, async (t) => {
  const disk = new SmallDisk(t)
  const mark = `enospc-log-${process.pid}`
  const proxy = start(t, disk, mark)
  const [isFull, isWell] = [saysIn(proxy, 'cannot be written'), saysIn(proxy, 'can be written again')]
  await proxy.client.open()
  let turn = 0
  const callsUntil = (isSo: () => boolean): Promise<void> =>
    untilAnswered(async () => {
      await call(proxy, String(turn++))
      return isSo()
    })
  await callsUntil(() => turn > CALLS)
  // The proxy retries the log after half a minute.
  if (disk.kind === 'tmpfs' && times(1) > 1) {
    disk.fill(DISK_BYTES)
    await callsUntil(isFull)
    disk.empty()
    await callsUntil(isWell)
  }
  assert.equal(await proxy.finish(), 0)
  await assertClean(proxy, mark)
})

test('a proxy that cannot record ends with an error', { skip: !isLinux }, async (t) => {
  const disk = new SmallDisk(t)
  disk.fill(DISK_BYTES / 2)
  const mark = `enospc-record-${process.pid}`
  const proxy = start(t, disk, mark, ['--record', join(disk.folder, 'record.jsonl')])
  await proxy.client.open()
  const calls = async (): Promise<void> => {
    for (let turn = 0; turn < CALLS; turn++) await call(proxy, String(turn))
  }
  await assert.rejects(calls(), /did not come/)
  assert.notEqual(await proxy.finish(), 0)
  assert.match(proxy.stderr, /record/)
  await assertClean(proxy, mark)
})

/** A small file system if one can be mounted. Otherwise a limit on the length of files. */
class SmallDisk {
  readonly folder: string
  readonly kind: 'tmpfs' | 'file limit'

  constructor(scope: Scope) {
    // Before the removal of the folder that contains the mount point.
    scope.after(() => void spawnSync('umount', ['-l', this.folder], { stdio: 'ignore' }))
    this.folder = join(scratch(scope), 'disk')
    mkdirSync(this.folder)
    const options = ['-t', 'tmpfs', '-o', `size=${DISK_BYTES}`, 'none', this.folder]
    this.kind = spawnSync('mount', options).status === 0 ? 'tmpfs' : 'file limit'
  }

  get under(): readonly string[] {
    return this.kind === 'tmpfs' ? [] : ['prlimit', `--fsize=${DISK_BYTES / 8}`]
  }

  /** Uses so many bytes, or all that are free. */
  fill(bytes: number): void {
    try {
      writeFileSync(join(this.folder, 'filler'), Buffer.alloc(bytes))
    } catch {
      // The disk is full, as intended.
    }
  }

  empty(): void {
    for (const name of ['filler', 'log', 'log.1']) rmSync(join(this.folder, name), { force: true })
  }
}
