// Machines that are kept ready: whose they become, what they count for, and when they end.

import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { describe, test } from 'node:test'
import type { LogRecord } from '../../src/index.js'
import type { Machine, MachineSpec, SandboxRuntime } from '../../src/sandbox/runtime.js'
import { Sessions } from '../../src/sandbox/sessions.js'
import { realRuntime } from '../../src/real-runtime.js'
import { until } from '../integration/support/waiting.js'
import { openSandbox, settingsOf } from './support/sandbox.js'

/** Machines that do nothing but begin and end. */
class FakeRuntime implements SandboxRuntime {
  readonly id = 'fake'
  readonly isolation = 'none'
  readonly networks = ['none'] as const
  readonly started: MachineSpec[] = []
  readonly discarded: string[] = []
  /** By the id of their session. */
  readonly ends = new Map<string, () => void>()
  failure: Error | undefined

  async probe(): ReturnType<SandboxRuntime['probe']> {
    return { kind: 'usable', limits: 'none' }
  }

  async start(spec: MachineSpec): Promise<Machine> {
    if (this.failure !== undefined) throw this.failure
    this.started.push(spec)
    const ended = new Promise<void>((resolve) => this.ends.set(spec.sessionId, resolve))
    const never = new Promise<never>(() => {})
    return {
      kind: 'machine',
      workspace: '/workspace',
      interpreter: ['none'],
      ended: ended.then(() => ({ reason: 'stopped', message: 'stopped' })),
      run: () => ({
        stdin: new PassThrough(),
        stdout: new PassThrough(),
        stderr: new PassThrough(),
        exited: never,
        interrupt: () => {},
        kill: () => {},
      }),
      stop: async () => this.ends.get(spec.sessionId)?.(),
    }
  }

  async discard(sessionId: string): Promise<void> {
    this.discarded.push(sessionId)
  }

  async sweep(): Promise<void> {}
  async close(): Promise<void> {}
}

interface Scene {
  readonly fake: FakeRuntime
  readonly sessions: Sessions
  readonly log: LogRecord[]
  readonly open: (
    id: string,
    more?: { readonly template?: string; readonly flavor?: 'small' | 'large' },
  ) => void
  /** Lets every timer fire, and what follows happen. */
  readonly later: () => Promise<void>
}

function scene(section: object): Scene {
  const fake = new FakeRuntime()
  const timers = new Set<() => void>()
  const log: LogRecord[] = []
  let ids = 0
  const runtime = {
    ...realRuntime(),
    setTimer: (_delayMs: number, fire: () => void) => {
      timers.add(fire)
      return { cancel: () => void timers.delete(fire) }
    },
  }
  const sessions = new Sessions({
    settings: settingsOf(section),
    sandbox: fake,
    runtime,
    log: (record) => void log.push(record),
    newId: () => `id-${ids++}`,
    nonce: () => 'nonce',
  })
  return {
    fake,
    sessions,
    log,
    open: (id, { template, flavor } = {}) => void sessions.open({ owner: '', id, template, flavor }),
    later: async () => {
      for (const fire of timers) {
        timers.delete(fire)
        fire()
      }
      await new Promise((resolve) => setImmediate(resolve))
    },
  }
}

describe('spare machines', () => {
  test('are of the first template and the default flavor, and there are as many as were asked for', async () => {
    const { fake, later } = scene({ spare: 2, defaultFlavor: 'medium' })
    assert.equal(fake.started.length, 0, 'nothing starts before the service has begun')
    await later()
    await later()
    assert.deepEqual(
      fake.started.map(({ language, flavor }) => [language, flavor.memoryMiB]),
      [
        ['python', 2048],
        ['python', 2048],
      ],
    )
  })

  test('are each taken by one session, and another is started a moment later', async () => {
    const { fake, sessions, open, later } = scene({ spare: 1 })
    await later()
    open('one')
    open('two')
    assert.equal(fake.started.length, 1)
    await later()
    assert.equal(fake.started.length, 2)
    assert.deepEqual(
      fake.started.map(({ sessionName }) => sessionName()),
      ['one', undefined],
      'what a machine is called is told once it is taken',
    )
    await Promise.all(['one', 'two'].map((id) => sessions.stop(id, '')))
    const [first, second] = fake.started.map(({ sessionId }) => sessionId)
    assert(first !== undefined && second !== undefined)
    assert.equal(fake.discarded.filter((id) => id === first).length, 1, 'the first session had it')
    assert(!fake.discarded.includes(second), 'the next one is nobody’s')
  })

  test('are left alone by sessions that want something else', async () => {
    const { fake, open, later } = scene({ spare: 1, maxSessions: 5 })
    await later()
    open('node', { template: 'node' })
    open('large', { flavor: 'large' })
    await later()
    assert.deepEqual([fake.started.length, fake.discarded], [1, []])
  })

  test('count as sessions, and make room before a session does', async () => {
    const { fake, sessions, open, later } = scene({ spare: 2, maxSessions: 3 })
    open('node', { template: 'node' })
    await later()
    assert.equal(fake.started.length, 2)
    open('other', { template: 'node' })
    await later()
    assert.deepEqual([fake.started.length, fake.discarded.length], [2, 1])
    open('usual')
    assert.equal(sessions.of('').length, 3, 'the last spare is a session now')
    await later()
    assert.equal(fake.started.length, 2, 'there is no room for another')
    await sessions.stop('node', '')
    await later()
    assert.equal(fake.started.length, 3, 'there is again')
  })

  test('count for the memory of all sessions', async () => {
    const { fake, sessions, open, later } = scene({ spare: 2, maxTotalMemoryMb: 5120 })
    await later()
    assert.equal(fake.started.length, 2)
    open('large', { flavor: 'large' })
    await later()
    assert.equal(fake.discarded.length, 1, 'one is enough')
    assert.equal(fake.started.length, 2)
    assert.equal(sessions.of('').length, 1)
  })

  test('that have ended are no session’s, and are replaced when sessions are looked after', async () => {
    const { fake, sessions, open, later } = scene({ spare: 1 })
    await later()
    const [spare] = fake.started
    fake.ends.get(spare?.sessionId ?? '')?.()
    await later()
    assert.deepEqual(fake.discarded, [spare?.sessionId])
    assert.equal(fake.started.length, 1)
    sessions.endExpired()
    await later()
    assert.equal(fake.started.length, 2)
    open('one')
    await sessions.stop('one', '')
    assert.deepEqual(
      fake.discarded,
      fake.started.map(({ sessionId }) => sessionId),
    )
  })

  test('that cannot be started are told of, and sessions begin without them', async () => {
    const { fake, log, open, sessions, later } = scene({ spare: 1 })
    fake.failure = new Error('no room on the host')
    await later()
    await later()
    assert.deepEqual(
      log.map(({ level, message }) => [level, message]),
      [['warn', 'a spare machine could not be started']],
    )
    open('one')
    assert.equal(sessions.of('').length, 1)
  })

  test('end with the service, also those that start just then, and none is started after it', async () => {
    const { fake, sessions, later } = scene({ spare: 2 })
    await later()
    await sessions.close()
    sessions.endExpired()
    await later()
    assert.deepEqual(fake.discarded.toSorted(), fake.started.map(({ sessionId }) => sessionId).toSorted())
    assert.equal(fake.started.length, 2)
  })

  test('have their interpreter, and lose nothing when they become a session', async (t) => {
    const templates = { python: { language: 'node' } }
    const spawned: string[] = []
    const { client } = await openSandbox(t, { templates, spare: 1 }, (runtime) => ({
      ...runtime,
      spawn: (spec) => {
        spawned.push(spec.command)
        return runtime.spawn(spec)
      },
    }))
    await until(() => spawned.length > 0)
    const first = await client().code('var x = 41; x + 1', { session_id: 's' })
    assert.deepEqual(
      [first.text, first.of('session_created'), first.of('sandbox_restarted')],
      ['42\n', true, false],
    )
    assert.equal((await client().code('x', { session_id: 's' })).text, '41\n')
  })
})
