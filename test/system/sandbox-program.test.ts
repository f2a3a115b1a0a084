// The program of the sandbox beside other servers of one proxy: its faults are its own.

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, describe, test } from 'node:test'
import { realRuntime } from '../../src/real-runtime.js'
import { chooseRuntime } from '../../src/sandbox/runtimes.js'
import { until } from '../integration/support/waiting.js'
import { ran, shell, startedMachine } from '../sandbox/machine-contract.js'
import { SandboxCommands } from './support/sandbox-commands.js'

const commands = new SandboxCommands({ after: (end) => after(end) }, 'root')
const isRoot = process.getuid?.() === 0

test('sandbox --check starts sessions, and names what keeps one from starting', async (t) => {
  const checked = async (box: object): Promise<readonly [unknown, string]> => {
    const { child, exited } = commands.start(t, [
      'sandbox',
      '--check',
      '--config',
      commands.config('check.json', box),
    ])
    let said = ''
    child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()))
    return [await exited, said]
  }
  const python = { language: 'python' }
  const [code, said] = await checked({ templates: { python, bad: { ...python, interpreter: '/nowhere' } } })
  assert.match(
    said,
    /is used, network none\ntemplate bad: Configuration error: \/nowhere is no python[^\n]*\n$/,
  )
  assert.equal(code, 0, 'sessions of the other template can be started')
  const [failed, why] = await checked({ templates: { python }, volumes: ['/nowhere:/data:ro'] })
  assert.match(why, /template python: [^\n]* there is no \/nowhere \(ENOENT\): make the folder[^\n]*\n/)
  assert.equal(failed, 1)
})

const listDescriptors = `
import os
print([each for each in range(256) if os.path.exists(f'/proc/self/fd/{each}')])
`

describe('sandbox.js exec', () => {
  const folder = mkdtempSync(join(tmpdir(), 'mcps-exec-'))
  after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }))
  const program = join(import.meta.dirname, '../../../dist/sandbox.js')

  /** The arguments of a program with a policy whose other members are these. */
  function args(policy: object, command: readonly string[]): string[] {
    const home = join(folder, 'of-program')
    const whole = {
      network: 'none',
      read: [],
      write: [],
      home,
      programs: [],
      untrusted: [],
      cwd: '/',
      ...policy,
    }
    return [program, 'exec', '--policy', JSON.stringify(whole), '--', ...command]
  }

  async function run(
    policy: object,
    command: readonly string[],
    variables: object = {},
  ): Promise<[number, string, string]> {
    const env = { ...process.env, MCPS_CONFINED_ENV: JSON.stringify(variables) }
    const child = spawn(process.execPath, args(policy, command), { stdio: 'pipe', env })
    child.stdin.end('in')
    const [stdout, stderr, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'exit'),
    ])
    return [Number(code), stdout, stderr]
  }

  test('confines one program: it has its streams, what the policy names, and nothing else', async () => {
    const [read, write] = [join(folder, 'read'), join(folder, 'write')]
    mkdirSync(read)
    mkdirSync(write)
    writeFileSync(join(read, 'file'), 'of the host\n')
    const line = `cat; cat ${read}/file; echo x > ${read}/new; echo y > ${write}/new; ls /root /home /etc/shadow; (exec 3<>/dev/tcp/127.0.0.1/1); exit 3`
    const [code, stdout, stderr] = await run({ read: [read], write: [write] }, ['bash', '-c', line])
    assert.deepEqual([code, stdout], [3, 'inof the host\n'])
    assert.match(stderr, /Read-only file system[^]*No such file/)
    assert.equal(existsSync(join(write, 'new')), true)
  })

  test('refuses what would be written to memory outside of the policy, /tmp and /dev', async () => {
    const home = join(folder, 'home')
    const write = join(folder, 'deep/er')
    mkdirSync(write, { recursive: true })
    const tried = [
      '/new',
      '/etc/new',
      join(folder, 'new'),
      join(folder, 'deep/new'),
      '/tmp/new',
      '/dev/shm/new',
      '/dev/null',
      join(home, 'new'),
      join(write, 'new'),
    ]
    const line = `for each in "$@"; do echo x > "$each" && echo "$each"; done; true`
    const [code, stdout, stderr] = await run({ home, write: [write] }, ['sh', '-c', line, 'sh', ...tried])
    assert.deepEqual([code, stdout.trim().split('\n')], [0, tried.slice(4)], stderr)
    assert.equal(stderr.match(/Read-only file system/g)?.length, 4, stderr)
    for (const named of ['/', `${folder}/`]) {
      const [, whole] = await run({ write: [named] }, ['sh', '-c', line, 'sh', join(write, 'all')])
      assert.equal(whole, `${join(write, 'all')}\n`)
    }
  })

  test('shows a program of /bin no more of the root than any other, also where the system has packages of Node', async () => {
    const [code, said] = await run({}, ['/bin/sh', '-c', 'ls /'])
    assert.equal(code, 0)
    assert(said.includes('usr\n') && !/^(?:sys|boot|var)$/m.test(said), said)
  })

  test('shows a program that is installed in a home its packages, and nothing else of the home', async () => {
    const home = join(folder, 'home')
    for (const each of ['bin', 'lib/node_modules', '.ssh']) mkdirSync(join(home, each), { recursive: true })
    writeFileSync(join(home, '.ssh/id'), 'secret')
    const tool = join(home, 'bin/tool')
    writeFileSync(tool, `#!/bin/sh\nls -A ${home}\n`, { mode: 0o755 })
    assert.deepEqual((await run({}, [tool])).slice(0, 2), [0, 'bin\nlib\n'])
  })

  test('refuses the program the system calls that machines are refused, the keys of the user among them', async () => {
    const line =
      'import ctypes, os; libc = ctypes.CDLL(None, use_errno=True); ' +
      'print([libc.syscall(n, 0, 0, 0) for n in ((250, 165, 272) if os.uname().machine == "x86_64" else (219, 40, 97))], os.strerror(ctypes.get_errno()))'
    const [code, stdout, stderr] = await run({}, ['/usr/bin/python3', '-c', line])
    assert.deepEqual([code, stdout], [0, '[-1, -1, -1] Operation not permitted\n'], stderr)
  })

  test('gives the program no descriptor that the caller has left open', async () => {
    const left = openSync('/', 'r')
    const child = spawn(process.execPath, args({}, ['/usr/bin/python3', '-c', listDescriptors]), {
      stdio: ['ignore', 'pipe', 'inherit', left, left],
    })
    closeSync(left)
    assert(child.stdout !== null)
    assert.equal(await text(child.stdout), '[0, 1, 2]\n')
  })

  test('runs no program of the host from a folder that the program may write, and gives none its variables', async () => {
    const write = join(folder, 'planted')
    mkdirSync(write)
    for (const name of ['bwrap', 'prlimit'])
      writeFileSync(join(write, name), `#!/bin/sh\ntouch ${write}/ran\n`, { mode: 0o755 })
    const env = { PATH: `${write}:/usr/bin:/bin`, LD_PRELOAD: '/nowhere.so' }
    const [code, stdout, stderr] = await run({ write: [write] }, ['true'], env)
    assert.deepEqual([code, stdout], [0, ''], stderr)
    assert.equal(existsSync(join(write, 'ran')), false)
    assert.equal(stderr.split('/nowhere.so').length, 2, 'the program alone was told to load it')
  })

  test('follows no link that the program has made in a folder that it may write', async () => {
    const [own, secret] = [join(folder, 'own'), join(folder, 'secret')]
    for (const path of [own, secret]) mkdirSync(path)
    writeFileSync(join(secret, 'key'), 'of the host\n', { mode: 0o755 })
    symlinkSync(secret, join(own, 'data'))
    symlinkSync(join(secret, 'key'), join(own, 'program'))
    const policy = { read: [join(own, 'data')], write: [join(own, 'data'), own] }
    const line = `cat ${own}/data/key ${secret}/key`
    const [, stdout] = await run(policy, ['sh', '-c', line])
    assert.equal(stdout, '')
    const [code, , stderr] = await run({ write: [own] }, [join(own, 'program')])
    assert.equal(code, 1, stderr)
    symlinkSync(own, join(folder, 'alias'))
    const behind = { read: [join(folder, 'alias/data')], write: [own] }
    const [, seen] = await run(behind, ['sh', '-c', `cat ${folder}/alias/data/key ${own}/data/key`])
    assert.equal(seen, '')
    const other = { read: [join(own, 'data')], untrusted: [own] }
    const [refused, , why] = await run(other, ['true'])
    assert.deepEqual([refused, /which another confined program may have made/.test(why)], [126, true], why)
  })

  test('makes the other links to a path again, and keeps a folder readable in one that may be written', async () => {
    const own = join(folder, 'work')
    mkdirSync(join(own, 'config'), { recursive: true })
    mkdirSync(join(folder, 'linked'))
    writeFileSync(join(own, 'config/file'), 'kept\n')
    symlinkSync('../work', join(folder, 'linked/link'))
    const policy = { read: [join(own, 'config')], write: [join(folder, 'linked/link')] }
    const line = `cd ${folder}/linked/link; cat config/file; touch new; mv config other; touch config/new`
    const [, stdout, stderr] = await run(policy, ['sh', '-c', line])
    assert.deepEqual([stdout, existsSync(join(own, 'new'))], ['kept\n', true])
    assert.match(stderr, /cannot move .*busy.*Read-only file system/is)
    const [alternative] = readdirSync('/etc/alternatives')
    const system = ['/etc/localtime', `/etc/alternatives/${alternative ?? ''}`].filter((path) =>
      existsSync(path),
    )
    const [code, , why] = await run({ read: system }, ['true'])
    assert.equal(code, 0, why)
  })

  test('lets root change no setting of the kernel', { skip: !isRoot }, async () => {
    const line = 'for file in /proc/sys/kernel/core_pattern /proc/sys/vm/swappiness; do true >> $file; done'
    const [, , stderr] = await run({}, ['sh', '-c', line])
    assert.equal(stderr.match(/Read-only file system/g)?.length, 2, stderr)
  })

  for (const network of ['none', ['good.example']])
    test(`passes SIGTERM to the program once, which ends in its own time: network ${String(network)}`, async () => {
      const script =
        'let n = 0; process.on("SIGTERM", () => console.log(++n)); process.stdin.once("data", () => process.exit(3)); console.log("on")'
      const child = spawn(process.execPath, args({ network }, [process.execPath, '-e', script]), {
        stdio: ['pipe', 'pipe', 'inherit'],
      })
      const closed = once(child, 'close')
      const next = async (): Promise<string> => String((await once(child.stdout, 'data'))[0])
      assert.equal(await next(), 'on\n')
      child.kill('SIGTERM')
      assert.equal(await next(), '1\n')
      child.stdin.end('.')
      let more = ''
      child.stdout.on('data', (chunk: Buffer) => (more += chunk.toString()))
      assert.deepEqual([...(await closed), more], [3, null, ''])
    })

  test('killed while the program may reach hosts, leaves no folder', async () => {
    const temporary = join(folder, 'temporary')
    mkdirSync(temporary)
    const child = spawn(process.execPath, args({ network: ['good.example'] }, ['sh', '-c', 'echo on; cat']), {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, TMPDIR: temporary },
    })
    await once(child.stdout, 'data')
    // The program may begin a moment before its caller has seen the connection that lets it remove the folder.
    await until(() => readdirSync(temporary).length === 0)
    child.kill('SIGKILL')
    await once(child, 'close')
    assert.deepEqual(readdirSync(temporary), [])
  })

  test('takes no option of bwrap from a path or a variable', async () => {
    const more = '\0--bind\0/\0/tmp/host'
    for (const [policy, env] of [
      [{}, { PATH: '/usr/bin:/bin', A: `x${more}` }],
      [{ write: [folder], cwd: `${folder}/x${more}` }, {}],
    ] as const) {
      const [code, stdout, stderr] = await run(policy, ['ls', '/tmp/host'], env)
      assert.deepEqual([code, stdout, stderr], [126, '', 'sandbox: a path or a variable has a NUL\n'])
    }
  })
})

// A8: removed files that are mapped or held are in no folder.
describe('the reserve of the disk', { skip: !isRoot && 'only root mounts a small disk' }, () => {
  test('ends the machine that has written most, by removed files too, and no other', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'mcps-reserve-'))
    const disk = `${folder}.disk`
    writeFileSync(disk, '')
    truncateSync(disk, 200_000_000)
    spawnSync('mkfs.ext4', ['-q', '-F', disk])
    const mounted = spawnSync('mount', ['-o', 'loop', disk, folder])
    t.after(() => rmSync(disk, { force: true }))
    if (mounted.status !== 0) return t.skip('no small disk can be mounted here')
    const runtime = realRuntime()
    chmodSync(folder, 0o755)
    const around = {
      runtime,
      log: () => undefined,
      stateFolder: join(folder, 'state'),
      programFolder: 'dist',
    }
    const { runtime: sandbox } = await chooseRuntime('bubblewrap', around)
    t.after(async () => {
      await sandbox.close()
      await runtime.close()
      // A program of a machine that has just ended may be leaving.
      spawnSync('umount', ['--lazy', folder])
      rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
    })
    const filling = await startedMachine(sandbox, { language: 'python', sessionId: 'filling' })
    const other = await startedMachine(sandbox, { language: 'python', sessionId: 'other' })
    const line =
      'exec 3>a; rm a; i=0; while [ $i -lt 195 ]; do head -c 1000000 /dev/zero >&3 || break; i=$((i+1)); done; sleep 1000'
    const { failure } = await ran(filling, shell(line))
    assert.match(failure ?? '', /reserve of free disk space/)
    assert.equal((await filling.ended).reason, 'disk')
    assert.equal((await ran(other, shell('echo on'))).stdout, 'on\n')
  })
})
