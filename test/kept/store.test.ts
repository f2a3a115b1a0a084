// The descriptions of servers, from one life of the proxy to the next.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { KeptStore, keptFileName } from '../../src/kept/store.js'
import { type Limits, limits } from '../../src/limits.js'
import type { LogRecord } from '../../src/runtime/runtime.js'
import type { ServerConfig } from '../../src/upstream/contracts/server-config.js'
import { factsOf, serverOf, toolsOf } from './support/facts.js'
import { FakeClock } from '../upstream/support/fake-clock.js'
import { MemoryFiles } from './support/memory-files.js'

const SOURCE = '/home/it/mcp.json'
const DAY_MS = 24 * 3_600_000

/** A machine on which proxies live one after the other. */
class Machine {
  readonly clock = new FakeClock()
  readonly files = new MemoryFiles(() => this.#wallNow())
  readonly log: LogRecord[] = []

  start(source = SOURCE, kept: Limits['kept'] = limits.kept): KeptStore {
    const { files, clock } = this
    const log = (record: LogRecord): void => void this.log.push(record)
    const setTimer: FakeClock['setTimer'] = (ms, fire) => clock.setTimer(ms, fire)
    const runtime = { now: () => clock.now(), wallNow: () => this.#wallNow(), setTimer }
    return new KeptStore(kept, { files, runtime, log, source })
  }

  #wallNow(): number {
    return 1e12 + this.clock.now()
  }

  get text(): string {
    return this.files.stored.get(keptFileName(SOURCE))?.bytes.toString() ?? ''
  }

  said(level: string): string[] {
    return this.log.filter((record) => record.level === level).map(({ message }) => message)
  }
}

const a = serverOf({ command: 'a' })

/** A machine on which one life has kept what the server `a` has said. */
function keptOnce(): Machine {
  const machine = new Machine()
  const store = machine.start()
  store.of(a).keep(factsOf('mine'))
  store.close()
  return machine
}

function toolsIn(store: KeptStore, config: ServerConfig): string[] | undefined {
  return toolsOf(store.of(config).facts)
}

const ids = (text: string): string[] => text.match(/"[0-9a-f]{32}":/g) ?? []

describe('what servers said', () => {
  test('is there in the next life, by server, as the server wrote it', async () => {
    const machine = new Machine()
    const [one, other] = [serverOf({ command: 'x' }, {}, 'one'), serverOf({ command: 'x' }, {}, 'other')]
    const failed = { failure: "'other' exited with code 3", description: undefined }
    const first = machine.start()
    const said = factsOf('plain', 'é 1.0')
    first.of(one).keep(said)
    first.of(other).keep(failed)
    first.close()
    const second = machine.start()
    assert.deepEqual(second.of(one).facts, said)
    assert.deepEqual(second.of(other).facts, failed)
  })

  test('stands in one file, from whose ids no value can be guessed', async () => {
    const machine = new Machine()
    const store = machine.start()
    for (const token of ['one', 'other'])
      store.of(serverOf({ command: 'x', env: { TOKEN: token } })).keep(factsOf('t'))
    store.close()
    assert.deepEqual([...machine.files.stored.keys()], [keptFileName(SOURCE)])
    const again = new Machine()
    const next = again.start()
    next.of(serverOf({ command: 'x', env: { TOKEN: 'one' } })).keep(factsOf('t'))
    next.close()
    assert.equal(ids(machine.text).length, 2)
    assert.ok(!ids(machine.text).includes(ids(again.text)[0] ?? ''), 'each file has a salt')
  })

  test('is not there for a server of other values, nor for another configuration', async () => {
    const machine = keptOnce()
    const changed = serverOf({ command: 'a', env: { TOKEN: 'another' } })
    assert.equal(toolsIn(machine.start(), changed), undefined)
    assert.equal(toolsIn(machine.start('/home/it/other.json'), a), undefined)
    assert.deepEqual(toolsIn(machine.start(), a), ['mine'])
  })

  test('is shared by all schemas that have the same server', () => {
    const store = new Machine().start()
    store.of(a).keep(factsOf('mine'))
    assert.deepEqual(toolsIn(store, serverOf({ command: 'a', prefix: false })), ['mine'])
    assert.equal(toolsIn(store, serverOf({ command: 'b' })), undefined)
  })

  test('of a server that is not to be kept is in memory alone', async () => {
    const machine = new Machine()
    const config = serverOf({ command: 'a', keep: false })
    const store = machine.start()
    store.of(config).keep(factsOf('mine'))
    assert.deepEqual(toolsIn(store, config), ['mine'])
    store.close()
    assert.equal(machine.files.stored.size, 0)
  })

  test('is in memory where there is no disk', async () => {
    const store = new KeptStore(limits.kept)
    store.of(a).keep(factsOf('mine'))
    assert.deepEqual(toolsIn(store, a), ['mine'])
    store.close()
  })

  test('is written a moment after the change, and rarely where it changes all the time', async () => {
    const machine = new Machine()
    const store = machine.start()
    const server = store.of(a)
    for (const name of ['one', 'two', 'three']) server.keep(factsOf(name))
    assert.equal(machine.files.writes.length, 0)
    machine.clock.advance(1000)
    assert.equal(machine.files.writes.length, 1)
    assert.deepEqual(toolsIn(machine.start(), a), ['three'])
    for (let second = 0; second < 60; second++) {
      server.keep(factsOf(`at ${second}`))
      machine.clock.advance(1000)
    }
    assert.ok(machine.files.writes.length <= 10, 'some writes in a minute')
    store.close()
    assert.deepEqual(toolsIn(machine.start(), a), ['at 59'])
  })

  test('is not written again when it is the same', async () => {
    const machine = new Machine()
    for (let life = 0; life < 3; life++) {
      const store = machine.start()
      store.of(a).keep(factsOf('mine'))
      store.close()
    }
    assert.equal(machine.files.writes.length, 1)
  })

  test('does not lose what another process has kept', () => {
    const machine = new Machine()
    const b = serverOf({ command: 'b' })
    const [one, other] = [machine.start(), machine.start()]
    one.of(a).keep(factsOf('of a'))
    other.of(b).keep(factsOf('of b'))
    one.close()
    other.close()
    const next = machine.start()
    const found = [a, b].map((server) => toolsIn(next, server))
    assert.deepEqual(found, [['of a'], ['of b']])
  })

  test('is written before the end where it is flushed', async () => {
    const machine = new Machine()
    const store = machine.start()
    store.of(a).keep(factsOf('mine'))
    store.flush()
    assert.equal(machine.files.writes.length, 1)
  })

  test('has a limit of servers, in memory and on disk, of which the oldest goes', async () => {
    const machine = new Machine()
    const few = { ...limits.kept, serversMax: 2 }
    const servers = ['a', 'b', 'c'].map((command) => serverOf({ command }))
    const [first, , last] = servers
    assert(first && last)
    const memory = new KeptStore(few)
    for (const server of servers) memory.of(server).keep(factsOf('mine'))
    assert.deepEqual([toolsIn(memory, first), toolsIn(memory, last)], [undefined, ['mine']])
    for (const server of servers) {
      const store = machine.start(SOURCE, few)
      store.of(server).keep(factsOf('mine'))
      store.close()
      machine.clock.advance(1)
    }
    assert.deepEqual([toolsIn(machine.start(), first), toolsIn(machine.start(), last)], [undefined, ['mine']])
  })

  test('is not written where it is too long, beside what is not', async () => {
    const machine = new Machine()
    const store = machine.start(SOURCE, { ...limits.kept, fileBytesMax: 1000 })
    const b = serverOf({ command: 'b' })
    store.of(a).keep(factsOf('x'.repeat(1000)))
    store.of(b).keep(factsOf('short'))
    store.close()
    assert.equal(toolsIn(store, a)?.length, 1)
    assert.deepEqual([toolsIn(machine.start(), a), toolsIn(machine.start(), b)], [undefined, ['short']])
  })
})

describe('a disk that fails', () => {
  test('is told of once, and the proxy goes on with its memory', async () => {
    const machine = new Machine()
    const [one, other] = [a, serverOf({ command: 'b' })]
    const store = machine.start()
    machine.files.troubles.writes = 'ENOSPC: no space left on device'
    for (const config of [one, other]) store.of(config).keep(factsOf('mine'))
    machine.clock.advance(1000)
    store.of(one).keep(factsOf('newer'))
    machine.clock.advance(60_000)
    assert.equal(machine.said('warn').length, 1)
    const found = machine.said('warn').join()
    assert.match(found, /\/home\/it\/.mcps-proxy\/kept: ENOSPC: no space left.*in memory only/)
    assert.deepEqual(toolsIn(store, one), ['newer'])
    machine.files.troubles.writes = undefined
    store.of(one).keep(factsOf('newest'))
    store.close()
    assert.deepEqual(toolsIn(machine.start(), a), ['newest'])
  })

  test('costs a line of debug where there is no home', async () => {
    const machine = new Machine()
    machine.files.troubles.folder = 'EROFS: read-only file system'
    const store = machine.start()
    store.of(a).keep(factsOf('mine'))
    store.close()
    assert.deepEqual(machine.said('warn'), [])
    assert.match(machine.said('debug').join(), /no folder for them: EROFS/)
    assert.equal(machine.files.stored.size, 0)
  })

  test('keeps nothing where it cannot be read', async () => {
    const machine = keptOnce()
    machine.files.troubles.readsFail = true
    assert.equal(toolsIn(machine.start(), a), undefined)
  })

  test('whose files are damaged has kept nothing, and keeps again', async () => {
    const machine = keptOnce()
    for (const file of machine.files.stored.values()) file.bytes = file.bytes.subarray(0, -10)
    const second = machine.start()
    assert.equal(toolsIn(second, a), undefined)
    second.of(a).keep(factsOf('new'))
    second.close()
    assert.deepEqual(toolsIn(machine.start(), a), ['new'])
  })

  test('that has lost its folder while the proxy ran keeps again', async () => {
    const machine = new Machine()
    const first = machine.start()
    first.of(a).keep(factsOf('mine'))
    machine.clock.advance(1000)
    machine.files.stored.clear()
    first.of(a).keep(factsOf('new'))
    first.close()
    assert.deepEqual(toolsIn(machine.start(), a), ['new'])
  })
})

describe('kept facts', () => {
  test('stay as long as they are used, which is written once a day at most', async () => {
    const machine = keptOnce()
    machine.clock.advance(DAY_MS / 2)
    const second = machine.start()
    assert.deepEqual(toolsIn(second, a), ['mine'])
    second.close()
    assert.equal(machine.files.writes.length, 1)
    for (let days = 0; days < 3; days++) {
      machine.clock.advance(20 * DAY_MS)
      const store = machine.start()
      assert.deepEqual(toolsIn(store, a), ['mine'])
      store.close()
    }
    machine.clock.advance(31 * DAY_MS)
    const other = machine.start()
    other.of(serverOf({ command: 'b' })).keep(factsOf('theirs'))
    other.close()
    assert.equal(toolsIn(machine.start(), a), undefined)
    assert.equal(machine.clock.timers, 0)
  })

  test('of a configuration that nobody uses go with its file', async () => {
    const machine = new Machine()
    const gone = machine.start('/home/it/gone.json')
    gone.of(a).keep(factsOf('theirs'))
    gone.close()
    machine.clock.advance(31 * DAY_MS)
    const store = machine.start()
    store.of(a).keep(factsOf('mine'))
    store.close()
    assert.deepEqual([...machine.files.stored.keys()], [keptFileName(SOURCE)])
  })

  test('nothing is begun any more once the store is closed', async () => {
    const machine = new Machine()
    const store = machine.start()
    const server = store.of(a)
    server.keep(factsOf('mine'))
    store.close()
    server.keep(factsOf('late'))
    assert.equal(machine.clock.timers, 0)
    assert.deepEqual(toolsIn(store, a), ['late'])
  })
})
