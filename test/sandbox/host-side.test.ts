// The work of a runtime on the host: folders of sessions, volumes, interpreters, users, limits.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  watch,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { realRuntime } from '../../src/real-runtime.js'
import { findProgram } from '../../src/runtime/path-folders.js'
import { probeBubblewrap } from '../../src/sandbox/runtimes/bubblewrap/bubblewrap.js'
import {
  type WantedInterpreter,
  findInterpreter,
} from '../../src/sandbox/runtimes/bubblewrap/guest-interpreter.js'
import { MemoryKills, findScopes, scopeCommand } from '../../src/sandbox/runtimes/bubblewrap/scope.js'
import { DiskWatch, type WatchedFiles } from '../../src/sandbox/runtimes/disk-watch.js'
import { Identities, hostIdentity } from '../../src/sandbox/runtimes/identities.js'
import { StateFolder } from '../../src/sandbox/state-folder.js'
import { Volumes } from '../../src/sandbox/volumes.js'
import type { SandboxVolume } from '../../src/upstream/contracts/sandbox-config.js'

const skip = process.platform !== 'linux'
const folder = mkdtempSync(join(tmpdir(), 'mcps-host-side-'))
const runtime = realRuntime()
after(async () => {
  await runtime.close()
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
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

function at(hostPath: string, guestPath = '/data', isReadOnly = true): SandboxVolume {
  return { hostPath, guestPath, isReadOnly }
}

function wanted(interpreter: string, ...volumes: SandboxVolume[]): WantedInterpreter {
  return { language: 'python', interpreter, volumes }
}

/** A virtual environment, of which the program is a link. */
function environment(name: string): string {
  const root = made(`${name}/.venv`)
  made(`${name}/.venv/bin`)
  writeFileSync(join(root, 'pyvenv.cfg'), 'home = /usr/bin\nversion = 3.11\n')
  symlinkSync('/bin/true', join(root, 'bin/python'))
  return join(root, 'bin/python')
}

/** The limit that ends a machine in this folder. Undefined when the machine is not ended within a few looks. */
async function ended(path: string, files: Partial<WatchedFiles>, looks = 3): Promise<string | undefined> {
  let now = 0
  const timers: (() => void)[] = []
  const watch = new DiskWatch({
    ...runtime,
    now: () => now,
    setTimer: (delayMs, fire) => {
      if (delayMs > 2000) return runtime.setTimer(delayMs, fire)
      timers.push(fire)
      return { cancel: () => undefined }
    },
  })
  const reached: string[] = []
  const machine = {
    isBusy: () => true,
    written: () => undefined,
    memoryFolders: [],
    full: (limit: string) => void reached.push(limit),
  }
  const held = { folder: path, diskGiB: 0.001, heldBytes: await watch.held(path) }
  const stop = watch.add(machine, { ...held, ...files })
  for (let look = 0; look < looks && reached.length === 0; look++) {
    const before = timers.length
    now += 2000
    timers.at(-1)?.()
    while (timers.length === before && reached.length === 0) await new Promise(setImmediate)
    if (look === 0) writeFileSync(join(path, 'later'), Buffer.alloc(3_000_000, 1))
  }
  stop()
  return reached[0]
}

/** A systemd-run that says which limits it was asked for. */
function systemd(answer: string): Parameters<typeof findScopes> {
  made('systemd')
  written('systemd/systemd-run', `#!/bin/sh\necho "$@" >> ${folder}/systemd/asked\n${answer}\n`)
  chmodSync(join(folder, 'systemd/systemd-run'), 0o755)
  return [{ ...runtime, env: { XDG_RUNTIME_DIR: '/run/user/1' } }, 'probe', [join(folder, 'systemd')]]
}

describe('a state folder', { skip }, () => {
  test('removes what dead services have left, and nothing else', async () => {
    const root = made('state')
    const [own, beside] = [new StateFolder(root, runtime), new StateFolder(root, runtime)]
    await own.session('a')
    await beside.session('a')
    const cases: readonly (readonly [name: string, hasLock: boolean, isOld: boolean, isLeft: boolean])[] = [
      ['00000000000000d0', true, false, false],
      ['00000000000000d1', false, false, true],
      ['00000000000000d2', false, true, false],
      ['not-ours', true, true, true],
    ]
    for (const [each, hasLock, isOld] of cases) {
      mkdirSync(join(root, each, 'session/deep'), { recursive: true })
      if (hasLock) writeFileSync(join(root, each, 'lock'), '')
      if (isOld) utimesSync(join(root, each), 0, 0)
    }
    await own.sweep()
    const left = cases.filter(([, , , isLeft]) => isLeft).map(([each]) => each)
    assert.deepEqual(readdirSync(root).sort(), [own.name, beside.name, ...left].sort())
    await Promise.all([own.close(), beside.close()])
    assert.deepEqual(readdirSync(root).sort(), left.sort())
  })

  // A15: another host, container or boot does not count; the lock does.
  test('is kept as long as the lock is held, whatever is known of its service', async () => {
    const root = made('shared')
    const live = join(root, '00000000000000e0')
    mkdirSync(live)
    utimesSync(live, 0, 0)
    writeFileSync(join(live, 'owner'), '1 1 another-boot pid:[1]')
    const held = spawn('flock', [join(live, 'lock'), 'sh', '-c', 'echo; exec cat'])
    await once(held.stdout, 'data')
    const own = new StateFolder(root, runtime)
    await own.sweep()
    assert.deepEqual(readdirSync(root), ['00000000000000e0'])
    held.stdin.end()
    await once(held, 'exit')
    await own.sweep()
    assert.deepEqual(readdirSync(root), [])
  })

  test('is kept by others while its lock is made and not held yet', async () => {
    const root = made('early')
    const children: ReturnType<typeof runtime.spawn>[] = []
    // The process that takes the lock makes the file, and continues when it reads a line.
    const late: typeof runtime = {
      ...runtime,
      spawn: ({ command, args, ...spec }) => {
        writeFileSync(args.find((each) => each.startsWith(root)) ?? assert.fail(), '')
        const child = runtime.spawn({
          ...spec,
          command: 'sh',
          args: ['-c', 'read -r line; exec "$@"', 'sh', command, ...args],
        })
        children.push(child)
        return child
      },
    }
    const [own, other] = [new StateFolder(root, late), new StateFolder(root, runtime)]
    const session = own.session('a')
    while (children.length === 0) await new Promise(setImmediate)
    assert.deepEqual(await other.dead(), [])
    for (const child of children) child.stdin.write('\n')
    await session
    assert(readdirSync(join(root, own.name)).includes('lock'))
    assert.deepEqual(await other.dead(), [])
    await new StateFolder(root, runtime).sweep()
    assert.deepEqual(readdirSync(root), [own.name])
  })

  test('gives a session one folder, whatever its name is, until it is discarded', async () => {
    const root = made('names')
    const own = new StateFolder(root, runtime)
    const path = await own.session('../../..')
    assert.match(path, /\/names\/[\da-f]{16}\/[\da-f]{16}$/)
    assert.equal(await own.session('../../..'), path)
    assert.notEqual(await own.session(''), path)
    symlinkSync('/etc', join(path, 'link'))
    mkdirSync(join(path, 'closed/within'), { recursive: true })
    chmodSync(join(path, 'closed'), 0o000)
    await own.discard('../../..')
    assert.notEqual(await own.session('../../..'), path)
    assert.deepEqual(readdirSync(join(root, own.name)).length, 3)
    await own.close()
    assert.deepEqual(readdirSync(root), [])
  })
})

describe('programs of the host', { skip }, () => {
  const cases: readonly (readonly [title: string, mode: number, owner: number, isFound: boolean])[] = [
    ['of this user', 0o755, process.getuid?.() ?? 0, true],
    ['that others can write', 0o757, process.getuid?.() ?? 0, false],
    ['that a group can write', 0o775, process.getuid?.() ?? 0, false],
    ['of another user', 0o755, 65_534, false],
  ]
  for (const [title, mode, owner, isFound] of cases) {
    const isOther = owner !== process.getuid?.()
    test(
      `one ${title} is ${isFound ? '' : 'not '}found`,
      { skip: isOther && process.getuid?.() !== 0 },
      () => {
        const path = written('some-program', '#!/bin/sh\n')
        chmodSync(path, mode)
        if (isOther) chownSync(path, owner, owner)
        assert.equal(findProgram('some-program', [folder]), isFound ? path : undefined)
        rmSync(path)
      },
    )
  }

  test('are looked for in no folder of PATH', () => {
    const path = written('some-program', '#!/bin/sh\n')
    chmodSync(path, 0o755)
    const before = process.env['PATH']
    process.env['PATH'] = folder
    assert.equal(findProgram('some-program'), undefined)
    process.env['PATH'] = before
    rmSync(path)
  })
})

describe('a volume', { skip }, () => {
  const volumes = (): Volumes =>
    new Volumes(runtime, new StateFolder(join(folder, 'no-state'), runtime), { uid: 1, gid: 1 })
  const problem = async (...all: readonly SandboxVolume[]): Promise<string> => {
    const error: unknown = await volumes()
      .of(all)
      .catch((reason: unknown) => reason)
    return error instanceof Error ? error.message : ''
  }
  const cases: readonly (readonly [hostPath: string, guestPath: string, problem: RegExp])[] = [
    ['/', '/data', /control of the host/],
    ['/proc', '/data', /control of the host/],
    ['/etc/ssl', '/data', /control of the host/],
    ['/run', '/data', /control of the host/],
    [homedir(), '/data', /control of the host/],
    ['/home', '/data', /control of the host/],
    [join(folder, 'nothing'), '/data', /there is no .*ENOENT.*make the folder/],
    [written('plain', ''), '/data', /plain is no folder: name the folder/],
    ['relative', '/data', /ENOENT|is a link/],
    [made('good'), 'data', /no plain absolute path/],
    [made('good'), '/data/../etc', /no plain absolute path/],
    [made('good'), '/workspace/data', /belongs to the machine/],
    [made('good'), '/usr/local', /belongs to the machine/],
  ]
  for (const [hostPath, guestPath, why] of cases)
    test(`${hostPath} at ${guestPath} is refused`, async () =>
      assert.match(await problem(at(hostPath, guestPath)), why))

  test('that is a home, or above it, is refused wherever homes are', async (t) => {
    const home = made('homes/ann')
    const { HOME } = process.env
    t.after(() => (process.env['HOME'] = HOME))
    process.env['HOME'] = home
    for (const hostPath of [home, join(folder, 'homes')])
      assert.match(await problem(at(hostPath)), /control of the host/)
  })

  test('in the state folder, or above it, is refused', async () => {
    const state = made('of-services/state')
    const own = new Volumes(runtime, new StateFolder(state, runtime), { uid: 1, gid: 1 })
    for (const hostPath of [state, made('of-services/state/in'), join(folder, 'of-services')])
      await assert.rejects(
        own.of([at(hostPath)]),
        /state folder of the sandbox: one of them contains the other/,
      )
  })

  test('through a link is refused, and where that leads is not told', async () => {
    const target = made('target/within')
    symlinkSync(join(folder, 'target'), join(folder, 'link'))
    for (const path of ['link', 'link/within']) {
      const why = await problem(at(join(folder, path)))
      assert.match(why, /is a link, or lies behind one: write the path that realpath .* shows$/)
      assert(!why.includes(target), why)
    }
  })

  // A5: a read-only mount does not keep a program from connecting.
  for (const isReadOnly of [true, false])
    test(`with a socket, however deep, is refused${isReadOnly ? ', to read only too' : ''}`, async (t) => {
      const path = made(`sockets-${isReadOnly}`)
      made(`sockets-${isReadOnly}/a/b`)
      const server = createServer().listen(join(path, 'a/b/s'))
      t.after(() => server.close())
      await once(server, 'listening')
      assert.match(await problem(at(path, '/data', isReadOnly)), /holds the socket or pipe 'a\/b\/s'/)
    })

  test('with a named pipe is refused, which can be written to through a read-only mount', async () => {
    spawnSync('mkfifo', [join(made('pipes/a'), 'p')])
    assert.match(await problem(at(join(folder, 'pipes'))), /holds the socket or pipe 'a\/p'/)
  })

  test('in another one is refused, on either side', async () => {
    const [outer, inner, other] = [made('outer'), made('outer/inner'), made('other')]
    assert.match(await problem(at(outer, '/one'), at(inner, '/two')), /one of them contains the other/)
    assert.match(await problem(at(outer, '/one'), at(other, '/one/two')), /one of them contains the other/)
  })

  test('is opened once, and refused when its path leads to another folder', async () => {
    const hostPath = made('changing')
    const own = volumes()
    const [first] = await own.of([at(hostPath)])
    const [again] = await own.of([at(hostPath)])
    assert.equal(first?.descriptor, again?.descriptor)
    rmSync(hostPath, { recursive: true })
    symlinkSync(made('elsewhere'), hostPath)
    await assert.rejects(
      own.of([at(hostPath)]),
      /^MachineStartError: \S+changing is not the folder that it was/,
    )
    own.close()
  })
})

describe('an interpreter', { skip }, () => {
  const marker = join(folder, 'proof')
  const binary = readFileSync('/bin/true')

  // A1: it is looked at, and never executed on the host.
  test('that is a script is refused, and not executed', () => {
    const path = written('evil', `#!/bin/sh\nid > ${marker}\n`)
    chmodSync(path, 0o755)
    assert.throws(() => findInterpreter(wanted(path), []), /not a script that starts it/)
    assert.equal(existsSync(marker), false)
  })

  test('in a volume is refused, and what was put there is not executed', () => {
    const path = environment('volume')
    rmSync(path)
    writeFileSync(path, binary)
    chmodSync(path, 0o755)
    const volume = { hostPath: join(folder, 'volume'), guestPath: '/p', isReadOnly: false }
    assert.throws(() => findInterpreter(wanted(path, volume), []), /lies in the volume .*volume, where code/)
    const inside = { ...volume, hostPath: join(folder, 'volume/.venv/bin') }
    assert.throws(() => findInterpreter(wanted(path, inside), []), /lies in the volume/)
  })

  test('of a virtual environment is started by its own path, with its packages', () => {
    const path = environment('project')
    assert.deepEqual(findInterpreter(wanted(path), []), {
      program: path,
      paths: [join(folder, 'project/.venv')],
    })
  })

  test('elsewhere brings its folder, unless that has more in it', () => {
    const path = join(made('opt/python/bin'), 'python3')
    writeFileSync(path, binary)
    chmodSync(path, 0o755)
    assert.deepEqual(findInterpreter(wanted(path), []), {
      program: path,
      paths: [join(folder, 'opt/python')],
    })
    const root = join(made('root/bin'), 'python3')
    writeFileSync(root, binary)
    chmodSync(root, 0o755)
    const { HOME } = process.env
    process.env['HOME'] = join(folder, 'root')
    try {
      assert.throws(() => findInterpreter(wanted(root), []), /in no folder of its own/)
    } finally {
      process.env['HOME'] = HOME
    }
  })
})

describe('the watch on the disk', { skip }, () => {
  test('ends a machine whose files are too large, and lets stay what was there', async () => {
    const path = made('disk-full')
    assert.match((await ended(path, {})) ?? '', /^the disk limit of 0\.001 GiB$/)
    assert.equal(await ended(path, { diskGiB: 1 }), undefined)
    assert.equal(await ended(path, {}), undefined, 'a session that is full may remove files')
    const fast = await ended(path, { heldBytes: 0 }, 1)
    assert.match(fast ?? '', /^the disk limit of/, 'what was written before the first look counts')
  })

  test('counts files once, and nothing behind a link', async () => {
    const path = made('disk')
    writeFileSync(join(path, 'later'), Buffer.alloc(3_000_000, 1))
    spawnSync('ln', [join(path, 'later'), join(path, 'again')])
    symlinkSync('/', join(path, 'root'))
    symlinkSync('.', join(path, 'circle'))
    spawnSync('mkfifo', [join(path, 'fifo')])
    truncateSync(written('disk/hole', ''), 1e12)
    assert.equal(await ended(path, { diskGiB: 0.004 }), undefined)
  })
})

const dice = { random: () => 0.999999 }

test('the user of a session is its own as long as it lasts, when root makes it', () => {
  const identities = new Identities(true, undefined, dice)
  const all = Array.from({ length: 100 }, (_, index) => identities.of(`s${index}`)?.uid ?? 0)
  assert.equal(new Set(all).size, 100)
  for (const uid of all) assert(uid >= 1_879_050_000 && uid < 1_879_050_000 + 65_536)
  assert.equal(identities.of('s5')?.uid, all[5])
  identities.forget('s5')
  assert.equal(identities.of('s6')?.uid, all[6])
})

test('the user of a session is the one that was configured, or nobody else', () => {
  assert.deepEqual(new Identities(true, { uid: 7, gid: 8 }, dice).of('s'), { uid: 7, gid: 8 })
  assert.equal(new Identities(false, { uid: 7, gid: 8 }, dice).of('s'), undefined)
})

const root = { uid: 0, gid: 0 }
const cases: readonly (readonly [runAs: string, found: object | RegExp])[] = [
  ['7:8', { uid: 7, gid: 8 }],
  ['7', /must be two numbers, uid:gid/],
  ['ann:staff', /must be two numbers/],
  ['0:7', /never runs as root/],
  ['7:0', /never runs as root or in its group/],
  ['4294967295:7', /must be two numbers/],
]
for (const [runAs, found] of cases)
  test(`the user that is configured ${runAs} is ${found instanceof RegExp ? 'refused' : 'found'}`, () => {
    if (found instanceof RegExp) assert.throws(() => hostIdentity(runAs, root), found)
    else assert.deepEqual(hostIdentity(runAs, root), found)
  })

test('the user that is configured is nobody else where the service is not root', () => {
  const own = { uid: 1000, gid: 1001 }
  assert.equal(hostIdentity('1000:1001', own), undefined)
  const start = () => hostIdentity('1000:50', own)
  assert.throws(start, /a service of the user 1000 cannot give its sessions another one than 1000:1001/)
})

describe('a bwrap that cannot be used', { skip }, () => {
  const cases: readonly (readonly [title: string, script: string, why: RegExp])[] = [
    ['is too old', 'echo bubblewrap 0.4.1', /^bubblewrap 0\.4\.1 is too old; install/],
    ['fails', 'echo no libcap here >&2; exit 127', /bwrap --version fails: no libcap here; run/],
    ['says nothing', 'exit 3', /bwrap --version fails: it ended with 3;/],
    ['is ended', 'kill -KILL $$', /bwrap --version fails: it ended with SIGKILL;/],
  ]
  for (const [title, script, why] of cases)
    test(`${title}, and is told apart`, async () => {
      const path = written('bwrap', `#!/bin/sh\n${script}\n`)
      chmodSync(path, 0o755)
      await assert.rejects(probeBubblewrap(runtime, 'none', 'none', undefined, [folder]), { message: why })
      rmSync(path)
    })
})

describe('a scope of systemd', { skip }, () => {
  const flavor = { cpus: 2, memoryMiB: 512, pids: 100, diskGiB: 1 }

  test('is used where the kernel holds what was asked for', async () => {
    const scopes = await findScopes(...systemd('printf "67108864\\n64\\n"'))
    assert.equal(scopes?.env['XDG_RUNTIME_DIR'], '/run/user/1')
    const user = process.getuid?.() === 0 ? [] : ['--user']
    assert.deepEqual(
      scopeCommand(scopes, 'n', flavor),
      [
        join(folder, 'systemd/systemd-run'),
        ...user,
        '--scope --quiet --collect --unit=n'.split(' '),
        '--property MemoryMax=512M --property MemorySwapMax=0'.split(' '),
        '--property TasksMax=124 --property CPUQuota=200% --property CPUWeight=10 --'.split(' '),
      ].flat(),
    )
  })

  for (const answer of ['exit 1', 'printf "max\\nmax\\n"', 'echo Failed to connect to bus >&2; exit 1'])
    test(`is not used where it answers ${answer}`, async () =>
      assert.equal(await findScopes(...systemd(answer)), undefined))

  test('that systemd has ended for lack of memory says so when its group is gone', async () => {
    const group = mkdtempSync(join(folder, 'group-'))
    const file = join(group, 'memory.events')
    writeFileSync(file, 'oom 0\noom_kill 0\n')
    const kills = new MemoryKills(group)
    assert.equal(kills.count, 0)
    // Begun behind the other one, which therefore learns of a change first.
    const own = watch(file)
    writeFileSync(file, 'oom 1\noom_kill 2\n')
    await once(own, 'change')
    own.close()
    rmSync(group, { recursive: true })
    assert.equal(kills.count, 2)
    kills.close()
  })

  test('without a group counts nothing', () => {
    assert.equal(new MemoryKills(undefined).count, 0)
    assert.equal(new MemoryKills(join(folder, 'no-such-group')).count, 0)
  })
})
