// Lists that one run of the command keeps for the next.

import assert from 'node:assert/strict'
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, describe, test } from 'node:test'
import { at } from './support/json.js'
import { cli, itServer } from './support/programs.js'
import { type Spawned, configFile, scratch, spawnProgram } from './support/spawned.js'
import { until, untilAnswered } from './support/waiting.js'

/** A person's machine: a home folder, a configuration, and a server that is ready once a file exists. */
class Machine {
  readonly home: string
  readonly #scope: TestContext
  readonly #go: string
  readonly #config: string

  constructor(scope: TestContext) {
    this.#scope = scope
    this.home = scratch(scope)
    this.#go = join(this.home, 'go')
    const late = itServer({ IT_START: `late:${this.#go}` })
    this.#config = configFile(scope, { late }, { startupGraceMs: 60_000 })
    this.ready(true)
  }

  ready(isReady: boolean): void {
    if (isReady) writeFileSync(this.#go, '')
    else rmSync(this.#go)
  }

  start(...args: string[]): Spawned {
    const all = [cli, '--stdio', '--config', this.#config, ...args]
    return spawnProgram(this.#scope, process.execPath, all, { env: { ...process.env, HOME: this.home } })
  }

  /** The texts of the files with kept lists. */
  get kept(): readonly string[] {
    const folder = join(this.home, '.mcps-proxy', 'kept')
    const names = existsSync(folder) ? readdirSync(folder) : []
    return names
      .filter((name) => name.endsWith('.json'))
      .map((name) => readFileSync(join(folder, name), 'utf8'))
  }

  /** Resolves when the lists of the server are kept; `left` has ended. */
  async untilDescribed(left: Spawned): Promise<void> {
    await untilAnswered(
      () => Promise.resolve(this.kept.some((text) => text.includes('"description"'))),
      () => [left.stderr, ...this.kept].join('\n'),
    )
  }

  /** Whether a detached process waits for the end of the proxy. */
  get hasSuccessor(): boolean {
    const lines = readdirSync('/proc').map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
      } catch {
        return ''
      }
    })
    return lines.some((line) => line.includes('\0warm-up\0') && line.includes(this.#config))
  }
}

async function toolsOf({ client }: Spawned): Promise<unknown> {
  const { value } = await client.request('tools/list')
  return at(value, 'result', 'tools')
}

/** One life of the command, in which its lists were read. */
async function live(machine: Machine, ...args: string[]): Promise<unknown> {
  const proxy = machine.start(...args)
  await proxy.client.open()
  const tools = await toolsOf(proxy)
  assert.equal(await proxy.finish(), 0)
  return tools
}

test('kept lists are neither written nor read beside a recording, which is played back where nothing is kept', async (t) => {
  const machine = new Machine(t)
  await live(machine, '--record', join(machine.home, 'first.jsonl'))
  assert.deepEqual(machine.kept, [])
  await live(machine)
  machine.ready(false)
  const proxy = machine.start('--record', join(machine.home, 'second.jsonl'))
  const opened = proxy.client.open()
  await proxy.client.request('ping')
  const answers = proxy.client.count((value) => at(value, 'result', 'capabilities') !== undefined)
  assert.equal(answers, 0, 'initialize waits for the server')
  machine.ready(true)
  await opened
  assert.notEqual(await toolsOf(proxy), undefined)
})

async function wholeNext(machine: Machine): Promise<void> {
  machine.ready(false)
  const next = machine.start()
  await next.client.open()
  const tools = await toolsOf(next)
  assert.ok(Array.isArray(tools) && tools.length > 0, 'the list is there before the server has started')
  next.kill()
}

const kills = [
  ['before they are ready', false],
  ['as soon as they are ready', true],
] as const

describe('a client that leaves before the lists of its servers are kept', () => {
  test('and sends SIGTERM finds their lists at the next start', async (t) => {
    const machine = new Machine(t)
    machine.ready(false)
    const proxy = machine.start()
    await proxy.client.open()
    proxy.child.kill('SIGTERM')
    await proxy.exited
    machine.ready(true)
    await machine.untilDescribed(proxy)
    await wholeNext(machine)
  })

  // Lists are written some time after they are read.
  for (const [when, isReady] of process.platform === 'linux' ? kills : [])
    test(`and kills the proxy ${when} finds their lists at the next start`, async (t) => {
      const machine = new Machine(t)
      machine.ready(false)
      const proxy = machine.start()
      await proxy.client.open()
      await until(() => machine.hasSuccessor)
      if (isReady) machine.ready(true)
      await until(() => !isReady || proxy.stderr.includes('ready after'))
      proxy.kill()
      machine.ready(true)
      await machine.untilDescribed(proxy)
      await wholeNext(machine)
    })
})
