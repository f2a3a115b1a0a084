// Lists that one run of the command keeps for the next.

import assert from 'node:assert/strict'
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, describe, test } from 'node:test'
import { at, parsed, textAt } from './support/json.js'
import { cli, itServer } from './support/programs.js'
import { type Servers, type Spawned, configFile, scratch, spawnProgram } from './support/spawned.js'
import { until, untilAnswered } from './support/waiting.js'

/** A person's machine: a home folder, a configuration, and a server that is ready once a file is there. */
class Machine {
  readonly home: string
  readonly #scope: TestContext
  readonly #go: string
  readonly #config: string

  constructor(
    scope: TestContext,
    more: Readonly<Record<string, unknown>> = {},
    others: Servers = {},
    config: Readonly<Record<string, unknown>> = { startupGraceMs: 60_000 },
  ) {
    this.#scope = scope
    this.home = scratch(scope)
    this.#go = join(this.home, 'go')
    const late = { ...itServer({ IT_START: `late:${this.#go}` }), ...more }
    this.#config = configFile(scope, { late, ...others }, config)
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

  /** Whether the lists of a server are kept. */
  get described(): boolean {
    return jsonFilesIn(this.#kept).some((path) => readFileSync(path, 'utf8').includes('"description"'))
  }

  /** Until they are; `left` has ended. */
  async untilDescribed(left: Spawned): Promise<void> {
    const state = (): string => {
      const files = existsSync(this.#kept)
        ? readdirSync(this.#kept).filter((name) => !name.startsWith('.'))
        : []
      const texts = files.map((name) => `${name}: ${readFileSync(join(this.#kept, name), 'utf8')}`)
      return [left.stderr, ...texts].join('\n')
    }
    await untilAnswered(() => Promise.resolve(this.described), state)
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

  /** Servers of which something is kept. */
  get kept(): string[] {
    return namesKept(this.#kept)
  }

  get #kept(): string {
    return join(this.home, '.mcps-proxy', 'kept')
  }
}

function namesKept(folder: string): string[] {
  return jsonFilesIn(folder).flatMap((path) => {
    const servers = at(parsed(readFileSync(path, 'utf8')), 'servers')
    return Object.values(Object(servers)).map((entry) => textAt(entry, 'name'))
  })
}

function jsonFilesIn(folder: string): string[] {
  const names = existsSync(folder) ? readdirSync(folder) : []
  return names.filter((name) => name.endsWith('.json')).map((name) => join(folder, name))
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

describe('kept lists', () => {
  test('are neither written nor read beside a recording, which is played back where nothing is kept', async (t) => {
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
})

async function wholeNext(machine: Machine): Promise<void> {
  machine.ready(false)
  const next = machine.start()
  await next.client.open()
  const tools = await toolsOf(next)
  assert.ok(Array.isArray(tools) && tools.length > 0, 'the list is there before the server has started')
  next.kill()
}

describe('a client that leaves before its servers are ready', () => {
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

  if (process.platform === 'linux')
    test('and kills the proxy finds their lists at the next start', async (t) => {
      const machine = new Machine(t)
      machine.ready(false)
      const proxy = machine.start()
      await proxy.client.open()
      await until(() => machine.hasSuccessor)
      proxy.kill()
      machine.ready(true)
      await machine.untilDescribed(proxy)
      await wholeNext(machine)
    })
})
