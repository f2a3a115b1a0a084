// bwrap: its place, its options for a machine and for other programs, and the data on its descriptors.
//
// The service writes the options to a descriptor, so that no list of processes shows them, on the host or inside.

import { Buffer } from 'node:buffer'
import { existsSync, lstatSync, readlinkSync } from 'node:fs'
import process from 'node:process'
import type { Duplex, Readable } from 'node:stream'
import { findProgram } from '../../../runtime/path-folders.js'
import { PIPES_PATH } from '../../agent-messages.js'
import { WORKSPACE, temporaryBytes } from '../host-runtime.js'
import { type MachineSpec, RuntimeUnusable } from '../../runtime.js'
import type { OpenVolume } from '../../volumes.js'
import { seccompFilter } from './seccomp.js'

export interface Bwrap {
  readonly bwrap: string
  readonly prlimit: string
  readonly filter: Buffer
}

/** Finds the programs in system folders and `programs`. @throws RuntimeUnusable */
export function findBwrap(programs: readonly string[] = []): Bwrap {
  if (process.platform !== 'linux')
    throw new RuntimeUnusable('it runs on Linux only', 'use the runtime container')
  const filter = seccompFilter()
  if (filter === undefined)
    throw new RuntimeUnusable(`there is no filter of system calls for ${process.arch}`, 'use x64 or arm64')
  const [bwrap, prlimit] = ['bwrap', 'prlimit'].map((name) => findProgram(name, programs))
  if (bwrap !== undefined && prlimit !== undefined) return { bwrap, prlimit, filter }
  const [missing, packages] =
    bwrap === undefined
      ? ['bwrap', 'apt-get install bubblewrap (dnf, apk: bubblewrap)']
      : ['prlimit', 'apt-get install util-linux (apk: util-linux-misc)']
  const remedy = `install it: ${packages}, or name its folder in "programs" of the key "sandbox"`
  throw new RuntimeUnusable(`${missing} is in no system folder`, remedy)
}

export const AGENT_PATH = '/.agent.mjs'

/** The path of the first process inside, which waits for the others. */
export const FIRST_PATH = '/.first'

/** The user inside, independent of the user on the host. */
const GUEST_ID = '1000'

/** The content of the descriptors of the child, from 3 on. */
export const descriptors = { args: 3, info: 4, seccomp: 5, agent: 6, first: 7, firstFile: 8 } as const

/** Files that the name service and the tools of the system need. */
export const guestFiles: readonly (readonly [path: string, content: string])[] = [
  [
    '/etc/passwd',
    `root:x:0:0:root:/root:/usr/sbin/nologin\nsandbox:x:${GUEST_ID}:${GUEST_ID}:sandbox:${WORKSPACE}:/bin/sh\n`,
  ],
  ['/etc/group', `root:x:0:\nsandbox:x:${GUEST_ID}:\n`],
  ['/etc/hosts', '127.0.0.1 localhost sandbox\n::1 localhost sandbox\n'],
  ['/etc/nsswitch.conf', 'passwd: files\ngroup: files\nhosts: files dns\n'],
]

/** Files that are the same on all machines of a kind and hold no secret: linker, alternatives, certificates, time zones. */
const systemPaths: readonly string[] = [
  ['ld.so.cache', 'ld.so.conf', 'ld.so.conf.d', 'alternatives'],
  ['ssl/certs', 'ssl/openssl.cnf', 'ca-certificates', 'pki/tls/certs', 'pki/ca-trust'],
  ['localtime', 'mime.types', 'protocols', 'services'],
].flatMap((names) => names.map((name) => `/etc/${name}`))

/** With the network of the host, programs resolve names as the host does. */
const systemResolverPaths: readonly string[] = ['/etc/resolv.conf', '/etc/host.conf']

/** Files that may hold secrets: the command line of the kernel, keys of the service's user, kernel tables. */
const HIDDEN_IN_PROC = ['cmdline', 'keys', 'key-users', 'kcore', 'timer_list', 'sched_debug', 'latency_stats']

export interface BwrapTerms {
  readonly sessionFolder: string
  readonly pipesFolder: string
  readonly memoryMiB: number
  readonly network: MachineSpec['network']
  readonly volumes: readonly OpenVolume[]
  /** Paths of the host that programs inside need at the same place. */
  readonly readOnlyPaths: readonly string[]
}

/** Encodes the options for a descriptor. @throws Error for an option with a NUL, which would begin another option */
export function optionBytes(options: readonly string[]): Buffer {
  if (options.some((option) => option.includes('\0'))) throw new Error('a path or a variable has a NUL')
  return Buffer.from(options.map((option) => `${option}\0`).join(''))
}

/** The namespaces and rights of a confined program. bwrap reads the filter of system calls from `filter`. */
export function confinement(isHostNetwork: boolean, filter: number): string[] {
  return [
    ['user', 'ipc', 'pid', 'uts', 'cgroup'].map((name) => `--unshare-${name}`),
    isHostNetwork ? [] : ['--unshare-net'],
    ['--disable-userns', '--die-with-parent', '--new-session', '--cap-drop', 'ALL'],
    ['--seccomp', String(filter)],
  ].flat()
}

/** The options for a machine. The command itself must be on the command line of bwrap. */
export function machineOptions(terms: BwrapTerms): string[] {
  const { sessionFolder, pipesFolder, memoryMiB, network, volumes, readOnlyPaths } = terms
  const isHostNetwork = network.kind === 'host'
  const bytes = String(temporaryBytes(memoryMiB) / 2)
  return [
    confinement(isHostNetwork, descriptors.seccomp),
    ['--as-pid-1', '--uid', GUEST_ID, '--gid', GUEST_ID, '--hostname', 'sandbox'],
    ['--info-fd', String(descriptors.info)],
    systemMounts(isHostNetwork),
    guestFiles.flatMap(([path], index) => ['--ro-bind-data', String(descriptors.firstFile + index), path]),
    readOnlyPaths.flatMap((path) => ['--ro-bind', path, path]),
    procMounts(),
    ['--dev', '/dev'],
    ['--perms', '1777', '--size', bytes, '--tmpfs', '/dev/shm'],
    ['--perms', '1777', '--size', bytes, '--tmpfs', '/tmp'],
    ['--bind', sessionFolder, WORKSPACE],
    ['--ro-bind', pipesFolder, PIPES_PATH],
    volumes.flatMap(({ guestPath, isReadOnly }, index) => [
      isReadOnly ? '--ro-bind-fd' : '--bind-fd',
      String(descriptors.firstFile + guestFiles.length + index),
      guestPath,
    ]),
    ['--ro-bind-data', String(descriptors.agent), AGENT_PATH],
    // The user cannot read this program, so the kernel does not let the user read or write the memory of its process.
    ['--perms', '0111', '--ro-bind-data', String(descriptors.first), FIRST_PATH],
    // Both are in memory without a size limit, so they must not be writable.
    ['--remount-ro', '/dev', '--remount-ro', '/'],
    ['--chdir', WORKSPACE],
  ].flat()
}

/** Mounts `/proc` without files that reveal facts of the host. Settings of the kernel are read-only, even for root. */
export function procMounts(): string[] {
  const hidden = HIDDEN_IN_PROC.map((name) => `/proc/${name}`).filter((path) => existsSync(path))
  return [
    '--proc',
    '/proc',
    '--ro-bind',
    '/proc/sys',
    '/proc/sys',
    ...hidden.flatMap((path) => ['--ro-bind', '/dev/null', path]),
  ]
}

/**
 * The programs and libraries of the host, read-only: `/usr`, the paths at the root that lead to it, and system files.
 */
export function systemMounts(isHostNetwork: boolean): string[] {
  const atRoot = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'].flatMap((path) => {
    const stats = lstatSync(path, { throwIfNoEntry: false })
    if (stats?.isSymbolicLink() === true) return ['--symlink', readlinkSync(path), path]
    return stats?.isDirectory() === true ? ['--ro-bind', path, path] : []
  })
  const files = systemFiles(isHostNetwork).flatMap((path) => ['--ro-bind-try', path, path])
  return ['--ro-bind', '/usr', '/usr', ...atRoot, ...files]
}

export function systemFiles(isHostNetwork: boolean): readonly string[] {
  return isHostNetwork ? [...systemPaths, ...systemResolverPaths] : systemPaths
}

/** Writes the data of a descriptor of bwrap. Reads the pipe to its end, so that it closes when bwrap closes its side. */
export function writeAndDrain(pipe: Duplex | undefined, content: string | Uint8Array): void {
  pipe
    ?.on('error', () => undefined)
    .resume()
    .end(content)
}

/** Resolves with the host's number of the first process inside, which bwrap writes to `--info-fd` when it exists. */
export function firstProcess(info: Readable | undefined): Promise<number> {
  return new Promise((resolve) => {
    let text = ''
    info?.on('error', () => undefined)
    info?.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1')
      const [, pid] = /"child-pid":\s*(\d+)/.exec(text) ?? []
      if (pid !== undefined) resolve(Number(pid))
    })
  })
}
