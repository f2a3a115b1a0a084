import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { realRuntime } from '../../src/real-runtime.js'
import { FileLock, type LockRuntime } from '../../src/runtime/file-lock.js'
import { type Scope, scratch } from '../integration/support/spawned.js'

const ROUNDS = 30

const ignore = (): void => undefined

/** A lock whose timers never fire. */
function lockAt(path: string, runtime: Partial<LockRuntime> = {}): FileLock {
  return new FileLock(path, { ...realRuntime(), setTimer: () => ({ cancel: ignore }), ...runtime })
}

function writeStale(path: string): void {
  writeFileSync(path, '')
  utimesSync(path, new Date(0), new Date(0))
}

test('a lock has one owner, until that owner frees it', async (t: Scope) => {
  const path = join(scratch(t), 'new', 'lock')
  const [one, other] = [lockAt(path), lockAt(path, realRuntime())]
  assert.deepEqual([one.tryAcquire(), other.tryAcquire()], [true, false])
  const waiting = other.during(() => {
    one.release()
    assert.equal(other.isHeld, true, 'the lock of another owner is not freed')
    return 1
  })
  one.release()
  assert.equal(await waiting, 1)
  assert.equal(other.isHeld, false)
})

test('a lock that another process keeps is refused after a minute', async (t: Scope) => {
  const path = join(scratch(t), 'lock')
  assert(lockAt(path).tryAcquire())
  let now = 0
  const setTimer: LockRuntime['setTimer'] = (ms, fire) => {
    now += ms
    queueMicrotask(fire)
    return { cancel: ignore }
  }
  const waiting = lockAt(path, { now: () => now, setTimer }).during(() => assert.fail())
  const message = `other processes hold ${path}; remove it if none of them runs`
  await assert.rejects(waiting, { code: 'EBUSY', message })
  assert(now >= 60_000)
})

for (const moment of [1, 2])
  test(`a stale lock has one owner, when another process comes at look ${moment}`, (t: Scope) => {
    const path = join(scratch(t), 'lock')
    writeStale(path)
    const taken: boolean[] = []
    let looks = 0
    const wallNow = (): number => {
      looks += 1
      if (looks === moment) taken.push(lockAt(path).tryAcquire())
      return Date.now()
    }
    const slow = lockAt(path, { wallNow })
    taken.push(slow.tryAcquire())
    assert.deepEqual(taken.map(String).sort(), ['false', 'true'])
    assert.deepEqual(readdirSync(join(path, '..')), ['lock'])
  })

test('a lock counts as taken while its holder touches it now, and not in the past or the future', (t: Scope) => {
  const path = join(scratch(t), 'lock')
  const lock = lockAt(path, { wallNow: () => 100_000 })
  assert.equal(lock.isActive, false)
  writeFileSync(path, '')
  for (const [touchedAtS, isTaken] of [
    [84, false],
    [86, true],
    [114, true],
    [116, false],
  ] as const) {
    utimesSync(path, touchedAtS, touchedAtS)
    assert.equal(lock.isActive, isTaken, `${touchedAtS}`)
  }
})

test('a turn that a killed process left is not waited for', async (t: Scope) => {
  const path = join(scratch(t), 'lock')
  writeStale(path)
  writeStale(`${path}.turn`)
  assert.equal(await lockAt(path, realRuntime()).during(() => 1), 1)
})

/** Tries to take the lock of each path that it receives, and answers whether that succeeded. */
const program = `
  const { FileLock } = await import(${JSON.stringify(new URL('../../src/runtime/file-lock.js', import.meta.url).href)})
  const runtime = { now: Date.now, wallNow: Date.now, setTimer: () => undefined }
  process.on('message', (path) => process.send(new FileLock(path, runtime).tryAcquire()))
  process.send('ready')`

async function start(t: Scope): Promise<{
  readonly take: (path: string) => Promise<unknown>
  readonly kill: () => Promise<unknown>
}> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  t.after(() => void child.kill('SIGKILL'))
  await once(child, 'message')
  return {
    take: async (path) => {
      child.send(path)
      return (await once(child, 'message'))[0]
    },
    kill: () => {
      child.kill('SIGKILL')
      return once(child, 'exit')
    },
  }
}

test('a stale lock has one owner among processes', async (t: Scope) => {
  const path = join(scratch(t), 'lock')
  const processes = await Promise.all([start(t), start(t)])
  for (let round = 0; round < ROUNDS; round++) {
    writeStale(path)
    const taken = await Promise.all(processes.map(({ take }) => take(path)))
    assert.deepEqual(taken.map(String).sort(), ['false', 'true'], `round ${round}`)
    rmSync(path)
  }
})

test('a lock counts as long as its holder touches it, whatever the number of its process', (t: Scope) => {
  const path = join(scratch(t), 'lock')
  let beat = ignore
  let nowMs = Date.now()
  const clock = { wallNow: () => nowMs }
  const setTimer: LockRuntime['setTimer'] = (_delayMs, fire) => {
    beat = fire
    return { cancel: () => void (beat = ignore) }
  }
  const holder = lockAt(path, { ...clock, setTimer })
  assert.equal(holder.tryAcquire(), true)
  for (let minute = 0; minute < 10; minute++) {
    nowMs += 10_000
    beat()
    assert.equal(lockAt(path, clock).tryAcquire(), false)
  }
  nowMs += 20_000
  assert.equal(lockAt(path, clock).tryAcquire(), true, 'the holder stood still')
  beat()
  assert.equal(holder.isHeld, false)
  nowMs += 20_000
  assert.equal(lockAt(path, clock).tryAcquire(), true, 'the first holder touches no lock of others')
})
