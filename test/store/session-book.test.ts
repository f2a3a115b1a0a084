// The notes about clients of sessions, in memory and in a file that several processes write.

import assert from 'node:assert/strict'
import { readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { FolderFiles } from '../../src/kept/folder-files.js'
import { MemoryBook } from '../../src/store/session-book.js'
import type { LogRecord } from '../../src/runtime/runtime.js'
import { scratch } from '../integration/support/spawned.js'

const DAY_MS = 86_400_000
const notes = { level: 'warning', subscriptions: ['a://1', 'a://2'] }

/** A process with a clock that a test moves. */
class Process {
  nowMs = DAY_MS
  readonly logged: LogRecord[] = []
  readonly book: MemoryBook

  constructor(folder: string, source = 'config.json') {
    const now = (): number => this.nowMs
    const log = (record: LogRecord): void => void this.logged.push(record)
    const disk = { files: new FolderFiles(folder), log, source }
    this.book = new MemoryBook({ now, wallNow: now }, () => DAY_MS, disk)
  }
}

describe('the book', () => {
  test('is read by the next process, of the same configuration alone', async (t) => {
    const folder = join(scratch(t), 'sessions')
    const one = new Process(folder)
    one.book.write('a', notes)
    one.book.write('b', notes)
    one.book.end('b')
    one.book.write('b', notes)
    const two = new Process(folder)
    assert.deepEqual(await two.book.read('a'), notes)
    assert.equal(await two.book.read('b'), 'ended')
    assert.equal(await two.book.read('c'), undefined)
    assert.equal(await new Process(folder, 'other.json').book.read('a'), undefined)
  })

  test('has what two processes have written in turn', async (t) => {
    const folder = join(scratch(t), 'sessions')
    const [one, two] = [new Process(folder), new Process(folder)]
    one.book.write('a', { subscriptions: [] })
    two.book.write('b', notes)
    two.nowMs++
    two.book.write('a', notes)
    one.book.write('c', notes)
    const three = new Process(folder)
    for (const hash of ['a', 'b', 'c']) assert.deepEqual(await three.book.read(hash), notes)
  })

  test('is read again for what another process may have written since', async (t) => {
    const folder = join(scratch(t), 'sessions')
    const [one, two] = [new Process(folder), new Process(folder)]
    assert.equal(await two.book.read('a'), undefined)
    one.book.end('a')
    two.nowMs += 1000
    assert.equal(await two.book.read('a'), 'ended')
  })

  test('forgets what is older than any session', async (t) => {
    const folder = join(scratch(t), 'sessions')
    new Process(folder).book.write('a', notes)
    const two = new Process(folder)
    two.nowMs += DAY_MS + 1
    assert.equal(await two.book.read('a'), undefined)
  })

  test('has a limit, beyond which the oldest go', async (t) => {
    const one = new Process(join(scratch(t), 'sessions'))
    const uri = `a://${'x'.repeat(2000)}`
    for (let i = 0; i < 2000; i++) one.book.write(`w${i}`, { subscriptions: [uri] })
    assert.equal(await one.book.read('w0'), undefined)
    assert.deepEqual(await one.book.read('w1999'), { subscriptions: [uri] })
    for (let i = 0; i < 10_001; i++) one.book.end(`e${i}`)
    assert.deepEqual([await one.book.read('e0'), await one.book.read('e1')], [undefined, 'ended'])
  })

  const odd = ['{', '[]', 'null', '["a"]', '["a","1","ended"]', '["a",86400000,7]', '[7,86400000,"ended"]']
  for (const text of ['', ...odd])
    test(`goes on with a file that is ${text}`, async (t) => {
      const folder = join(scratch(t), 'sessions')
      new Process(folder).book.end('a')
      const [name = ''] = readdirSync(folder)
      writeFileSync(join(folder, name), text, { mode: 0o600 })
      const two = new Process(folder)
      assert.equal(await two.book.read('a'), undefined)
      two.book.write('a', notes)
      two.book.end('b')
      const three = new Process(folder)
      assert.deepEqual([await three.book.read('a'), await three.book.read('b')], [notes, 'ended'])
    })

  test('goes on in a new file when another process has removed the file', async (t) => {
    const folder = join(scratch(t), 'sessions')
    const one = new Process(folder)
    one.book.end('a')
    const [name = ''] = readdirSync(folder)
    rmSync(join(folder, name))
    one.book.end('b')
    assert.equal(await new Process(folder).book.read('b'), 'ended')
  })

  test('leaves the files of configurations whose sessions may last longer', async (t) => {
    const folder = join(scratch(t), 'sessions')
    const one = new Process(folder)
    one.nowMs = Date.now()
    one.book.end('a')
    const other = new Process(folder, 'other.json')
    other.nowMs = one.nowMs + 2 * DAY_MS
    other.book.end('b')
    const two = new Process(folder)
    two.nowMs = one.nowMs
    assert.equal(await two.book.read('a'), 'ended')
  })

  test('keeps a file from growing for ever', async (t) => {
    const folder = join(scratch(t), 'sessions')
    const one = new Process(folder)
    const subscriptions = Array.from({ length: 200 }, (_, at) => `a://${'x'.repeat(2000)}/${at}`)
    one.book.end('b')
    for (let i = 0; i < 60; i++) one.book.write('a', { subscriptions: subscriptions.slice(i) })
    const [name = ''] = readdirSync(folder)
    assert(statSync(join(folder, name)).size < 17_000_000)
    const two = new Process(folder)
    assert.deepEqual(await two.book.read('a'), { level: undefined, subscriptions: subscriptions.slice(59) })
    assert.equal(await two.book.read('b'), 'ended')
  })

  test('says once that it cannot be written, and goes on in memory', async (t) => {
    const one = new Process(join(scratch(t), 'is', 'not', 'there'))
    for (const hash of ['a', 'b']) one.book.write(hash, notes)
    assert.deepEqual(one.logged.length, 1)
    assert.deepEqual(await one.book.read('a'), notes)
  })
})
