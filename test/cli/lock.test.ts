// `lock` as users and CI call it, while a proxy runs.

import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { toolNames } from '../integration/support/client.js'
import { at, parsed, textAt } from '../integration/support/json.js'
import { cli, everything, itEcho, memory } from '../integration/support/programs.js'
import { type Ran, type Scope, type Servers, scratch, spawnProgram } from '../integration/support/spawned.js'
import { until, untilAnswered } from '../integration/support/waiting.js'
import { runCommand } from './support/in-process.js'
import { claim } from '../integration/support/claim.js'

const echo = { name: 'give', description: 'Gives', inputSchema: { type: 'object' } }
const take = { name: 'take', description: 'Takes', inputSchema: { type: 'object' } }
const poisoned = { ...echo, description: 'Gives\u200b all' }

function machine(t: Scope, servers: Servers = {}, more: object = {}) {
  const folder = scratch(t)
  const [file, lock, list] = ['config.json', 'mcps.lock', 'list.json'].map((name) => join(folder, name))
  assert(file !== undefined && lock !== undefined && list !== undefined)
  const all = { s: itEcho({ IT_LIST: list }), ...servers }
  writeFileSync(file, JSON.stringify({ ...more, mcpServers: all }))
  const lists = (...tools: readonly object[]): void => writeFileSync(list, JSON.stringify(tools))
  lists(take, echo)
  const run = (...args: readonly string[]): Promise<Ran> =>
    runCommand([...args, '--config', file], { ...process.env, HOME: folder })
  return { folder, file, lock, list, run, lists }
}

describe('lock', () => {
  test('of servers of others is the same in two runs', async (t) => {
    const it = machine(t, {
      everything,
      memory: memory(join(scratch(t), 'memory.json')),
      own: { ...itEcho(), isolation: 'session' },
    })
    const first = await it.run('lock')
    assert.equal(first.code, 0, first.out)
    assert.match(
      first.out,
      /everything: locked, 16 tools, 4 prompts\nmemory: locked, 9 tools, 0 prompts\nown: locked, 2 tools, 1 prompt\n/,
    )
    const text = readFileSync(it.lock, 'utf8')
    const again = await it.run('lock')
    assert.deepEqual([again.code, readFileSync(it.lock, 'utf8')], [0, text])
    assert.match(again.out, /everything: unchanged/)
  })

  test('--check writes nothing, and its exit code says whether all is as locked', async (t) => {
    const it = machine(t)
    const none = await it.run('lock', '--check')
    assert.equal(none.code, 1)
    assert.match(none.out, /s: not locked yet; mcps-proxy lock does that/)
    assert(!existsSync(it.lock))
    assert.equal((await it.run('lock')).code, 0)
    it.lists(take, poisoned, { ...take, name: 'more' })
    const text = readFileSync(it.lock, 'utf8')
    const changed = await it.run('lock', '--check')
    assert.deepEqual([changed.code, readFileSync(it.lock, 'utf8')], [1, text])
    assert.match(
      changed.out,
      /s: 2 changes, 3 tools, 1 prompt\n {2}the tool 'give': changed\n {4}- {3}"description": "Gives"\n {4}\+ {3}"description": "Gives<U\+200B> all"\n {2}the tool 'more': new\n/,
    )
    assert.match(changed.out, /\n {2}! the tool 'give': U\+200B in "description": "Gives<U\+200B> all"\n/)
    const { out: report } = await it.run('doctor')
    assert.match(report, /not as in mcps.lock: give, more; mcps-proxy lock shows what differs/)
  })

  test('--accept takes over a tool or a whole server', async (t) => {
    const it = machine(t)
    await it.run('lock')
    it.lists(take, poisoned, { ...take, name: 'more' })
    const one = await it.run('lock', '--accept', 's/give')
    assert.equal(one.code, 1)
    assert.match(one.out, /s: accepted 1 change, 1 change left, 3 tools, 1 prompt\n {2}the tool 'more': new/)
    const both = await it.run('lock', '--accept', 's')
    assert.deepEqual([both.code, /s: accepted 1 change, 3 tools/.test(both.out)], [0, true])
    assert.equal((await it.run('lock', '--check')).code, 0)
    it.lists(take)
    const gone = await it.run('lock', '--check')
    assert.match(gone.out, /the tool 'give': removed\n {2}the tool 'more': removed\n/)
    assert.equal((await it.run('lock', '--accept', 's/give', '--accept', 's/more')).code, 0)
    const tools = at(parsed(readFileSync(it.lock, 'utf8')), 'schemas', 'default', 's', 'tools')
    assert.deepEqual(Object.keys(Object(tools)), ['take'])
  })

  test('takes out what has left the configuration, and records no server that is down as empty', async (t) => {
    const it = machine(t, { gone: itEcho(), off: { ...itEcho(), lock: false } })
    await it.run('lock')
    const down = { command: process.execPath, args: ['-e', 'process.exit(1)'] }
    writeFileSync(it.file, JSON.stringify({ mcpServers: { s: down, new: down } }))
    const { code, out } = await it.run('lock')
    assert.equal(code, 1)
    assert.match(out, /2 not compared/)
    const servers = at(parsed(readFileSync(it.lock, 'utf8')), 'schemas', 'default')
    assert.deepEqual(Object.keys(Object(servers)), ['s'])
  })

  test('--schema prunes one group alone, and keeps no group without servers', async (t) => {
    const it = machine(t)
    const groups = (a: Servers, b: Servers): void =>
      writeFileSync(it.file, JSON.stringify({ schemas: { a: { mcpServers: a }, b: { mcpServers: b } } }))
    const locked = (): unknown => {
      const all = Object.entries(Object(at(parsed(readFileSync(it.lock, 'utf8')), 'schemas')))
      return all.map(([name, servers]) => [name, Object.keys(Object(servers))])
    }
    groups({ s: itEcho() }, { one: itEcho(), two: itEcho() })
    await it.run('lock')
    groups({}, { one: itEcho() })
    await it.run('lock', '--schema', 'a')
    assert.deepEqual(locked(), [['b', ['one', 'two']]])
    await it.run('lock')
    assert.deepEqual(locked(), [['b', ['one']]])
  })

  for (const [args, want] of [
    [
      ['--accept', 'nothing/there'],
      /no server that is locked is called "nothing\/there"; write SERVER or SERVER\/TOOL/,
    ],
    [['--accept', 's', '--check'], /--check and --accept cannot be used together/],
    [['extra'], /unexpected argument "extra"/],
    [['--accept', 'off'], /no server that is locked is called "off"/],
  ] as const)
    test(`${args.join(' ')} is refused`, async (t) => {
      const it = machine(t, { off: { ...itEcho(), lock: false } })
      const { code, err } = await it.run('lock', ...args)
      assert.deepEqual([code, want.test(err)], [2, true], err)
    })

  test('a damaged file is named, with what mends it', async (t) => {
    const it = machine(t)
    writeFileSync(it.lock, '{"lockVersion":7}')
    const { code, err } = await it.run('lock')
    assert.equal(code, 1)
    const problem = /mcps\.lock has no "lockVersion": 2; restore it from git, or remove it/
    assert.match(err, problem)
    assert.match((await it.run('check')).out, problem)
    const doctor = await it.run('doctor')
    assert.deepEqual([doctor.code, problem.test(doctor.out)], [1, true], doctor.out)
  })
})

const isChange = (value: unknown): boolean => at(value, 'method') === 'notifications/tools/list_changed'

test('what is hidden is refused, and shown once it is accepted: with sessions on both sides, and with none', async (t) => {
  const it = machine(t)
  const servers = { s: itEcho({ IT_LIST: it.list }), n: itEcho({ IT_LIST: it.list, IT_STATELESS: '1' }) }
  writeFileSync(it.file, JSON.stringify({ lock: { onChange: 'hide' }, mcpServers: servers }))
  assert.equal((await it.run('lock')).code, 0)
  it.lists(take, poisoned)
  const own = { env: { ...process.env, HOME: it.folder } }
  const { client } = spawnProgram(t, process.execPath, [cli, '--stdio', '--config', it.file], own)
  await client.open()
  for (const [server, meta] of [
    ['s', {}],
    ['n', { _meta: claim({}) }],
  ] as const) {
    const names = async (): Promise<string> =>
      toolNames(await client.request('tools/list', meta))
        .filter((name) => name.startsWith(`${server}__`))
        .join()
    // Until the server has started, the accepted list of the last run is shown.
    await untilAnswered(async () => (await names()) === `${server}__take`)
    const params = { name: `${server}__give`, arguments: {}, ...meta }
    const { value } = await client.request('tools/call', params)
    assert.match(textAt(value, 'error', 'message'), /the tool 'give' is not as it was accepted \(changed\)/)
    const told = client.count(isChange)
    await it.run('lock', '--accept', server)
    if (server === 's') await until(() => client.count(isChange) > told)
    await untilAnswered(async () => (await names()) === `${server}__take,${server}__give`)
  }
})
