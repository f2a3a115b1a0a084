// What servers said of themselves, from one life of the proxy to the next.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { KeptDisk } from '../../src/kept/disk.js'
import { KeptStore } from '../../src/kept/store.js'
import { type KeptLimits, limits } from '../../src/limits.js'
import type { LogRecord } from '../../src/runtime/runtime.js'
import type { ServerConfig } from '../../src/upstream/contracts/server-config.js'
import { factsOf, serverOf, toolsOf } from './support/facts.js'
import { HandClock } from './support/hand-clock.js'
import { MemoryFiles } from './support/memory-files.js'

const DAY_MS = 24 * 3_600_000

/** A machine on which proxies live one after the other. */
class Machine {
  readonly clock = new HandClock()
  readonly files = new MemoryFiles(() => this.clock.time)
  readonly log: LogRecord[] = []

  start(
    servers: readonly ServerConfig[],
    source = '/home/it/mcp.json',
    kept: KeptLimits = limits.kept,
  ): KeptStore {
    const { files, clock: runtime } = this
    const log = (record: LogRecord): void => void this.log.push(record)
    const store = new KeptStore(kept, new KeptDisk({ files, limits: kept, runtime, log, source, servers }))
    for (const server of servers) store.of(server)
    return store
  }

  get keptFiles(): string[] {
    return [...this.files.stored.keys()].filter((name) => name.endsWith('.kept'))
  }

  get keptWrites(): number {
    return this.files.writes.filter((name) => name.endsWith('.kept')).length
  }

  said(level: string): string[] {
    return this.log.filter((record) => record.level === level).map(({ message }) => message)
  }
}

const a = serverOf({ command: 'a' })

function toolsIn(store: KeptStore, config: ServerConfig, set = ''): string[] | undefined {
  return toolsOf(store.of(config)?.recall(set))
}

describe('what servers said', () => {
  test('is there in the next life, by server and set', async () => {
    const machine = new Machine()
    const [one, other] = [serverOf({ command: 'x' }, {}, 'one'), serverOf({ command: 'x' }, {}, 'other')]
    const first = machine.start([one, other])
    first.of(one)?.keep('', factsOf('plain'))
    first.of(one)?.keep('roots', factsOf('rooted'))
    first.of(other)?.keep('', { answered: false, description: undefined })
    await first.close()
    const second = machine.start([one, other])
    assert.deepEqual(toolsIn(second, one), ['plain'])
    assert.deepEqual(toolsIn(second, one, 'roots'), ['rooted'])
    assert.equal(second.of(one)?.recall('sampling'), undefined)
    assert.deepEqual(second.of(other)?.recall(''), { answered: false, description: undefined })
  })

  test('is not there for a server of other values, nor for another configuration', async () => {
    const machine = new Machine()
    const first = machine.start([a])
    first.of(a)?.keep('', factsOf('mine'))
    await first.close()
    const changed = serverOf({ command: 'a', env: { TOKEN: 'another' } })
    assert.equal(toolsIn(machine.start([changed]), changed), undefined)
    assert.equal(toolsIn(machine.start([a], '/home/it/other.json'), a), undefined)
    assert.deepEqual(toolsIn(machine.start([a]), a), ['mine'])
  })

  test('is shared by all schemas that have the same server', () => {
    const store = new Machine().start([a])
    store.of(a)?.keep('', factsOf('mine'))
    assert.deepEqual(toolsIn(store, serverOf({ command: 'a', prefix: false })), ['mine'])
    assert.equal(toolsIn(store, serverOf({ command: 'b' })), undefined)
  })

  test('is nothing of a server that is not to be kept', async () => {
    const machine = new Machine()
    const config = serverOf({ command: 'a', keep: false })
    const store = machine.start([config])
    assert.equal(store.of(config), undefined)
    await store.close()
    assert.deepEqual(machine.keptFiles, [])
  })

  test('is in memory where there is no disk', async () => {
    const store = new KeptStore(limits.kept)
    store.of(a)?.keep('', factsOf('mine'))
    assert.deepEqual(toolsIn(store, a), ['mine'])
    await store.close()
  })

  test('is written a moment after the change, and rarely where it changes all the time', async () => {
    const machine = new Machine()
    const store = machine.start([a])
    const server = store.of(a)
    for (const name of ['one', 'two', 'three']) server?.keep('', factsOf(name))
    assert.equal(machine.keptWrites, 0)
    await machine.clock.pass(1000)
    assert.equal(machine.keptWrites, 1)
    assert.deepEqual(toolsIn(machine.start([a]), a), ['three'])
    for (let second = 0; second < 60; second++) {
      server?.keep('', factsOf(`at ${second}`))
      await machine.clock.pass(1000)
    }
    assert.equal(machine.keptWrites, 7)
    await store.close()
    assert.deepEqual(toolsIn(machine.start([a]), a), ['at 59'])
  })

  test('is not written again when it is the same', async () => {
    const machine = new Machine()
    for (let life = 0; life < 3; life++) {
      const store = machine.start([a])
      store.of(a)?.keep('', factsOf('mine'))
      await store.close()
    }
    assert.equal(machine.keptWrites, 1)
  })

  test('does not lose what another process has kept for other clients', async () => {
    const machine = new Machine()
    const [one, other] = [machine.start([a]), machine.start([a])]
    one.of(a)?.keep('roots', factsOf('rooted'))
    other.of(a)?.keep('', factsOf('plain'))
    await one.close()
    await other.close()
    const next = machine.start([a])
    assert.deepEqual(toolsIn(next, a), ['plain'])
    assert.deepEqual(toolsIn(next, a, 'roots'), ['rooted'])
  })

  test('has a limit of sets, in memory and on disk, of which the oldest goes', async () => {
    const machine = new Machine()
    const { setsMax } = limits.kept
    const store = machine.start([a])
    for (let set = 0; set <= setsMax; set++) store.of(a)?.keep(`${set}`, factsOf(`t${set}`))
    assert.equal(toolsIn(store, a, '0'), undefined)
    assert.deepEqual(toolsIn(store, a, '1'), ['t1'])
    await store.close()
    const next = machine.start([a])
    next.of(a)?.keep('new', factsOf('new'))
    await next.close()
    const last = machine.start([a])
    assert.equal(toolsIn(last, a, '1'), undefined)
    assert.deepEqual(toolsIn(last, a, '2'), ['t2'])
    assert.deepEqual(toolsIn(last, a, 'new'), ['new'])
  })

  test('has a limit of servers in memory', () => {
    const store = new KeptStore({ ...limits.kept, serversMax: 2 })
    const servers = ['a', 'b', 'c'].map((command) => serverOf({ command }))
    for (const server of servers) store.of(server)?.keep('', factsOf('mine'))
    const [first, , last] = servers
    assert(first && last)
    assert.deepEqual(toolsIn(store, last), ['mine'])
    assert.equal(toolsIn(store, first), undefined)
  })

  test('is not written where it is too long, and stays in memory', async () => {
    const machine = new Machine()
    const store = machine.start([a], '/home/it/mcp.json', { ...limits.kept, fileBytesMax: 200 })
    store.of(a)?.keep('', factsOf('x'.repeat(200)))
    await machine.clock.pass(1000)
    assert.deepEqual(machine.keptFiles, [])
    assert.equal(toolsIn(store, a)?.length, 1)
    assert.match(machine.said('debug').join(), /too long/)
    assert.deepEqual(machine.said('warn'), [])
  })
})

describe('a disk that fails', () => {
  test('is told of once, and the proxy goes on with its memory', async () => {
    const machine = new Machine()
    const [one, other] = [a, serverOf({ command: 'b' })]
    const store = machine.start([one, other])
    machine.files.troubles.writes = 'ENOSPC: no space left on device'
    for (const config of [one, other]) store.of(config)?.keep('', factsOf('mine'))
    await machine.clock.pass(1000)
    store.of(one)?.keep('', factsOf('newer'))
    await machine.clock.pass(60_000)
    assert.equal(machine.said('warn').length, 1)
    assert.match(
      machine.said('warn').join(),
      /\/home\/it\/.mcps-proxy\/kept: ENOSPC: no space left.*in memory only/,
    )
    assert.deepEqual(toolsIn(store, one), ['newer'])
    machine.files.troubles.writes = undefined
    store.of(one)?.keep('', factsOf('newest'))
    await store.close()
    assert.deepEqual(toolsIn(machine.start([a]), a), ['newest'])
  })

  test('costs a line of debug where there is no home', async () => {
    const machine = new Machine()
    machine.files.troubles.folder = 'EROFS: read-only file system'
    const store = machine.start([a])
    store.of(a)?.keep('', factsOf('mine'))
    await store.close()
    assert.deepEqual(machine.said('warn'), [])
    assert.match(machine.said('debug').join(), /no folder for them: EROFS/)
    assert.equal(machine.files.stored.size, 0)
  })

  test('keeps nothing where it cannot be read', async () => {
    const machine = new Machine()
    const first = machine.start([a])
    first.of(a)?.keep('', factsOf('mine'))
    await first.close()
    machine.files.troubles.readsFail = true
    assert.equal(toolsIn(machine.start([a]), a), undefined)
  })

  for (const [what, damage] of [
    ['damaged', (bytes: Buffer): Buffer => bytes.subarray(0, -1)],
    ['emptied', (): Buffer => Buffer.alloc(0)],
  ] as const) {
    test(`whose files are ${what} has kept nothing, and keeps again`, async () => {
      const machine = new Machine()
      const first = machine.start([a])
      first.of(a)?.keep('', factsOf('mine'))
      await first.close()
      for (const file of machine.files.stored.values()) file.bytes = damage(file.bytes)
      const second = machine.start([a])
      assert.equal(toolsIn(second, a), undefined)
      second.of(a)?.keep('', factsOf('new'))
      await second.close()
      assert.deepEqual(toolsIn(machine.start([a]), a), ['new'])
    })
  }

  test('that has lost its folder while the proxy ran keeps again', async () => {
    const machine = new Machine()
    const first = machine.start([a])
    first.of(a)?.keep('', factsOf('mine'))
    await machine.clock.pass(1000)
    machine.files.stored.clear()
    first.of(a)?.keep('', factsOf('new'))
    await first.close()
    assert.deepEqual(toolsIn(machine.start([a]), a), ['new'])
  })

  test('on which another process has made the key is used with that key', async () => {
    const machine = new Machine()
    const [one, other] = [machine.start([a]), machine.start([serverOf({ command: 'b' })])]
    one.of(a)?.keep('', factsOf('of a'))
    other.of(serverOf({ command: 'b' }))?.keep('', factsOf('of b'))
    await Promise.all([one.close(), other.close()])
    const next = machine.start([a, serverOf({ command: 'b' })])
    assert.deepEqual(toolsIn(next, a), ['of a'])
    assert.deepEqual(toolsIn(next, serverOf({ command: 'b' })), ['of b'])
  })
})

describe('kept files', () => {
  const one = serverOf({ command: 'x' }, {}, 'one')
  const gone = serverOf({ command: 'x' }, {}, 'gone')

  async function twoLives(machine: Machine, source: string): Promise<void> {
    const first = machine.start([one, gone], source)
    for (const config of [one, gone]) first.of(config)?.keep('', factsOf('mine'))
    await first.close()
    await machine.start([one], source).close()
  }

  test('go with their server, and those of another configuration stay', async () => {
    const machine = new Machine()
    const other = machine.start([gone], '/home/it/other.json')
    other.of(gone)?.keep('', factsOf('theirs'))
    await other.close()
    await twoLives(machine, '/home/it/mcp.json')
    assert.deepEqual(toolsIn(machine.start([one, gone]), one), ['mine'])
    assert.equal(toolsIn(machine.start([one, gone]), gone), undefined)
    assert.deepEqual(toolsIn(machine.start([gone], '/home/it/other.json'), gone), ['theirs'])
  })

  test('stay where programs may call different configurations the same', async () => {
    const machine = new Machine()
    await twoLives(machine, 'createProxy')
    assert.equal(machine.keptFiles.length, 2)
    await twoLives(machine, 'embedded')
    assert.equal(machine.keptFiles.length, 3)
  })

  test('stay as long as they are used, and are touched once a day at most', async () => {
    const machine = new Machine()
    const first = machine.start([a])
    first.of(a)?.keep('', factsOf('mine'))
    await first.close()
    const usedAt = (): number | undefined => machine.files.stored.get(machine.keptFiles[0] ?? '')?.modifiedMs
    const keptAt = usedAt()
    await machine.clock.pass(DAY_MS / 2)
    assert.deepEqual(toolsIn(machine.start([a]), a), ['mine'])
    await machine.clock.pass(1)
    assert.equal(usedAt(), keptAt)
    for (let days = 0; days < 3; days++) {
      await machine.clock.pass(20 * DAY_MS)
      const store = machine.start([a])
      assert.deepEqual(toolsIn(store, a), ['mine'])
      await machine.clock.pass(10_000)
      await store.close()
    }
    await machine.clock.pass(31 * DAY_MS)
    const last = machine.start([a])
    await machine.clock.pass(10_000)
    assert.deepEqual(machine.keptFiles, [])
    await last.close()
    assert.equal(machine.clock.timers, 0)
  })

  test('nothing is begun any more once the store is closed', async () => {
    const machine = new Machine()
    const store = machine.start([a])
    const server = store.of(a)
    server?.keep('', factsOf('mine'))
    await store.close()
    server?.keep('', factsOf('late'))
    assert.equal(machine.clock.timers, 0)
    assert.deepEqual(toolsIn(store, a), ['late'])
  })
})
