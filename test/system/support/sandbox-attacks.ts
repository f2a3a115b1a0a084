// Attacks of foreign code on real machines. Each attack must end in its session.

import assert from 'node:assert/strict'
import {
  chmodSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { getPriority } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { processIds, readProcFile } from '../../../src/runtime/process-table.js'
import {
  type GuestCommand,
  type Machine,
  type MachineSpec,
  MachineStartError,
  type SandboxRuntime,
} from '../../../src/sandbox/runtime.js'
import { findScopes } from '../../../src/sandbox/runtimes/bubblewrap/scope.js'
import { plainSpec, ran, said, shell, startedMachine } from '../../sandbox/machine-contract.js'
import { until } from '../../integration/support/waiting.js'
import type { SandboxScene } from './sandbox-scene.js'

const MiB = 1024 * 1024

/** Small, so that a limit is reached soon. */
const small = { cpus: 1, memoryMiB: 256, pids: 48, diskGiB: 1 / 16 }

/** A program in Python. */
export function python(source: string, ...args: readonly string[]): GuestCommand {
  return { program: '/usr/bin/python3', args: ['-c', source, ...args] }
}

/** The attacks on machines of one scene. */
export function sandboxAttacks(title: string, scene: SandboxScene): void {
  const machine = async (spec: Partial<MachineSpec> = {}, runtime?: SandboxRuntime): Promise<Machine> =>
    startedMachine(runtime ?? (await scene.bubblewrap()), { language: 'python', ...spec })

  test(`${title}: streams of output can be opened again by a program`, async () => {
    const inside = await machine()
    const line = 'cat > /dev/stdout; echo err > /dev/stderr; readlink /proc/self/fd/1 >&2'
    // More runs than pipes that a machine makes in advance.
    for (let i = 0; i < 20; i++) {
      const { stdout, stderr } = await ran(inside, shell(line), 'in\n')
      assert.equal(stdout, 'in\n')
      assert.match(stderr, /^err\n\/\.pipes\/\d+\.2\n$/)
    }
  })

  test(`${title}: streams of a program that is left behind may be written to`, async () => {
    const inside = await machine()
    const { stdout } = await ran(
      inside,
      shell(
        '(while :; do echo more || echo failed > failed; sleep 0.01; echo x >> beats; done) & echo first',
      ),
    )
    assert.match(stdout, /^(first|more)\n/)
    await ran(inside, shell('while [ "$(wc -l < beats)" -lt 20 ]; do sleep 0.05; done'))
    assert.equal((await ran(inside, shell('cat failed'))).stdout, '')
  })

  describe(`${title}: limits`, () => {
    test('processes that want too much memory together: one is ended, and the limit is named', async (t) => {
      if ((await findScopes(scene.runtime, 'probe', [])) === undefined)
        return t.skip('systemd makes no scopes here')
      const inside = await machine({ flavor: small })
      const greedy = await ran(
        inside,
        python(`
import os, time
children = []
for _ in range(4):
    pid = os.fork()
    if pid == 0:
        hold = bytearray(os.urandom(1 << 20)) * 120
        time.sleep(20)
        os._exit(0)
    children.append(pid)
raise SystemExit(9 if os.waitstatus_to_exitcode(os.wait()[1]) == -9 else 0)
`),
      )
      assert.equal(greedy.code, 9)
      assert.equal((await ran(inside, shell('echo on'))).stdout, 'on\n')
    })

    test('one process that wants more than all may have is refused it', async () => {
      const { stderr } = await ran(await machine({ flavor: small }), python('bytearray(1 << 30)'))
      assert.match(stderr, /MemoryError/)
    })

    test('files in memory are bounded', async () => {
      const inside = await machine({ flavor: small })
      for (const folder of ['/tmp', '/dev/shm']) {
        const { stderr } = await ran(inside, shell(`head -c 100000000 /dev/zero > ${folder}/fill`))
        assert.match(stderr, /No space left/)
      }
      const { stdout } = await ran(
        inside,
        shell('for d in / /dev /etc /usr; do touch $d/x 2>/dev/null && echo $d; done'),
      )
      assert.equal(stdout, '')
    })

    test('a bomb that never stops ends with its machine', async () => {
      const inside = await machine({ flavor: small })
      const bomb = inside.run(shell('f() { f | f & }; echo lit; f'))
      await said(bomb, 'lit')
      await bomb.exited
      await inside.stop()
      assert.equal((await inside.ended).reason, 'stopped')
    })

    for (const folder of ['/tmp', '/dev/shm'])
      test(`very many files without content in ${folder} end the machine, and the limit is named`, async () => {
        const inside = await machine({ flavor: small })
        const { limit } = await ran(
          inside,
          python(
            `
import os, sys, time
os.chdir(sys.argv[1])
os.close(os.open('f', os.O_CREAT))
for i in range(260_000):
    os.link('f', str(i))
time.sleep(100)
`,
            folder,
          ),
        )
        assert.equal(limit, 'the limit of 250000 files')
        assert.equal((await inside.ended).reason, 'disk')
      })

    test('one large file is refused', async () => {
      const { stderr, code, signal } = await ran(
        await machine({ flavor: small }),
        python('open("f", "wb").write(bytes(100_000_000))'),
      )
      assert.match(stderr, /File too large/)
      assert.deepEqual([code, signal], [1, undefined])
    })

    test('a tree that is deeper than paths are long can be removed', async () => {
      const runtime = await scene.bubblewrap()
      const before = folders(scene)
      const inside = await machine({}, runtime)
      const { code } = await ran(
        inside,
        python(`
import os
for _ in range(3000):
    os.mkdir('d'); os.chdir('d')
open('file', 'w').write('x')
os.chmod('.', 0)
`),
      )
      assert.equal(code, 0)
      assert(folders(scene).length > before.length)
      await runtime.discard(plainSpec.sessionId)
      await runtime.close()
      assert.deepEqual(folders(scene), before)
    })
  })

  describe(`${title}: what the kernel holds`, () => {
    test('limits of each process', async () => {
      const listed = await ran(
        await machine({ flavor: small }),
        shell('prlimit --noheadings --output RESOURCE,SOFT,HARD'),
      )
      const limits = new Map(
        linesOf(listed.stdout).map((line) => [line.split(/\s+/)[0], line.split(/\s+/).slice(1, 3)]),
      )
      const wanted = {
        CORE: 1,
        DATA: 256 * MiB,
        FSIZE: 64 * MiB,
        MEMLOCK: 65_536,
        NOFILE: 1024,
        NPROC: 48 + 24,
      }
      for (const [name, value] of Object.entries(wanted))
        assert.deepEqual(limits.get(name), [String(value), String(value)], name)
    })

    test('processor time that others leave', async () => {
      const { stdout } = await ran(await machine(), shell('nice; nice -n -5 nice'))
      const priority = String(Math.min(getPriority() + 10, 19))
      assert.deepEqual(linesOf(stdout), [priority, priority])
    })

    // A6: code in the first process would have no limits, and would outlive the service.
    test('its first process has the same limits, and its memory is closed to programs', async () => {
      const { stdout, stderr } = await ran(
        await machine({ flavor: small }),
        python(`
import re
limits = open('/proc/1/limits').read()
print(*re.findall(r'Max (?:processes|data size|file size|open files) +(\\d+)', limits))
for name in ('mem', 'environ', 'syscall', 'maps', 'fd'):
    try:
        open('/proc/1/' + name, 'rb').read(1)
        print(name, 'read')
    except OSError as error:
        print(name, 'refused')
`),
      )
      const limits = `${64 * MiB} ${256 * MiB} ${48 + 24} 1024`
      const closed = ['mem', 'environ', 'syscall', 'maps', 'fd'].map((name) => `${name} refused\n`).join('')
      const found = stdout.split('\n')[0]?.split(' ').toSorted().join()
      assert.equal(found, limits.split(' ').toSorted().join(), stderr)
      assert.equal(stdout.slice(stdout.indexOf('\n') + 1), closed, stderr)
    })

    test('namespaces of its own, a session of its own, no right, and no group', async () => {
      const { stdout, stderr } = await ran(
        await machine(),
        shell(
          'readlink /proc/self/ns/*; uname -n; cut -d" " -f6 /proc/1/stat; grep -E "CapBnd|^Groups" /proc/self/status',
        ),
      )
      for (const name of ['cgroup', 'ipc', 'mnt', 'net', 'pid', 'user', 'uts']) {
        assert.match(stdout, new RegExp(`^${name}:`, 'm'), stderr)
        assert(!stdout.includes(readlinkSync(`/proc/self/ns/${name}`)), name)
      }
      assert.match(stdout, /\nsandbox\n1\nGroups:\s*\nCapBnd:\t0{16}\n$/)
    })

    test('no user of the host that is root, or that another session has', async () => {
      const runtime = await scene.bubblewrap()
      const uids = await Promise.all(
        ['one', 'two'].map(async (sessionId) => uidOf(await asleep(await machine({ sessionId }, runtime)))),
      )
      if (process.getuid?.() !== 0) return assert.deepEqual(uids, [process.getuid?.(), process.getuid?.()])
      assert.equal(new Set(uids).size, 2)
      for (const uid of uids) assert(uid >= 1_879_050_000, String(uid))
    })
  })

  describe(`${title}: what can be seen`, () => {
    test('nothing of the service in /proc, variables, or descriptors', async () => {
      process.env['MCPS_PLANTED_SECRET'] = 'planted-secret'
      const { stdout, stderr } = await ran(
        await machine(),
        shell(`cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline /proc/[0-9]*/cgroup /proc/self/mountinfo | tr '\\0' '\\n'
               ls -la /proc/[0-9]*/fd /proc/[0-9]*/cwd /proc/[0-9]*/root 2>&1; env`),
      )
      assert.doesNotMatch(stdout, /planted/)
      assert.doesNotMatch(
        stdout,
        /-> (?!\/dev\/|\/\.pipes\/|\/proc\/|\/workspace|\/\s|\/$|pipe:|socket:|anon_inode:)/m,
        'a file of the host',
      )
      assert.doesNotMatch(stderr, /planted/)
    })

    test('no command line of the kernel, which may hold secrets, and no keys', async () => {
      const { stdout } = await ran(
        await machine(),
        shell('cat /proc/cmdline /proc/keys /proc/key-users /proc/timer_list'),
      )
      assert.equal(stdout, '')
    })

    test('only its own processes', async () => {
      const { stdout } = await ran(await machine(), shell('ls /proc | grep -c "^[0-9]"'))
      assert(Number(stdout) <= 6, stdout)
    })

    test('no user, home, socket or configuration of the host', async () => {
      const { stdout } = await ran(
        await machine(),
        shell(
          'ls -d /root /home /run /var /sys /mnt /srv /work 2>/dev/null; cat /etc/shadow /etc/machine-id 2>/dev/null; wc -l < /etc/passwd; id -u',
        ),
      )
      assert.equal(stdout, '2\n1000\n')
    })

    test('no network of the host', async () => {
      const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1')
      const abstract = createServer((socket) => socket.destroy()).listen(`\0mcps-${process.pid}`)
      await Promise.all([server, abstract].map((each) => new Promise((done) => each.once('listening', done))))
      const address = server.address()
      assert(address !== null && typeof address === 'object')
      const { stdout, stderr } = await ran(
        await machine(),
        python(
          `
import socket, sys
def told(what, do):
    try:
        do(); print(what, 'reached')
    except OSError as error:
        print(what, 'refused')
def connect(family, to):
    with socket.socket(family) as one:
        one.settimeout(5); one.connect(to)
told('loopback', lambda: connect(socket.AF_INET, ('127.0.0.1', int(sys.argv[1]))))
told('elsewhere', lambda: connect(socket.AF_INET, ('192.0.2.1', 80)))
told('abstract', lambda: connect(socket.AF_UNIX, '\\0' + sys.argv[2]))
told('docker', lambda: connect(socket.AF_UNIX, '/var/run/docker.sock'))
told('vsock', lambda: connect(socket.AF_VSOCK, (2, 1024)))
told('packet', lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
told('raw', lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
told('netfilter', lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12))
told('names', lambda: socket.getaddrinfo('example.com', 80))
told('own', lambda: socket.create_server(('127.0.0.1', 0)).close())
`,
          String(address.port),
          `mcps-${process.pid}`,
        ),
      )
      server.close()
      abstract.close()
      const reached = stdout.split('\n').filter((line) => line.endsWith('reached'))
      assert.deepEqual(reached, ['own reached'], stderr)
      assert.equal(stdout.trim().split('\n').length, 10, stderr)
    })

    test('nothing of another session', async () => {
      const runtime = await scene.bubblewrap()
      const [one, two] = await Promise.all([machine({}, runtime), machine({ sessionId: 'two' }, runtime)])
      const server = one.run(
        shell(
          'echo mine > /tmp/f; echo mine > /dev/shm/f; echo mine > f; exec python3 -u -m http.server 8000 --bind 127.0.0.1 2>&1',
        ),
      )
      await said(server, 'Serving')
      const fetch = python('import urllib.request as u; print(u.urlopen("http://127.0.0.1:8000/f").read())')
      assert.equal((await ran(one, fetch)).stdout, "b'mine\\n'\n")
      assert.match((await ran(two, fetch)).stderr, /refused/)
      const { stdout } = await ran(
        two,
        shell('cat /tmp/f /dev/shm/f f 2>/dev/null; pkill -9 python3; ps aux | grep -c http.serve[r]'),
      )
      assert.equal(stdout, '0\n')
      assert.equal((await ran(one, fetch)).code, 0)
    })
  })

  describe(`${title}: what the kernel is asked`, () => {
    test('makes no file that lends its user to everybody on the host', async () => {
      const inside = await machine()
      const { stdout, stderr } = await ran(
        inside,
        python(`
import os
open('f', 'w').close()
descriptor = os.open('f', os.O_RDONLY)
def tried(what, do):
    try:
        do(); print(what, 'done')
    except PermissionError:
        print(what, 'refused')
tried('chmod', lambda: os.chmod('f', 0o4755))
tried('fchmod', lambda: os.fchmod(descriptor, 0o6755))
tried('at', lambda: os.chmod('f', 0o4755, dir_fd=os.open('.', os.O_RDONLY)))
tried('open', lambda: os.open('g', os.O_CREAT | os.O_WRONLY, 0o4755))
tried('unnamed', lambda: os.open('.', os.O_TMPFILE | os.O_WRONLY, 0o4755))
tried('mknod', lambda: os.mknod('h', 0o104755))
tried('usual', lambda: os.chmod('f', 0o755))
tried('group', lambda: os.chmod('a', 0o2775))
tried('folder', lambda: (os.mkdir('d'), os.chmod('d', 0o2775)))
`),
      )
      const refused = ['chmod', 'fchmod', 'at', 'open', 'unnamed', 'mknod'].map((what) => `${what} refused`)
      // No filter can tell a folder from a file.
      const others = ['usual done', 'group refused', 'folder refused']
      assert.deepEqual(stdout.trim().split('\n'), [...refused, ...others], stderr)
      const { stdout: found } = await ran(inside, shell('chmod u+s f; find . -perm -4000 | wc -l'))
      assert.equal(found, '0\n')
    })

    test('what could lead out is refused', async () => {
      const { stdout, stderr, code } = await ran(await machine(), python(systemCalls))
      assert.equal(code, 0, stderr)
      const lines = stdout.trim().split('\n')
      const found = lines.filter((line) => !line.endsWith(' refused'))
      assert.deepEqual(found, [], stderr)
      assert(stdout.split('\n').length > 18, stderr)
    })

    test(
      'the calls of 32-bit programs end whoever makes them',
      { skip: process.arch !== 'x64' },
      async () => {
        const { signal } = await ran(
          await machine(),
          python(`
import ctypes, mmap
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(bytes.fromhex('b814000000cd80c3'))
ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
`),
        )
        // A kernel that has no 32-bit programs ends them itself.
        assert.match(signal ?? 'none', /^SIG(?:SYS|SEGV)$/)
      },
    )

    test('a crash starts no program of the host', async () => {
      const { stdout } = await ran(
        await machine(),
        python(
          'import resource as r; print(r.getrlimit(4)); r.setrlimit(4, (0, 0)); print(r.getrlimit(4)); r.setrlimit(7, (64, 64)); print(r.getrlimit(7))',
        ),
      )
      assert.equal(stdout, '(1, 1)\n(1, 1)\n(64, 64)\n')
    })

    test('a program that sets the user id gives nothing', async () => {
      const { stdout } = await ran(
        await machine(),
        shell(
          'su -c id root </dev/null 2>/dev/null; cat /proc/self/status | grep -E "CapEff|NoNewPrivs|Seccomp:"',
        ),
      )
      assert.equal(stdout, 'CapEff:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n')
    })
  })

  describe(`${title}: the agent`, () => {
    test('takes three descriptors of the service, and gives them back', async () => {
      const runtime = await scene.bubblewrap()
      await (await machine({}, runtime)).stop()
      // Those of the machine that has stopped may close a moment later.
      const before = new Set(descriptorsOpen())
      const added = (): string[] => descriptorsOpen().filter((each) => !before.has(each))
      const inside = await machine({}, runtime)
      await ran(inside, shell('true'))
      // The watch on its limits takes some for a moment.
      await until(() => added().length === 3)
      await inside.stop()
      await until(() => added().length === 0)
    })

    test('ended from inside, it takes its own machine with it and no other', async () => {
      const runtime = await scene.bubblewrap()
      const [one, two] = await Promise.all([machine({}, runtime), machine({ sessionId: 'two' }, runtime)])
      const { failure } = await ran(one, shell('kill -9 -1; sleep 1000'))
      assert.match(failure ?? '', /ended from inside/)
      assert.equal((await one.ended).reason, 'died')
      assert.equal((await ran(two, shell('echo on'))).stdout, 'on\n')
      assert.equal((await ran(await machine({}, runtime), shell('echo again'))).stdout, 'again\n')
    })

    test('is no node to those who end every node', async () => {
      const inside = await machine()
      await ran(inside, shell('pkill -9 node; pkill -9 -x node; killall node'))
      assert.equal((await ran(inside, shell('echo on'))).stdout, 'on\n')
    })

    test('stopped from inside, it does not stop the end of its machine', async () => {
      const inside = await machine()
      const program = inside.run(shell('kill -STOP $PPID; echo stopped; sleep 1000'))
      await said(program, 'stopped')
      program.stdin.write(Buffer.alloc(10 * MiB))
      program.interrupt()
      program.kill()
      await inside.stop()
      assert.match((await program.exited).failure ?? '', /has ended/)
    })

    const evil: readonly (readonly [title: string, source: string, why: RegExp, spec?: object])[] = [
      ['says nothing', 'setInterval(() => {}, 1000)', /longer than 3000 ms/, { startTimeoutMs: 3000 }],
      ['ends at once', 'process.exit(3)', /did not start/],
      ['is loud', 'process.stdout.write("a".repeat(1e6)); setInterval(() => {}, 1000)', /did not start/],
      [
        'writes without end where nobody reads',
        'process.stdout.write(ready); process.stdin.once("data", () => { for (;;) process.stderr.write("e".repeat(1e6)) })',
        /ended from inside/,
      ],
    ]
    for (const [index, [what, source, why, spec]] of evil.entries())
      test(`one that ${what} harms its own machine alone`, async () => {
        const runtime = await scene.bubblewrap(evilAgent(scene, `evil${index}`, source))
        const grown: number[] = []
        // Kept memory grows with each machine. Memory that the engine has not freed yet does not.
        while (grown.every((each) => each >= 20) && grown.length < 3) {
          const before = process.memoryUsage().rss
          await assert.rejects(async () => {
            const inside = await startedMachine(runtime, spec)
            await inside.run(shell('true')).exited
            throw new Error((await inside.ended).message)
          }, why)
          grown.push(Math.round((process.memoryUsage().rss - before) / MiB))
        }
        assert(Math.min(...grown) < 20, `grew by ${grown.join(', ')} MiB`)
      })
  })

  test(`${title}: volumes are seen, and not written to when they may only be read`, async () => {
    const hostPath = volume(scene, 'volume-ro')
    const inside = await machine({ volumes: [{ hostPath, guestPath: '/data', isReadOnly: true }] })
    const { stdout, stderr } = await ran(inside, shell('cat /data/file; echo x > /data/new'))
    assert.equal(stdout, 'of the host\n')
    assert.match(stderr, /Read-only file system/)
  })

  test(`${title}: volumes are not taken when something else is in their place`, async () => {
    const hostPath = volume(scene, 'volume-swapped')
    const runtime = await scene.bubblewrap()
    const volumes = [{ hostPath, guestPath: '/data', isReadOnly: true }]
    await (await machine({ volumes }, runtime)).stop()
    renameSync(hostPath, `${hostPath}-away`)
    symlinkSync('/etc', hostPath)
    await assert.rejects(
      machine({ volumes }, runtime),
      (error) => error instanceof MachineStartError && !error.message.includes('/etc'),
    )
    rmSync(hostPath)
    mkdirSync(hostPath)
    await assert.rejects(machine({ volumes }, runtime), /not the folder that it was/)
  })
}

let sleepers = 0

/** Starts a program that waits, and gives its number on the host. */
async function asleep(inside: Machine): Promise<number> {
  const line = `sleep\0${3_000_000 + process.pid}.${++sleepers}\0`
  inside.run({ program: 'sleep', args: line.split('\0').slice(1, 2) }).stdout.resume()
  await until(() => pidOf(line) !== undefined)
  return pidOf(line) ?? assert.fail()
}

function pidOf(line: string): number | undefined {
  return processIds().find((pid) => readProcFile(`/proc/${pid}/cmdline`) === line)
}

function uidOf(pid: number): number {
  return Number(/^Uid:\s+(\d+)/m.exec(readProcFile(`/proc/${pid}/status`))?.[1])
}

function linesOf(stdout: string): string[] {
  return stdout.split('\n').filter(Boolean).toSorted()
}

/** A folder of the host. */
function volume(scene: SandboxScene, name: string): string {
  const path = join(scene.folder, name)
  mkdirSync(path)
  chmodSync(path, 0o755)
  writeFileSync(join(path, 'file'), 'of the host\n')
  return path
}

/** The targets of the descriptors of this process. Each pipe or socket has another number. */
function descriptorsOpen(): string[] {
  return readdirSync('/proc/self/fd').flatMap((each) => {
    try {
      return [readlinkSync(`/proc/self/fd/${each}`)]
    } catch {
      // It was that of the list.
      return []
    }
  })
}

function folders(scene: SandboxScene): string[] {
  const { stateFolder } = scene.around
  return readdirSync(stateFolder).flatMap((name) =>
    readdirSync(join(stateFolder, name))
      .filter((each) => each !== 'lock' && !each.endsWith('.pipes'))
      .map((each) => `${name}/${each}`),
  )
}

/** A program folder whose agent is another one. */
function evilAgent(scene: SandboxScene, name: string, source: string): string {
  const folder = join(scene.folder, name)
  cpSync(join(scene.around.programFolder, 'sandbox'), join(folder, 'sandbox'), { recursive: true })
  writeFileSync(
    join(folder, 'sandbox/guest/agent.js'),
    `const ready = '{"kind":"ready"}\\n'
${source}
`,
  )
  return folder
}

/** Some system calls of each kind that the filter refuses. `test/sandbox/seccomp.test.ts` has the whole table. */
const systemCalls = `
import ctypes, errno, platform, fcntl, os
libc = ctypes.CDLL(None, use_errno=True)
at = 0 if platform.machine() == 'x86_64' else 1
def call(name, numbers, *args, wants=('EPERM',)):
    if numbers[at] is None: return
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(numbers[at]), *[ctypes.c_long(arg) for arg in args])
    said = errno.errorcode.get(ctypes.get_errno(), 'nothing')
    print(name, 'refused' if result == -1 and said in wants else f'gave {result} {said}')
call('ptrace', (101, 117), 0)
call('bpf', (321, 280), 0, 0, 0)
call('keyctl', (250, 219), 0, -3, 0)
call('mount', (165, 40), 0, 0, 0, 0, 0)
call('unshare', (272, 97), 0x10000000)
call('clone', (56, 220), 0x10000000 | 17, 0, 0, 0, 0)
call('clone3', (435, 435), 0, 0, wants=('ENOSYS',))
call('x32 of ptrace', (0x40000000 + 521, None), 0, wants=('ENOSYS',))
call('open_tree_attr', (467, 467), wants=('ENOSYS',))
call('personality', (135, 92), 0x0040000)
call('setuid', (105, 146), 0, wants=('EPERM', 'EINVAL'))
call('setgroups', (116, 159), 0, 0, wants=('EPERM',))
call('io_setup', (206, 0), 32767, ctypes.addressof(ctypes.create_string_buffer(8)))
call('MPTCP', (41, 198), 2, 1, 262, wants=('EPROTONOSUPPORT',))
call('huge pages', (9, 222), 0, 1 << 21, 3, 0x40021, -1, 0)
call('mknod of a disk', (259, 33), -100, ctypes.addressof(ctypes.create_string_buffer(b'disk')), 0o60600, 0xfe00, wants=('EPERM',))
master, slave = os.openpty()
# A process with a terminal may write into its input, unless the filter refuses that.
fcntl.ioctl(slave, 0x540e, 0)
for name, code in (('TIOCSTI', 0x5412), ('TIOCLINUX', 0x541c)):
    call(name, (16, 29), slave, code, ctypes.addressof(ctypes.create_string_buffer(b'x')))
    call(name + ' with something above', (16, 29), slave, (1 << 32) | code, ctypes.addressof(ctypes.create_string_buffer(b'x')))
for path in ('/proc/sysrq-trigger', '/proc/sys/kernel/core_pattern', '/proc/1/oom_score_adj', '/proc/self/uid_map'):
    try:
        with open(path, 'w') as file: file.write('1')
        print(path, 'written' if path != '/proc/1/oom_score_adj' else 'refused')
    except OSError as error:
        print(path, 'refused')
`
