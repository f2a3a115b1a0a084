// What a runtime does on the host: folders of sessions, volumes, users, and the walk over what is on the disk.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { realRuntime } from '../../src/real-runtime.js'
import { probeBubblewrap } from '../../src/sandbox/runtimes/bubblewrap/bubblewrap-probe.js'
import { findCgroupPlaces } from '../../src/sandbox/runtimes/bubblewrap/cgroup-places.js'
import { diskUse } from '../../src/sandbox/runtimes/bubblewrap/disk-use.js'
import { startMachine } from '../../src/sandbox/runtimes/bubblewrap/machine-start.js'
import { Identities } from '../../src/sandbox/runtimes/bubblewrap/identities.js'
import { processors } from '../../src/sandbox/runtimes/bubblewrap/system-calls.js'
import { hostIdentity } from '../../src/sandbox/run-as.js'
import { MachineVolumes } from '../../src/sandbox/machine-volumes.js'
import { StateFolder } from '../../src/sandbox/state-folder.js'
import { plainSpec } from './machine-contract.js'
import { changedVolume, checkVolumes } from '../../src/sandbox/volumes.js'

const skip = process.platform !== 'linux'
const folder = mkdtempSync(join(tmpdir(), 'mcps-host-side-'))
const runtime = realRuntime()
after(async () => {
  await runtime.close()
  rmSync(folder, { recursive: true, force: true })
})

function made(name: string): string {
  const path = join(folder, name)
  mkdirSync(path, { recursive: true })
  return path
}

function written(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

describe('a state folder', { skip }, () => {
  test('removes what dead services have left, and nothing else', async () => {
    const root = made('state')
    const own = new StateFolder(root, runtime)
    const beside = new StateFolder(root, runtime)
    await own.session('a')
    await beside.session('a')
    const [name = ''] = readdirSync(root)
    const owner = readFileSync(join(root, name, 'owner'), 'latin1')
    const ended = String(spawnSync('true').pid)
    const cases: readonly (readonly [name: string, owner: string, isOld: boolean, isLeft: boolean])[] = [
      ['00000000000000d0', owner.replace(/^\d+/, ended), false, false],
      ['00000000000000d1', owner.replace(/^(\d+) \S+/, '$1 1'), false, false],
      ['00000000000000d2', owner.replace(/^(\d+ \S+) \S+/, '$1 another-boot'), false, false],
      ['00000000000000d3', owner.replace(/\S+$/, 'pid:[1]'), false, true],
      ['00000000000000d4', owner.replace(/\S+$/, 'pid:[1]'), true, false],
      ['00000000000000d5', '', false, true],
      ['00000000000000d6', '', true, false],
      ['not-ours', '', true, true],
    ]
    for (const [each, text, isOld] of cases) {
      mkdirSync(join(root, each, 'session/deep'), { recursive: true })
      writeFileSync(join(root, each, 'owner'), text)
      if (isOld) utimesSync(join(root, each), 0, 0)
    }
    const dead = await own.sweep()
    const removed = cases.filter(([, , , isLeft]) => !isLeft).map(([each]) => each)
    assert.deepEqual([...dead].sort(), removed)
    const left = cases.filter(([, , , isLeft]) => isLeft).map(([each]) => each)
    assert.deepEqual(readdirSync(root).sort(), [own.name, beside.name, ...left].sort())
    await Promise.all([own.close(), beside.close()])
    assert.deepEqual(readdirSync(root).sort(), left.sort())
  })

  test('gives a session one folder, whatever its name is, until it is discarded', async () => {
    const root = made('names')
    const own = new StateFolder(root, runtime)
    const path = await own.session('../../..')
    assert.match(path, /\/names\/[\da-f]{16}\/[\da-f]{16}$/)
    assert.equal(await own.session('../../..'), path)
    assert.notEqual(await own.session(''), path)
    symlinkSync('/etc', join(path, 'link'))
    mkdirSync(join(path, 'closed/within'), { recursive: true, mode: 0o000 })
    await own.discard('../../..')
    assert.notEqual(await own.session('../../..'), path)
    assert.deepEqual(readdirSync(join(root, own.name)).length, 3)
    await own.close()
    assert.deepEqual(readdirSync(root), [])
  })
})

describe('a volume', { skip }, () => {
  const cases: readonly (readonly [hostPath: string, guestPath: string, problem: RegExp])[] = [
    ['/', '/data', /control of the host/],
    ['/proc', '/data', /control of the host/],
    ['/etc/ssl', '/data', /control of the host/],
    ['/run', '/data', /control of the host/],
    [homedir(), '/data', /control of the host/],
    ['/home', '/data', /control of the host/],
    [join(folder, 'nothing'), '/data', /ENOENT/],
    ['relative', '/data', /ENOENT|is a link/],
    [made('good'), 'data', /no plain absolute path/],
    [made('good'), '/data/../etc', /no plain absolute path/],
    [made('good'), '/workspace/data', /belongs to the machine/],
    [made('good'), '/usr/local', /belongs to the machine/],
  ]
  for (const [hostPath, guestPath, problem] of cases) {
    test(`${hostPath} at ${guestPath} is refused`, async () => {
      const { checked, problems } = await checkVolumes([{ hostPath, guestPath, isReadOnly: true }])
      assert.deepEqual(checked, [])
      assert.match(problems[0]?.problem ?? '', problem)
    })
  }

  test('that is a home, or above it, is refused wherever homes are', async (t) => {
    const home = made('homes/ann')
    const { HOME } = process.env
    t.after(() => {
      process.env['HOME'] = HOME
    })
    process.env['HOME'] = home
    for (const hostPath of [home, join(folder, 'homes')]) {
      const { problems } = await checkVolumes([{ hostPath, guestPath: '/data', isReadOnly: true }])
      assert.match(problems[0]?.problem ?? '', /control of the host/)
    }
  })

  test('in the state folder, or above it, is refused', async () => {
    const state = made('of-services/state')
    const volumes = new MachineVolumes(new StateFolder(state, runtime), { uid: 1, gid: 1 })
    for (const hostPath of [state, made('of-services/state/in'), join(folder, 'of-services')]) {
      const spec = { ...plainSpec, volumes: [{ hostPath, guestPath: '/data', isReadOnly: true }] }
      await assert.rejects(volumes.of(spec), /state folder of the sandbox lie in each other/)
    }
  })

  test('through a link is refused, and where that leads is not told', async () => {
    const target = made('target')
    symlinkSync(target, join(folder, 'link'))
    const { problems } = await checkVolumes([
      { hostPath: join(folder, 'link'), guestPath: '/data', isReadOnly: true },
    ])
    const { problem = '' } = problems[0] ?? {}
    assert.match(problem, /is a link, or lies behind one: write the path that realpath .*link shows$/)
    assert(!problem.includes(target), problem)
  })

  test('with a socket is refused', async () => {
    const path = made('sockets')
    const server = createServer().listen(join(path, 'docker.sock'))
    await new Promise((resolve) => server.once('listening', resolve))
    const { problems } = await checkVolumes([{ hostPath: path, guestPath: '/data', isReadOnly: true }])
    server.close()
    assert.match(problems[0]?.problem ?? '', /docker\.sock/)
  })

  test('in another one is refused, on either side', async () => {
    const [outer, inner, other] = [made('outer'), made('outer/inner'), made('other')]
    const nested = await checkVolumes([
      { hostPath: outer, guestPath: '/one', isReadOnly: true },
      { hostPath: inner, guestPath: '/two', isReadOnly: true },
    ])
    assert.equal(nested.problems.length, 2)
    const inside = await checkVolumes([
      { hostPath: outer, guestPath: '/one', isReadOnly: true },
      { hostPath: other, guestPath: '/one/two', isReadOnly: true },
    ])
    assert.equal(inside.problems.length, 2)
  })

  test('that is another folder by now is noticed', async () => {
    const hostPath = made('changing')
    const { checked } = await checkVolumes([{ hostPath, guestPath: '/data', isReadOnly: false }])
    const [volume] = checked
    assert(volume !== undefined)
    assert.equal(await changedVolume(volume), undefined)
    assert.match((await changedVolume({ ...volume, inode: volume.inode + 1 })) ?? '', /not the folder/)
    rmSync(hostPath, { recursive: true })
    symlinkSync(made('elsewhere'), hostPath)
    assert.match((await changedVolume(volume)) ?? '', /^\S+changing is not the folder that it was/)
  })
})

describe('the start of a machine', { skip }, () => {
  test('starts nothing when a volume is another folder by now', async () => {
    const { checked } = await checkVolumes([
      { hostPath: made('late'), guestPath: '/data', isReadOnly: false },
    ])
    const starting = startMachine({
      runtime: { ...runtime, spawn: () => assert.fail('something was started') },
      log: () => undefined,
      host: {
        bwrap: '/none',
        prlimit: '/none',
        calls: processors['x64'] ?? assert.fail(),
        places: undefined,
        agent: Buffer.alloc(0),
      },
      spec: plainSpec,
      volumes: checked.map((volume) => ({ ...volume, inode: volume.inode + 1 })),
      folder,
      identity: undefined,
      interpreter: { program: '/none', paths: [] },
      name: 'none',
    })
    await assert.rejects(starting, /late is not the folder that it was/)
  })
})

describe('what is on the disk', { skip }, () => {
  test('counts files once, and nothing behind a link', async () => {
    const path = made('disk')
    writeFileSync(join(path, 'file'), Buffer.alloc(1_000_000, 1))
    spawnSync('ln', [join(path, 'file'), join(path, 'again')])
    symlinkSync('/', join(path, 'root'))
    symlinkSync('.', join(path, 'circle'))
    spawnSync('mkfifo', [join(path, 'fifo')])
    writeFileSync(join(path, 'hole'), '')
    truncateSync(join(path, 'hole'), 1e12)
    const { bytes, tooMany } = await diskUse(path, [])
    assert.equal(tooMany, undefined)
    assert(bytes >= 1_000_000 && bytes < 1_200_000, String(bytes))
  })

  test('of a tree that is too deep is told, and leaves no descriptor open', async () => {
    const path = made('deep')
    mkdirSync(join(path, 'd/'.repeat(300)), { recursive: true })
    const before = readdirSync('/proc/self/fd').length
    assert.match((await diskUse(path, [])).tooMany ?? '', /folders in each other/)
    assert.equal(readdirSync('/proc/self/fd').length, before)
  })

  test('of too many files is told', async () => {
    const path = made('many/d')
    for (const name of ['a', 'b', 'c']) writeFileSync(join(path, name), '')
    const of = [await diskUse(join(folder, 'many'), [], 4), await diskUse(join(folder, 'many'), [], 3)]
    assert.deepEqual(
      of.map(({ tooMany }) => tooMany),
      [undefined, 'the limit of 3 files'],
    )
  })

  test('of a folder in whose place there is a link is nothing', async () => {
    writeFileSync(join(made('linked'), 'file'), 'x'.repeat(100_000))
    symlinkSync(join(folder, 'linked'), join(folder, 'in-its-place'))
    assert.equal((await diskUse(join(folder, 'in-its-place'), [])).bytes, 0)
  })

  test('of a folder that is gone is nothing', async () => {
    assert.deepEqual(await diskUse(join(folder, 'never'), [process.pid]), { bytes: 0, tooMany: undefined })
  })
})

describe('the user of a session', () => {
  const dice = { random: () => 0.999999 }

  test('is its own as long as it lasts, when root makes it', () => {
    const identities = new Identities(true, undefined, dice)
    const all = Array.from({ length: 100 }, (_, index) => identities.of(`s${index}`)?.uid ?? 0)
    assert.equal(new Set(all).size, 100)
    for (const uid of all) assert(uid >= 1_879_050_000 && uid < 1_879_050_000 + 65_536)
    assert.equal(identities.of('s5')?.uid, all[5])
    identities.forget('s5')
    assert.equal(identities.of('s6')?.uid, all[6])
  })

  test('is the one that was configured, or nobody else', () => {
    assert.deepEqual(new Identities(true, { uid: 7, gid: 8 }, dice).of('s'), { uid: 7, gid: 8 })
    assert.equal(new Identities(false, { uid: 7, gid: 8 }, dice).of('s'), undefined)
  })
})

describe('the user that is configured', () => {
  const passwd = 'root:x:0:0::/root:/bin/sh\nann:x:1000:1001::/home/ann:/bin/sh\nadmin:x:5:0::/:/bin/sh\n'
  const group = 'root:x:0:\nstaff:x:50:ann\nann:x:1001:\n'
  const root = { uid: 0, gid: 0 }
  const cases: readonly (readonly [runAs: string, found: object | RegExp])[] = [
    ['ann', { uid: 1000, gid: 1001 }],
    ['1000', { uid: 1000, gid: 1001 }],
    ['ann:staff', { uid: 1000, gid: 50 }],
    ['ann:7', { uid: 1000, gid: 7 }],
    ['7:8', { uid: 7, gid: 8 }],
    ['7', /names the user 7 without a group.* write uid:gid/],
    ['bob', /names the user bob, who is not in \/etc\/passwd: write numbers/],
    ['ann:wheel', /names the group wheel, which is not in \/etc\/group/],
    ['root', /never runs as root/],
    ['admin', /never runs as root or in its group/],
    ['ann:root', /never runs as root or in its group/],
    ['0:7', /never runs as root/],
    ['4294967295:7', /names the user 4294967295/],
  ]
  for (const [runAs, found] of cases) {
    test(`${runAs} is ${found instanceof RegExp ? 'refused' : 'found'}`, () => {
      const given = hostIdentity(runAs, { passwd, group, own: root })
      if (found instanceof RegExp) assert.match(typeof given === 'string' ? given : '', found)
      else assert.deepEqual(given, found)
    })
  }

  test('is nobody else where the service is not root', () => {
    const own = { uid: 1000, gid: 1001 }
    assert.equal(hostIdentity('ann', { passwd, group, own }), undefined)
    const other = hostIdentity('ann:staff', { passwd, group, own })
    assert.match(
      typeof other === 'string' ? other : '',
      /a service of the user 1000 cannot give its sessions another one than 1000:1001/,
    )
  })
})

describe('a bwrap that cannot be used', { skip }, () => {
  const cases: readonly (readonly [title: string, script: string, why: RegExp])[] = [
    ['is too old', 'echo bubblewrap 0.4.1', /^bubblewrap 0\.4\.1 is too old$/],
    ['fails', 'echo no libcap here >&2; exit 127', /bwrap --version fails: no libcap here$/],
    ['says nothing', 'exit 3', /bwrap --version fails: it ended with 3$/],
    ['is ended', 'kill -KILL $$', /bwrap --version fails: it ended with SIGKILL$/],
  ]
  for (const [title, script, why] of cases) {
    test(`${title}, and is told apart`, async () => {
      const path = written('bwrap', `#!/bin/sh\n${script}\n`)
      chmodSync(path, 0o755)
      const { probe } = await probeBubblewrap({
        runtime: { ...runtime, env: { PATH: `${folder}:${process.env['PATH']}` } },
        agentFile: 'none',
        name: 'none',
        identity: undefined,
      })
      rmSync(path)
      assert(probe.kind === 'unusable')
      assert.match(probe.why, why)
    })
  }
})

describe('control groups', () => {
  test('are made below the own one, where that can be', async () => {
    const point = made('cgroup1')
    const own = made('cgroup1/unit')
    // What the kernel would make in a new group cannot be made here, so the file is no part of the group.
    const mountinfo = written(
      'mountinfo-1',
      `31 23 0:28 / /sys rw - tmpfs tmpfs rw\n35 31 0:32 / ${point} rw,relatime shared:9 - cgroup cgroup rw,memory\n`,
    )
    const places = await findCgroupPlaces('probe', {
      mountinfo,
      own: written('own-1', '4:memory:/unit\n0::/\n'),
    })
    assert.equal(places, undefined, 'a plain folder is no control group')
    assert.deepEqual(readdirSync(own), [])
  })

  test('are none where the system has none', async () => {
    const none = { mountinfo: written('mountinfo-2', 'nonsense\n\n- - -\n'), own: join(folder, 'not-there') }
    assert.equal(await findCgroupPlaces('probe', none), undefined)
  })
})
