// Second lines of defence. Each test takes the first line away, or strikes in the moment for which the second one exists.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Child, Runtime, SpawnSpec } from '../../../src/runtime/runtime.js'
import { Artifacts, listFiles, readFile, writeFile } from '../../../src/sandbox/files.js'
import type { GuestProcess, Machine, MachineSpec } from '../../../src/sandbox/runtime.js'
import type { MachineUse } from '../../../src/sandbox/runs.js'
import { descriptors } from '../../../src/sandbox/runtimes/bubblewrap/bwrap.js'
import { ran, said, shell, startedMachine } from '../../sandbox/machine-contract.js'
import { python } from './sandbox-attacks.js'
import type { SandboxScene } from './sandbox-scene.js'

type Spawn = Runtime['spawn']

/** One instruction: every call is allowed. */
const allowAll = Buffer.from([6, 0, 0, 0, 0, 0, 0xff, 0x7f])

/** The defences of machines of one scene. */
export function sandboxDefences(title: string, scene: SandboxScene): void {
  /** A machine that is started as `change` says. */
  const machine = async (
    change: (spawn: Spawn) => Spawn,
    spec: Partial<MachineSpec> = {},
  ): Promise<Machine> => {
    const { runtime } = scene.around
    const changed: Runtime = { ...runtime, spawn: change((each) => runtime.spawn(each)) }
    return startedMachine(await scene.bubblewrap(undefined, changed), { language: 'python', ...spec })
  }

  const inSession = async (): Promise<MachineUse> => ({
    machine: await startedMachine(await scene.bubblewrap()),
    clock: scene.runtime,
  })

  test(`${title}: without the filter of system calls no program makes a namespace of users`, async () => {
    const inside = await machine((spawn) => (spec) => unfiltered(spawn(spec)))
    const { stdout, stderr } = await ran(inside, python(userNamespace))
    assert.equal(stdout, 'personality 0\nunshare -1\n', stderr)
  })

  test(`${title}: a machine of a user with rights gives them to no program`, async () => {
    const inside = await machine((spawn) => (spec) => spawn(asItself(scene, spec)))
    const { stdout } = await ran(inside, shell('grep -E "^Cap" /proc/self/status'))
    assert.deepEqual(
      [...stdout.matchAll(/^(Cap\w+):\t(\w+)$/gm)].map(([, name, set]) => [name, set]),
      ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'].map((name) => [name, '0'.repeat(16)]),
    )
  })

  test(`${title}: a descriptor that the service has inherited is passed to no program`, async () => {
    const secret = join(scene.folder, 'inherited')
    writeFileSync(secret, 'planted in a descriptor\n', { mode: 0o644 })
    chmodSync(secret, 0o644)
    const inside = await machine(
      (spawn) => (spec) => spawn(isMachine(spec) ? inheriting(spec, secret) : spec),
    )
    const { stdout } = await ran(
      inside,
      shell(
        'ls -l /proc/[0-9]*/fd 2>&1; cat /proc/[0-9]*/fd/100 2>/dev/null; ls /proc/self/fd | tr "\\n" " "',
      ),
    )
    assert.doesNotMatch(stdout, /inherited|planted| 100 /)
    assert.match(stdout, /\n0 1 2 3 $/, 'its own three, and the one by which ls reads')
  })

  const swaps: readonly (readonly [what: string, swap: (hostPath: string, other: string) => void])[] = [
    ['a link', (hostPath, other) => symlinkSync(other, hostPath)],
    ['another folder', (hostPath, other) => renameSync(other, hostPath)],
  ]
  for (const [index, [what, swap]] of swaps.entries())
    test(`${title}: a volume that ${what} has replaced when it is bound is the folder that was opened`, async () => {
      const hostPath = join(scene.folder, `late-volume-${index}`)
      const other = join(scene.folder, `other-${index}`)
      for (const path of [hostPath, other]) {
        mkdirSync(path)
        chmodSync(path, 0o755)
        writeFileSync(join(path, 'file'), path)
      }
      let isSwapped = false
      const late =
        (spawn: Spawn): Spawn =>
        (spec) => {
          if (isMachine(spec) && !isSwapped) {
            isSwapped = true
            renameSync(hostPath, `${hostPath}-away`)
            swap(hostPath, other)
          }
          return spawn(spec)
        }
      const volumes = [{ hostPath, guestPath: '/data', isReadOnly: true }]
      const { stdout } = await ran(await machine(late, { volumes }), shell('cat /data/file'))
      assert.deepEqual([isSwapped, stdout], [true, hostPath])
    })

  test(`${title}: links that a program makes lead no client to the host, nor its file there`, async () => {
    const host = open(scene, 'linked')
    const where = await inSession()
    const line = `ln -s ${host}/secret link; ln -s ${host} folder; ln -s ${host} artifacts
        ln -s /proc/1/root${host} root; ln -s ../../../../../..${host} up`
    await ran(where.machine, shell(line))
    const paths = ['link', 'folder/secret', 'root/secret', 'up/secret', 'artifacts/secret', `${host}/secret`]
    for (const path of paths) await assert.rejects(readFile(where, path, 0, 100), /no such file/, path)
    for (const path of ['folder', 'root', 'up', 'artifacts', host])
      await assert.rejects(listFiles(where, path), /no such folder/, path)
    assert.deepEqual(await new Artifacts().newArtifacts(where), [])
    for (const path of ['link', 'folder/new', 'root/new', 'up/new'])
      await assert.rejects(writeFile(where, path, Buffer.from('x')), path)
    await writeFile(where, `${host}/secret`, Buffer.from('in a folder of the machine'))
    assertUntouched(host)
  })

  test(`${title}: links that a program makes while a client looks lead there neither`, async () => {
    const host = open(scene, 'swapped')
    const where = await inSession()
    const swaps = `while :; do mkdir -p artifacts; echo own > artifacts/secret; echo >> swaps; rm -rf artifacts
        ln -sn ${host} artifacts; rm -f artifacts; done`
    const swapping = where.machine.run(shell(swaps))
    await ran(where.machine, shell('until [ -s swaps ]; do sleep 0.01; done'))
    const read: string[] = []
    for (let i = 0; i < 25; i++) {
      await new Artifacts().newArtifacts(where)
      await listFiles(where, 'artifacts').catch(() => [])
      await writeFile(where, 'artifacts/new', Buffer.from('x')).catch(() => undefined)
      const part = await readFile(where, 'artifacts/secret', 0, 100).catch(() => undefined)
      if (part !== undefined) read.push(part.bytes.toString())
    }
    swapping.kill()
    await swapping.exited
    assert.deepEqual(
      read,
      read.filter((text) => text === 'own\n' || text === ''),
    )
    assertUntouched(host)
  })

  test(`${title}: the end of a call ends its programs that have left their parents and sessions, and no others`, async () => {
    const inside = await startedMachine(await scene.bubblewrap())
    const daemon = (name: string): Promise<GuestProcess> => left(inside, name)
    const [ended] = [await daemon('ended'), await daemon('other')]
    ended.kill()
    await ended.exited
    const beats = shell(
      'rm ended other; until [ -s other ] && [ "$(wc -l < other)" -ge 20 ]; do sleep 0.05; done; cat ended',
    )
    const { stdout, stderr } = await ran(inside, beats)
    assert.equal(stdout, '', stderr)
    assert.match(stderr, /ended: No such file/)
  })
}

/** A folder of the host with a file, both open to everybody who gets there. */
function open(scene: SandboxScene, name: string): string {
  const path = join(scene.folder, name)
  mkdirSync(path)
  writeFileSync(join(path, 'secret'), 'of the host\n')
  chmodSync(join(path, 'secret'), 0o666)
  chmodSync(path, 0o777)
  return path
}

function assertUntouched(host: string): void {
  assert.deepEqual(readdirSync(host), ['secret'])
  assert.equal(readFileSync(join(host, 'secret'), 'utf8'), 'of the host\n')
}

/** Starts a program whose grandchild leads a session, has lost its parent, and continues to write. */
async function left(inside: Machine, name: string): Promise<GuestProcess> {
  const beat = `while :; do echo >> ${name}; sleep 0.02; done`
  const program = inside.run(
    shell(`(setsid sh -c '${beat}' &); while [ ! -s ${name} ]; do sleep 0.01; done; echo ready; sleep 1000`),
  )
  await said(program, 'ready')
  return program
}

/** As the user of the service, who may be root, in a folder of the same. */
function asItself({ around }: SandboxScene, { identity, ...spec }: SpawnSpec): SpawnSpec {
  // Earlier sessions have left names and links of all kinds there.
  if (identity !== undefined) spawnSync('chown', ['-hR', `--from=${identity.uid}`, '0:0', around.stateFolder])
  // The pipes belong to the user that the session would have.
  return { ...spec, args: spec.command === 'mkfifo' ? spec.args.with(1, '666') : spec.args }
}

function isMachine({ args }: SpawnSpec): boolean {
  return args.includes('--args')
}

/** The filter that bwrap reads is another one. */
function unfiltered(child: Child): Child {
  const pipe = child.pipes?.[descriptors.seccomp - descriptors.args]
  if (pipe === undefined) return child
  const end = pipe.end.bind(pipe)
  pipe.end = () => end(allowAll)
  return child
}

/** Starts the command with an inheritable descriptor of this file. */
function inheriting(spec: SpawnSpec, path: string): SpawnSpec {
  const script =
    'import os, sys; os.dup2(os.open(sys.argv[1], os.O_RDONLY), 100, True); os.execv(sys.argv[2], sys.argv[2:])'
  return { ...spec, command: '/usr/bin/python3', args: ['-c', script, path, spec.command, ...spec.args] }
}

/** `personality` shows that the filter is gone. */
const userNamespace = `
import ctypes, platform
at = 0 if platform.machine() == 'x86_64' else 1
libc = ctypes.CDLL(None)
print('personality', libc.syscall(ctypes.c_long((135, 92)[at]), ctypes.c_long(0x0040000)))
print('unshare', libc.syscall(ctypes.c_long((272, 97)[at]), ctypes.c_long(0x10000000)))
`
