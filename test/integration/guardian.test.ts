// No process of a server outlives the proxy, however that ends.

import { strict as assert } from 'node:assert'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, readdirSync, readlinkSync } from 'node:fs'
import { describe, test } from 'node:test'
import { startGuardianShell } from '../../src/upstream/process/guardian.js'
import { killMarked, leftAfter, markName, marked } from '../faults/support/marked.js'
import { type ServerEntry, cli, program } from './support/programs.js'
import { type Scope, Spawned, configFile, spawnProxy } from './support/spawned.js'
import { HANG_MS, until } from './support/waiting.js'

const skip = process.platform !== 'linux'

/** A server of three processes that ignore SIGTERM. */
function tree(mark: string, env: Readonly<Record<string, string>> = {}): ServerEntry {
  const args = [program('tree.mjs')]
  return { command: process.execPath, args, env: { [markName]: mark, ...env } }
}

/** A server that exits immediately and leaves a process in its group. */
const leaving = (mark: string): ServerEntry => ({
  command: '/bin/sh',
  args: ['-c', 'sleep 600 & exit'],
  env: { [markName]: mark, PATH: '/usr/bin:/bin' },
})

/** A mark; processes that carry it are killed after the test. */
function newMark(scope: Scope, name: string): string {
  const mark = `${name}-${process.pid}`
  scope.after(() => killMarked(mark))
  return mark
}

/** The guardian of a proxy, found by its command line. */
const guardianOf = (proxy: number): number | undefined =>
  childrenOf(proxy).find((pid) => read(`/proc/${pid}/cmdline`).includes('mcps-proxy-guardian'))

function read(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}

/** The fields behind the name of the program: state, parent, group, session, … */
function stat(pid: number): string[] {
  const text = read(`/proc/${pid}/stat`)
  return text.slice(text.lastIndexOf(')') + 2).split(' ')
}

const parentOf = (pid: number): number => Number(stat(pid)[1])

const childrenOf = (parent: number | undefined): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => parentOf(pid) === parent)

/** The targets of the descriptors of a process, in their order. */
function heldBy(pid: number): string[] {
  const folder = `/proc/${pid}/fd`
  const descriptors = readdirSync(folder).map(Number)
  return descriptors.sort((a, b) => a - b).flatMap((fd) => linkOf(`${folder}/${fd}`))
}

function linkOf(path: string): string[] {
  try {
    return [readlinkSync(path)]
  } catch {
    return []
  }
}

/** A proxy whose servers have all answered, and its guardian. */
async function served(scope: Scope, mark: string, more: Parameters<typeof spawnProxy>[2] = {}) {
  const proxy = new Spawned(
    process.execPath,
    [cli, '--stdio', '--config', configFile(scope, { s: tree(mark), t: tree(mark) }), ...(more.args ?? [])],
    more,
  )
  scope.after(async () => {
    proxy.kill()
    await proxy.exited
  })
  await proxy.client.open()
  for (const service of ['s', 't']) await proxy.client.call(`${service}__nonce`, { n: '1' })
  const pid = proxy.child.pid ?? 0
  await until(() => guardianOf(pid) !== undefined)
  return { proxy, pid, guardian: guardianOf(pid) ?? 0 }
}

describe('kill -9 of the proxy', { skip, concurrency: false }, () => {
  test('takes along who has left the group of its server', async (t) => {
    const mark = newMark(t, 'leaves')
    const leaver = tree(mark, { TREE_LEAVES: '1' })
    const proxy = new Spawned(process.execPath, [cli, '--stdio', '--config', configFile(t, { s: leaver })])
    t.after(() => proxy.kill())
    await proxy.client.open()
    await proxy.client.call('s__nonce', { n: '1' })
    await until(() => marked(mark).length === 3)
    assert.equal(new Set(marked(mark).map(({ pid }) => stat(pid)[2])).size, 2, 'two groups')
    proxy.kill()
    await proxy.exited
    assert.deepEqual(await leftAfter(mark, HANG_MS), [])
  })

  test('needs no program but the shell', async (t) => {
    const mark = newMark(t, 'no-sleep')
    const { proxy } = await served(t, mark, { env: { PATH: '/nowhere' } })
    proxy.kill()
    assert.deepEqual(await leftAfter(mark, HANG_MS), [])
  })
})

/** A module of the proxy, as another program names it. */
const moduleOf = (name: string): string =>
  JSON.stringify(new URL(`../../src/upstream/process/${name}.js`, import.meta.url).href)

/** A program that starts this server, and is killed before it can tell the guardian which group that has. */
function killedInTheFork({ command, args, env }: ServerEntry): Spawned {
  const script = `
    const { Guardian } = await import(${moduleOf('guardian')})
    const { startGuardianShell } = await import(${moduleOf('guardian')})
    const { ProcessTree } = await import(${moduleOf('process-tree')})
    const { spawnChild } = await import(${moduleOf('spawn')})
    const start = () => startGuardianShell(process.env)
    const guardian = new Guardian({ now: () => 0, random: Math.random }, () => {}, start)
    guardian.add = () => process.kill(process.pid, 'SIGKILL')
    const spec = { command: ${JSON.stringify(command)}, args: ${JSON.stringify(args)}, env: ${JSON.stringify(env)} }
    spawnChild({ ...spec, cwd: '/' }, guardian, new ProcessTree(() => 0))`
  return new Spawned(process.execPath, ['--input-type=module', '-e', script])
}

describe('kill -9 in the moment of a fork', { skip, concurrency: false }, () => {
  const cases: [string, (mark: string) => ServerEntry][] = [
    ['takes along a server that was forked a moment before', (mark) => tree(mark)],
    ['takes along what a server has started that is gone itself', leaving],
  ]
  for (const [title, server] of cases)
    test(title, async (t) => {
      const mark = newMark(t, 'fork')
      assert.equal(await killedInTheFork(server(mark)).exited, 'SIGKILL')
      assert.deepEqual(await leftAfter(mark, HANG_MS), [])
    })

  test('takes along a server whose program begins when the guardian has looked already', async (t) => {
    const mark = newMark(t, 'late')
    const shell = startGuardianShell(process.env)
    // The shell ends every process with this variable, which only processes of this test have.
    shell.write(`? ${markName}=${mark}\n`)
    shell.end()
    await until(() => childrenOf(shell.pid).some((pid) => read(`/proc/${pid}/cmdline`).startsWith('sleep')))
    const env = { [markName]: mark }
    const late = spawn(process.execPath, [program('tree.mjs')], { env, detached: true, stdio: 'ignore' })
    await once(late, 'exit')
    assert.deepEqual(await leftAfter(mark, HANG_MS), [])
    await shell.ended
  })
})

describe('a guardian', { skip, concurrency: false }, () => {
  test('holds nothing of ours, and does not go when it is asked to', async (t) => {
    const { pid, guardian } = await served(t, newMark(t, 'holds'))
    const [, , group, session] = stat(guardian)
    assert.deepEqual([group, session], [String(guardian), String(guardian)])
    assert.equal(readlinkSync(`/proc/${guardian}/cwd`), '/')
    const [input, ...others] = heldBy(guardian)
    assert.match(input ?? '', /^socket:/)
    // The parent of this process may have left descriptors open.
    const inherited = new Set(heldBy(process.pid))
    const kept = others.filter((held) => !inherited.has(held))
    assert.deepEqual(
      kept,
      ['/dev/null', '/dev/null'].filter((held) => !inherited.has(held)),
    )
    assert.deepEqual(others.slice(0, 2), ['/dev/null', '/dev/null'])
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.kill(guardian, signal)
    process.kill(guardian, 0)
    assert.equal(guardianOf(pid), guardian)
  })
})
