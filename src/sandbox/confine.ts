// `exec --policy POLICY -- COMMAND …`: one program, confined by bubblewrap, with the standard streams of this process.
//
// The policy is JSON, or the number of a descriptor from which it is read, so that no list of processes shows it. A program that
// may reach some hosts gets a separate network without a way out. `relay.ts` connects a port of that network to the proxy in this
// process, which passes TLS to the hosts of the policy.

import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import process from 'node:process'
import { Duplex } from 'node:stream'
import { programFolder } from '../folder.js'
import { realRuntime } from '../real-runtime.js'
import { Egress, PROXY_PORT, proxyVariables } from './egress/egress.js'
import { exitCodeOf } from './exit-code.js'
import { type PolicyMounts, openPath, policyMounts } from './policy-mounts.js'
import { covers, realPlace } from '../runtime/places.js'
import { closeInheritedDescriptors } from './inherited-descriptors.js'
import {
  type Bwrap,
  confinement,
  findBwrap,
  firstProcess,
  give,
  optionBytes,
  procMounts,
  systemFiles,
  systemMounts,
} from './runtimes/bubblewrap/bwrap.js'
import { errorText } from '../text/error-text.js'
import { isObject } from '../text/json-object.js'
import { parse, write } from '../jsonrpc/text.js'
import { allowedHostPattern, confinedVariable } from '../upstream/contracts/sandbox-config.js'

type Variables = Readonly<Record<string, string | undefined>>

/** The paths and hosts that a confined program may reach; all paths are of the host, and the same inside. */
export interface ConfinePolicy {
  /** Files and folders that the program may read. */
  readonly read?: readonly string[]
  /** Folders that the program may read and write. */
  readonly write?: readonly string[]
  /** The default is `none`; a list has the hosts that the program reaches by HTTPS, in the syntax of `AllowedHosts`. */
  readonly network?: 'none' | 'host' | readonly string[]
  /** A folder that the program may write, and its `HOME`; it is created when it is missing. */
  readonly home?: string
  /** Folders that other confined programs may write; a path behind a link there is refused. */
  readonly untrusted?: readonly string[]
  /** Folders of programs, in addition to those of the system. */
  readonly programs?: readonly string[]
  /** The preferred working folder; the program starts in its home when it may not read this folder. */
  readonly cwd?: string
  /** The variables of the program; the default is those of this process. */
  readonly env?: Variables
  /** The memory limit of each process. */
  readonly memoryMiB?: number
}

/** Descriptors of the child: the filter of system calls, which is that of machines, the options of bwrap, its facts, and the mounts. */
const descriptors = { filter: 3, options: 4, info: 5, firstMount: 6 } as const

/** The socket of the proxy, as the program sees it. */
const SOCKET_INSIDE = '/run/mcps-proxy.sock'

const cannotConfine = 126

/** The type of each key of a policy. */
const policyKeys = new Map<string, readonly [(value: unknown) => boolean, string]>([
  ['read', [arePaths, 'a list of absolute paths']],
  ['write', [arePaths, 'a list of absolute paths']],
  ['untrusted', [arePaths, 'a list of absolute paths']],
  ['programs', [arePaths, 'a list of absolute paths']],
  [
    'network',
    [
      isNetwork,
      '"none", "host" or a list of hosts like "example.com", "*.example.org" or "api.example.com:8443"',
    ],
  ],
  ['home', [isPath, 'an absolute path']],
  ['cwd', [isPath, 'an absolute path']],
  ['env', [isVariables, 'an object of names and texts']],
  ['memoryMiB', [(value) => Number.isInteger(value) && Number(value) > 0, 'a whole number above 0']],
])

/** Returns the exit code of the program, 2 for wrong arguments, or 126 when the program cannot be confined. */
export async function confine(args: readonly string[]): Promise<number> {
  const [option, written = '', dashes, ...command] = args
  if (option !== '--policy' || dashes !== '--' || command.length === 0)
    return refuse(2, 'usage: exec --policy POLICY -- COMMAND …')
  const given = readPolicy(written)
  if (typeof given === 'string') return refuse(2, given)
  const policy = { ...given, env: given.env ?? ownVariables() }
  const host = findBwrap(policy.programs)
  if ('why' in host) return refuse(cannotConfine, `${host.why}: ${host.remedy}`)
  const missing = [...(policy.read ?? []), ...(policy.write ?? [])].find((path) => !existsSync(path))
  if (missing !== undefined)
    return refuse(cannotConfine, `${missing} is in the policy, and there is no such file or folder`)
  if (policy.home !== undefined) mkdirSync(policy.home, { recursive: true, mode: 0o700 })
  const { network = 'none' } = policy
  const way = typeof network === 'string' ? undefined : new WayOut(network)
  try {
    await way?.open()
    return await run(host, policy, command, way)
  } catch (error) {
    return refuse(cannotConfine, errorText(error))
  } finally {
    way?.close()
  }
}

function writableOf({ write = [], home }: ConfinePolicy): readonly string[] {
  return home === undefined ? write : [home, ...write]
}

/** The programs of the host get no variables: `LD_PRELOAD` and the like are for the confined program alone. */
async function run(
  { bwrap, prlimit, filter }: Bwrap,
  policy: ConfinePolicy,
  command: readonly string[],
  way: WayOut | undefined,
): Promise<number> {
  const memory =
    policy.memoryMiB === undefined ? [] : [prlimit, `--data=${policy.memoryMiB * 1024 * 1024}`, '--']
  const mounts = policyMounts({
    read: policy.read ?? [],
    write: writableOf(policy),
    untrusted: policy.untrusted ?? [],
    programs: [process.execPath, command[0] ?? ''],
    path: policy.env?.['PATH'],
    system: systemFiles(policy.network === 'host'),
  })
  const options = optionBytes([...optionsOf(policy, mounts, way?.mounts ?? []), ...variables(policy, way)])
  const relay = way === undefined ? [] : [process.execPath, way.program, String(PROXY_PORT), SOCKET_INSIDE]
  const [program = bwrap, ...rest] = [
    ...memory,
    bwrap,
    '--args',
    String(descriptors.options),
    '--info-fd',
    String(descriptors.info),
    '--',
    ...relay,
    ...command,
  ]
  closeInheritedDescriptors()
  const open = mounts.mounts.map(({ path }) => openPath(path))
  const child = spawn(program, rest, {
    stdio: ['inherit', 'inherit', 'inherit', 'pipe', 'pipe', 'pipe', ...open],
    env: {},
  })
  for (const descriptor of open) closeSync(descriptor)
  give(pipeOf(child, descriptors.filter), filter)
  give(pipeOf(child, descriptors.options), options)
  passSignals(child)
  return exitOf(child)
}

function pipeOf(child: ChildProcess, descriptor: number): Duplex | undefined {
  const pipe = child.stdio[descriptor]
  return pipe instanceof Duplex ? pipe : undefined
}

/**
 * Passes signals to the group of the program, whose leader is the first process of its namespace. The kernel keeps them from that
 * process, and bwrap would end the whole namespace immediately.
 */
function passSignals(child: ChildProcess): void {
  let group: number | undefined
  void firstProcess(pipeOf(child, descriptors.info)).then((pid) => {
    group = pid
  })
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
    process.on(name, () => {
      if (group === undefined || !signalGroup(group, name)) child.kill(name)
    })
}

/** Returns false when there is no such group, or none yet. */
function signalGroup(group: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(-group, name)
  } catch {
    return false
  }
}

function readPolicy(written: string): ConfinePolicy | string {
  try {
    const text = /^\d+$/.test(written) ? readFileSync(Number(written), 'utf8') : written
    const value = parse(text)
    return isPolicy(value) ? value : mistakeIn(value)
  } catch (error) {
    return `the policy cannot be read: ${errorText(error)}`
  }
}

function isPolicy(value: unknown): value is ConfinePolicy {
  return mistakeIn(value) === ''
}

/** Empty for a policy without one. */
function mistakeIn(value: unknown): string {
  if (!isObject(value)) return 'the policy must be an object'
  for (const [key, member] of Object.entries(value)) {
    const [isRight, wanted] = policyKeys.get(key) ?? []
    if (isRight === undefined)
      return `${write(key)} is no key of a policy, whose keys are ${[...policyKeys.keys()].join(', ')}`
    if (!isRight(member)) return `${write(key)} of the policy must be ${wanted}`
  }
  return ''
}

function isVariables(value: unknown): value is Variables {
  return (
    isObject(value) &&
    isListOfTexts(Object.values(value)) &&
    Object.keys(value).every((name) => name !== '' && !name.includes('='))
  )
}

function isNetwork(value: unknown): boolean {
  return value === 'none' || value === 'host' || (Array.isArray(value) && value.every(isHost))
}

const allowedHost = new RegExp(allowedHostPattern, 'u')

function isHost(value: unknown): boolean {
  return typeof value === 'string' && allowedHost.test(value)
}

function isListOfTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((each) => typeof each === 'string')
}

function arePaths(value: unknown): boolean {
  return Array.isArray(value) && value.every(isPath)
}

function isPath(value: unknown): boolean {
  return typeof value === 'string' && isAbsolute(value)
}

/** The options of bwrap: the system read-only, folders in memory, the program itself, and the paths of the policy. */
function optionsOf(
  policy: ConfinePolicy,
  { mounts, links }: PolicyMounts,
  more: readonly string[],
): string[] {
  const { network = 'none', cwd } = policy
  const paths = mounts.map((mount) => mount.path)
  const start = cwd === undefined ? undefined : realPlace(cwd)
  const isReachable = start !== undefined && paths.some((path) => covers(path, start))
  const [first] = mounts.filter((mount) => mount.isWritable)
  // bwrap makes parent folders of mounts in memory, where what the program writes would be lost.
  const parents = parentsInMemory(paths, links)
  const root = paths.includes('/') ? [] : ['/']
  return [
    confinement(network === 'host', descriptors.filter),
    systemMounts(network === 'host'),
    procMounts(),
    ['--dev', '/dev', '--tmpfs', '/tmp'],
    parents.flatMap((path) => ['--tmpfs', path]),
    mounts.flatMap(({ path, isWritable }, index) => [
      isWritable ? '--bind-fd' : '--ro-bind-fd',
      String(descriptors.firstMount + index),
      path,
    ]),
    links.flatMap(({ path, target }) => ['--symlink', target, path]),
    more,
    [...parents, ...root].flatMap((path) => ['--remount-ro', path]),
    ['--chdir', isReachable ? start : (first?.path ?? '/tmp')],
  ].flat()
}

/** The folders below `/tmp` that hold mounts or links and are none themselves. */
function parentsInMemory(mounted: readonly string[], links: PolicyMounts['links']): readonly string[] {
  const paths = [...mounted, ...links.map((link) => link.path)]
  const parents = paths.flatMap((path) => /^\/tmp\/[^/]+(?=\/)/.exec(path) ?? [])
  return [...new Set(parents)].filter((parent) => !paths.some((path) => covers(path, parent)))
}

function variables({ env, home }: ConfinePolicy, way: WayOut | undefined): string[] {
  const set = {
    ...env,
    ...(home !== undefined && { HOME: home }),
    ...(way !== undefined && proxyVariables()),
  }
  return Object.entries(set).flatMap(([name, value]) => ['--setenv', name, value])
}

/** The variables of this process, and those of the program that must not reach this process (`NODE_OPTIONS`). */
function ownVariables(): Variables {
  const { [confinedVariable]: given = '{}', ...own } = process.env
  const value = parse(given)
  return { ...own, ...(isVariables(value) && value) }
}

/** The socket on the host to which a program with allowed hosts connects, and the proxy behind it. */
class WayOut {
  readonly program = join(programFolder, 'sandbox/guest/relay.js')
  readonly #folder = mkdtempSync(join(tmpdir(), 'mcps-out-'))
  readonly #egress: Egress

  constructor(hosts: readonly string[]) {
    this.#egress = new Egress(hosts, 'the program', realRuntime(), ({ message, details }) => {
      const detail = details?.['detail']
      process.stderr.write(`sandbox: ${message}${typeof detail === 'string' ? ` (${detail})` : ''}\n`)
    })
  }

  /**
   * Listens. The relay connects when it begins, and the mount keeps the socket from then on. So the folder is removed early,
   * and a kill of this process leaves none.
   */
  async open(): Promise<void> {
    const server = await this.#egress.listen(this.#socket)
    server.once('connection', () => this.#remove())
  }

  get mounts(): string[] {
    return ['--ro-bind', this.#socket, SOCKET_INSIDE, '--ro-bind', this.program, this.program]
  }

  close(): void {
    this.#egress.end()
    this.#remove()
  }

  get #socket(): string {
    return join(this.#folder, 'socket')
  }

  #remove(): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

function exitOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(refuse(cannotConfine, error.message)))
    child.once('exit', (code, signal) => resolve(exitCodeOf(code, signal)))
  })
}

function refuse(code: number, why: string): number {
  process.stderr.write(`sandbox: ${why}\n`)
  return code
}
