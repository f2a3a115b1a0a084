// `exec --policy FD -- COMMAND …`: one program, confined by bubblewrap, with the standard streams of this process.
//
// The policy is JSON that is read from a descriptor, so that no list of processes shows it.

import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { constants } from 'node:os'
import process from 'node:process'
import { findProgram } from './host-program.js'
import { rootEntries } from './runtimes/bubblewrap/guest-interpreter.js'
import { systemPaths, systemResolverPaths } from './runtimes/bubblewrap/arguments.js'

/** What a confined program may reach; all paths are of the host, and the same inside. */
export interface ConfinePolicy {
  /** Files and folders that it may read. */
  readonly read?: readonly string[]
  /** Folders that it may read and write. */
  readonly write?: readonly string[]
  /** `none` unless it is `host`. */
  readonly network?: 'none' | 'host'
  /** Its variables; those of this process unless given. */
  readonly env?: Readonly<Record<string, string>>
  /** Of each of its processes. */
  readonly memoryMiB?: number
}

/** What a shell adds to the number of the signal that has ended a program. */
const SIGNALLED = 128

/** The exit code of the program, or 2 for wrong arguments, or 126 where it cannot be confined. */
export async function confine(args: readonly string[]): Promise<number> {
  const [option, descriptor = '', dashes, ...command] = args
  if (option !== '--policy' || !/^\d+$/.test(descriptor) || dashes !== '--' || command.length === 0)
    return refuse(2, 'usage: exec --policy FD -- COMMAND …')
  const policy = readPolicy(Number(descriptor))
  if (typeof policy === 'string') return refuse(2, policy)
  const bwrap = findProgram('bwrap', process.env)
  if (bwrap === undefined) return refuse(126, 'bwrap is not installed: apt-get install bubblewrap')
  const memory =
    policy.memoryMiB === undefined ? [] : ['prlimit', `--data=${policy.memoryMiB * 1024 * 1024}`, '--']
  const [program = bwrap, ...rest] = [...memory, bwrap, ...confinement(policy), '--', ...command]
  const child = spawn(program, rest, { stdio: 'inherit', env: policy.env ?? process.env })
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(name, () => child.kill(name))
  return exitOf(child)
}

function readPolicy(descriptor: number): ConfinePolicy | string {
  try {
    const value: unknown = JSON.parse(readFileSync(descriptor, 'utf8'))
    return isPolicy(value)
      ? value
      : 'the policy must have lists of absolute paths "read" and "write", and "network" none or host'
  } catch (error) {
    return `the policy cannot be read: ${error instanceof Error ? error.message : String(error)}`
  }
}

function isPolicy(value: unknown): value is ConfinePolicy {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const { read, write, network, env, memoryMiB, ...others }: Record<string, unknown> = { ...value }
  return (
    [read, write].every((paths) => paths === undefined || arePaths(paths)) &&
    [undefined, 'none', 'host'].some((each) => each === network) &&
    (env === undefined || (typeof env === 'object' && env !== null)) &&
    (memoryMiB === undefined || (Number.isInteger(memoryMiB) && Number(memoryMiB) > 0)) &&
    Object.keys(others).length === 0
  )
}

function arePaths(value: unknown): boolean {
  return Array.isArray(value) && value.every((path) => typeof path === 'string' && path.startsWith('/'))
}

/** The options of bwrap: the system to read, folders in memory, and what the policy names. */
function confinement({ read = [], write = [], network = 'none' }: ConfinePolicy): string[] {
  const paths = network === 'host' ? [...systemPaths, ...systemResolverPaths] : systemPaths
  return [
    ['--unshare-user', '--unshare-ipc', '--unshare-pid', '--unshare-uts', '--unshare-cgroup'],
    network === 'host' ? [] : ['--unshare-net'],
    ['--disable-userns', '--die-with-parent', '--new-session', '--cap-drop', 'ALL'],
    ['--ro-bind', '/usr', '/usr'],
    rootEntries().flatMap((entry) =>
      entry.kind === 'link' ? ['--symlink', entry.target, entry.path] : ['--ro-bind', entry.path, entry.path],
    ),
    paths.flatMap((path) => ['--ro-bind-try', path, path]),
    ['--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp'],
    read.flatMap((path) => ['--ro-bind', path, path]),
    write.flatMap((path) => ['--bind', path, path]),
    ['--chdir', write[0] ?? '/tmp'],
  ].flat()
}

function exitOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(refuse(126, error.message)))
    child.once('exit', (code, signal) =>
      resolve(code ?? SIGNALLED + (signal === null ? 0 : constants.signals[signal])),
    )
  })
}

function refuse(code: number, why: string): number {
  process.stderr.write(`sandbox: ${why}\n`)
  return code
}
