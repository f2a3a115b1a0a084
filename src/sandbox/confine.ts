// `exec --policy FD -- COMMAND …`: one program, confined by bubblewrap, with the standard streams of this process.
//
// The policy is JSON that is read from a descriptor, so that no list of processes shows it.

import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { constants } from 'node:os'
import process from 'node:process'
import { Duplex } from 'node:stream'
import { SIGNALLED, findProgram } from './host-program.js'
import { procMounts, systemMounts } from './runtimes/bubblewrap/arguments.js'
import { processors, seccompFilter } from './runtimes/bubblewrap/seccomp.js'

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

/** Of the child, on which bwrap reads the filter of system calls, which is that of machines. */
const FILTER_DESCRIPTOR = 3

/** The exit code of the program, or 2 for wrong arguments, or 126 where it cannot be confined. */
export async function confine(args: readonly string[]): Promise<number> {
  const [option, descriptor = '', dashes, ...command] = args
  if (option !== '--policy' || !/^\d+$/.test(descriptor) || dashes !== '--' || command.length === 0)
    return refuse(2, 'usage: exec --policy FD -- COMMAND …')
  const policy = readPolicy(Number(descriptor))
  if (typeof policy === 'string') return refuse(2, policy)
  const bwrap = findProgram('bwrap', process.env)
  if (bwrap === undefined) return refuse(126, 'bwrap is not installed: apt-get install bubblewrap')
  const calls = processors[process.arch]
  if (calls === undefined) return refuse(126, `there is no filter of system calls for ${process.arch}`)
  const memory =
    policy.memoryMiB === undefined ? [] : ['prlimit', `--data=${policy.memoryMiB * 1024 * 1024}`, '--']
  const [program = bwrap, ...rest] = [...memory, bwrap, ...confinement(policy), '--', ...command]
  const child = spawn(program, rest, {
    stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
    env: policy.env ?? process.env,
  })
  const pipe = child.stdio[FILTER_DESCRIPTOR]
  if (pipe instanceof Duplex) pipe.on('error', () => undefined).end(seccompFilter(calls))
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
  return [
    ['--unshare-user', '--unshare-ipc', '--unshare-pid', '--unshare-uts', '--unshare-cgroup'],
    network === 'host' ? [] : ['--unshare-net'],
    ['--disable-userns', '--die-with-parent', '--new-session', '--cap-drop', 'ALL'],
    ['--seccomp', String(FILTER_DESCRIPTOR)],
    systemMounts(network === 'host'),
    procMounts(),
    ['--dev', '/dev', '--tmpfs', '/tmp'],
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
