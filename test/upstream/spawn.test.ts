import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { readFileSync } from 'node:fs'
import { buffer, text } from 'node:stream/consumers'
import { after, describe, test } from 'node:test'
import { realRuntime } from '../../src/real-runtime.js'
import type { Child, SpawnSpec } from '../../src/runtime/runtime.js'
import { ProcessTree } from '../../src/upstream/process/process-tree.js'
import { spawnChild } from '../../src/upstream/process/spawn.js'

const skip = process.platform === 'win32'
const isRoot = process.getuid?.() === 0
const runtime = realRuntime()
after(() => runtime.close())

function spawned(line: string, more: Partial<SpawnSpec> = {}): Child {
  return runtime.spawn({ command: '/bin/sh', args: ['-c', line], cwd: '/', env: {}, ...more })
}

describe('a child', { skip }, () => {
  test('has as many pipes as it was promised, each both ways', async () => {
    const child = spawned('cat <&3 >&4; echo three >&3', { pipes: 2 })
    const [three, four] = child.pipes ?? []
    assert(three !== undefined && four !== undefined)
    three.end('through')
    assert.deepEqual(await Promise.all([text(four), text(three)]), ['through', 'three\n'])
    assert.equal((await child.exited).code, 0)
  })

  test('becomes the user that it is told, with one group', async () => {
    const uid = isRoot ? 65_534 : (process.getuid?.() ?? 0)
    const gid = isRoot ? 65_533 : (process.getgid?.() ?? 0)
    const child = spawned('id -u; id -g; id -G', { identity: { uid, gid }, env: { PATH: '/usr/bin:/bin' } })
    const [user, group, groups] = (await text(child.stdout)).split('\n')
    assert.deepEqual([user, group], [String(uid), String(gid)])
    if (isRoot) assert.equal(groups, String(gid))
  })

  test('that may not become that user says so, and is none', { skip: isRoot }, async () => {
    const child = spawned('true', { identity: { uid: 0, gid: 0 } })
    assert.equal((await child.exited).spawnError, 'EPERM')
  })

  test(
    'gets its variables, and one that tells its start from others',
    { skip: process.platform !== 'linux' },
    async () => {
      const child = spawned('sleep 1000', { env: { ONE: '1' } })
      const environ = readFileSync(`/proc/${child.pid}/environ`, 'latin1')
      child.signal('SIGKILL')
      await child.exited
      assert.match(environ, /^ONE=1\0MCPS_PROXY_START=[0-9a-z]{6,}\0$/)
    },
  )

  test('is known to the guardian until its group is gone', async () => {
    for (const command of ['/bin/sh', '/nowhere', '']) {
      const told: string[] = []
      const groups = {
        announce: () => {
          told.push('announce')
          return { MCPS_PROXY_START: 'x' }
        },
        withdraw: (): void => void told.push('withdraw'),
        add: (group: number): void => void told.push(`add ${group}`),
        remove: (group: number): void => void told.push(`remove ${group}`),
      }
      const spec = { command, args: ['-c', 'true'], cwd: '/', env: {}, pipes: 1 }
      const child = spawnChild(spec, groups, new ProcessTree(() => 0))
      assert.equal((await child.exited).code === 0, command === '/bin/sh')
      const ends = command === '/bin/sh' ? [`add ${child.pid}`, `remove ${child.pid}`] : ['withdraw']
      assert.deepEqual(told, ['announce', ...ends])
    }
  })

  test('hears an interrupt alone', async () => {
    const child = spawned('trap "exit 42" INT; echo ready; while :; do sleep 0.01; done', {
      env: { PATH: '/usr/bin:/bin' },
    })
    await new Promise((resolve) => child.stdout.once('data', resolve))
    child.interrupt?.()
    assert.equal((await child.exited).code, 42)
  })

  test('reads a large pipe beside its standard input', async () => {
    const child = spawned('cat; cat <&3', { pipes: 1, env: { PATH: '/usr/bin:/bin' } })
    child.pipes?.[0]?.end(Buffer.alloc(1_000_000))
    child.stdin.end(Buffer.alloc(1_000_000))
    assert.equal((await buffer(child.stdout)).length, 2_000_000)
  })
})
