// `exec --policy POLICY -- COMMAND …`: one program, confined by bubblewrap, with the standard streams of this process.
//
// The proxy, which has the same version, writes the policy as JSON. A program that may reach some hosts gets a
// separate network without a route. `relay.ts` connects a port of that network to the proxy in this process,
// which passes TLS to the allowed hosts.

import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, existsSync, mkdirSync, mkdtempSync, readlinkSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import process from 'node:process'
import { Duplex } from 'node:stream'
import { programFolder } from '../folder.js'
import { realRuntime } from '../real-runtime.js'
import { Egress, PROXY_PORT, proxyVariables } from './egress/egress.js'
import { isProgram, pathFolders } from '../runtime/path-folders.js'
import { type Place, covers, placesOf, realPlace, shieldsOf } from '../runtime/places.js'
import { signalProcess } from '../runtime/process-table.js'
import { closeInheritedDescriptors, exitCodeOf, openUnlinked } from './processes.js'
import {
  type Bwrap,
  confinement,
  findBwrap,
  firstProcess,
  writeAndDrain,
  optionBytes,
  procMounts,
  systemFiles,
  systemMounts,
} from './runtimes/bubblewrap/bwrap.js'
import { errorText } from '../text/error-text.js'
import { type JsonObject, objectIn } from '../text/json-object.js'
import { confinedVariable } from '../upstream/contracts/sandbox-config.js'
import type { ProcessSandbox } from '../upstream/contracts/server-config.js'

type Variables = Readonly<Record<string, string | undefined>>

/** The paths and hosts that a confined program may reach. Paths are the same on the host and inside. */
interface ConfinePolicy extends ProcessSandbox {
  /** The preferred working folder. The program starts in its home if it may not read this folder. */
  readonly cwd: string
}

/** Descriptors of the child: the filter of system calls, the options of bwrap, the facts that bwrap reports, the mounts. */
const descriptors = { filter: 3, options: 4, info: 5, firstMount: 6 } as const

const SOCKET_INSIDE = '/run/mcps-proxy.sock'

const WRONG_USE = 2
const CANNOT_CONFINE = 126

/** Returns the exit code of the program, 2 for wrong arguments, or 126 if the program cannot be confined. */
export async function confine(args: readonly string[]): Promise<number> {
  const [option, written = '', dashes, ...command] = args
  const policy = objectIn(written)
  if (option !== '--policy' || dashes !== '--' || command.length === 0 || !isPolicy(policy)) {
    process.stderr.write('sandbox: usage: exec --policy POLICY -- COMMAND …\n')
    return WRONG_USE
  }
  try {
    return await run(policy, command)
  } catch (error) {
    process.stderr.write(`sandbox: ${errorText(error)}\n`)
    return CANNOT_CONFINE
  }
}

function isPolicy(value: JsonObject | undefined): value is JsonObject & ConfinePolicy {
  const keys = ['network', 'read', 'write', 'home', 'programs', 'untrusted', 'cwd']
  return value !== undefined && keys.every((key) => key in value)
}

async function run(policy: ConfinePolicy, command: readonly string[]): Promise<number> {
  const { read, write, home, network, programs } = policy
  const host = findBwrap(programs)
  const missing = [...read, ...write].find((each) => !existsSync(each))
  if (missing !== undefined)
    throw new Error(`${missing} is in the policy, and there is no such file or folder`)
  mkdirSync(home, { recursive: true, mode: 0o700 })
  const way = typeof network === 'string' ? undefined : await wayOut(network)
  try {
    const child = started(host, policy, command, way)
    passSignals(child)
    return await exitOf(child)
  } finally {
    way?.close()
  }
}

/** The programs of the host get no variables: `LD_PRELOAD` and others are for the confined program alone. */
function started(
  { bwrap, filter }: Bwrap,
  policy: ConfinePolicy,
  command: readonly string[],
  way: WayOut | undefined,
): ChildProcess {
  const { read, write, home, untrusted, network } = policy
  const env = ownVariables()
  const mounts = policyMounts({
    read,
    write: [home, ...write],
    untrusted,
    programs: [process.execPath, command[0] ?? ''],
    path: env['PATH'],
    system: systemFiles(network === 'host'),
  })
  const variables = Object.entries({ ...env, HOME: home, ...(way && proxyVariables()) })
  const options = optionBytes([
    ...optionsOf(policy, mounts, way?.mounts ?? []),
    ...variables.flatMap(([name, value]) => (value === undefined ? [] : ['--setenv', name, value])),
  ])
  const facts = ['--args', String(descriptors.options), '--info-fd', String(descriptors.info), '--']
  closeInheritedDescriptors()
  const open = mounts.mounts.map((mount) => openPath(mount.path))
  const child = spawn(bwrap, [...facts, ...(way?.relay ?? []), ...command], {
    stdio: ['inherit', 'inherit', 'inherit', 'pipe', 'pipe', 'pipe', ...open],
    env: {},
  })
  for (const descriptor of open) closeSync(descriptor)
  writeAndDrain(pipeOf(child, descriptors.filter), filter)
  writeAndDrain(pipeOf(child, descriptors.options), options)
  return child
}

function pipeOf(child: ChildProcess, descriptor: number): Duplex | undefined {
  const pipe = child.stdio[descriptor]
  return pipe instanceof Duplex ? pipe : undefined
}

/**
 * Passes signals to the group of the program, whose leader is the first process of its namespace. The kernel
 * withholds them from that process, and a signal to bwrap would end the whole namespace immediately.
 */
function passSignals(child: ChildProcess): void {
  let group: number | undefined
  void firstProcess(pipeOf(child, descriptors.info)).then((pid) => {
    group = pid
  })
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
    process.on(name, () => {
      if (group === undefined || !signalProcess(-group, name)) child.kill(name)
    })
}

function exitOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => resolve(exitCodeOf(code, signal)))
  })
}

/** The options of bwrap: the system read-only, folders in memory, the program itself, and the paths of the policy. */
function optionsOf(
  { network, cwd, home }: ConfinePolicy,
  { mounts, links }: PolicyMounts,
  more: readonly string[],
): string[] {
  const paths = mounts.map((mount) => mount.path)
  const start = realPlace(cwd)
  const isReachable = paths.some((path) => covers(path, start))
  // bwrap makes parent folders of mounts in memory, and files that the program writes there would be lost.
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
    ['--chdir', isReachable ? start : realPlace(home)],
  ].flat()
}

/** The folders below `/tmp` that contain mounts or links and are not mounted themselves. */
function parentsInMemory(mounted: readonly string[], links: PolicyMounts['links']): readonly string[] {
  const paths = [...mounted, ...links.map((link) => link.path)]
  const parents = paths.flatMap((path) => /^\/tmp\/[^/]+(?=\/)/.exec(path) ?? [])
  return [...new Set(parents)].filter((parent) => !paths.some((path) => covers(path, parent)))
}

/** The variables of this process, and the program's variables that this process must not use (`NODE_OPTIONS`). */
function ownVariables(): Variables {
  const { [confinedVariable]: text, ...own } = process.env
  const given = Object.entries(objectIn(text) ?? {}).map(([name, value]) => [name, String(value)])
  return { ...own, ...Object.fromEntries(given) }
}

interface WayOut {
  readonly mounts: readonly string[]
  /** The command that connects the program. It stands before the command of the program. */
  readonly relay: readonly string[]
  close(): void
}

/**
 * The relay connects at its start, and the mount keeps the socket after that. So the folder is removed early,
 * and no folder remains if this process is killed.
 */
async function wayOut(hosts: readonly string[]): Promise<WayOut> {
  const relay = join(programFolder, 'sandbox/guest/relay.js')
  const folder = mkdtempSync(join(tmpdir(), 'mcps-out-'))
  const socket = join(folder, 'socket')
  const remove = (): void => rmSync(folder, { recursive: true, force: true })
  const egress = new Egress(hosts, 'the program', realRuntime(), ({ message, details }) => {
    const detail = details?.['detail']
    process.stderr.write(`sandbox: ${message}${typeof detail === 'string' ? ` (${detail})` : ''}\n`)
  })
  const server = await egress.listen(socket)
  server.once('connection', remove)
  return {
    mounts: ['--ro-bind', socket, SOCKET_INSIDE, '--ro-bind', relay, relay],
    relay: [process.execPath, relay, String(PROXY_PORT), SOCKET_INSIDE],
    close: () => {
      egress.end()
      remove()
    },
  }
}

// The mounts of one confined program: the paths of its policy and the files of its program, without links.
//
// The program may have created links below its writable folders, so these are never followed: they are content of the
// folder. A link that another confined program may have made is refused. Other links on the way to a path are created
// again inside. Each path is opened once, and bwrap mounts the open file, so no program can replace it in the meantime.

const systemPaths = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/proc', '/dev']

/** The parts of an installation that its programs read. All else, for example in a home, stays hidden. */
const installationParts = ['bin', 'lib', 'lib64', 'include', 'pyvenv.cfg']

interface MountedPaths {
  readonly read: readonly string[]
  /** Includes the home. */
  readonly write: readonly string[]
  readonly untrusted: readonly string[]
  /** The programs that run inside: paths, or names in the PATH of the program. */
  readonly programs: readonly string[]
  readonly path: string | undefined
  /** Paths of the system that are always mounted. */
  readonly system: readonly string[]
}

interface PolicyMounts {
  /** Paths without links. Later ones are mounted over earlier ones. */
  readonly mounts: readonly { readonly path: string; readonly isWritable: boolean }[]
  readonly links: readonly { readonly path: string; readonly target: string }[]
}

/** @throws Error for a path behind a link that another program may have made */
function policyMounts({ read, write, untrusted, programs, path, system }: MountedPaths): PolicyMounts {
  const writable = ownFolders(write)
  const isInside = (places: readonly Place[]): boolean =>
    places.some((place) => writable.some((folder) => covers(folder, place.path)))
  const outside = (paths: readonly string[]): (readonly Place[])[] =>
    paths.map((each) => placesOf(each)).filter((places) => !isInside(places))
  const own = programs.flatMap((each) => programPaths(each, path, (found) => !isInside(placesOf(found))))
  const readable = outside([...own, ...read])
  const foreign = untrusted.map(realPlace)
  const wanted = [...readable, ...write.map((each) => placesOf(each))]
  for (const places of wanted) assertTrusted(places, foreign)
  const mounts = [
    ...distinct(readable.map(endOf)).map((each) => ({ path: each, isWritable: false })),
    ...writable.map((each) => ({ path: each, isWritable: true })),
    ...distinct(shieldsOf(read, writable)).map((each) => ({ path: each, isWritable: false })),
  ]
  const there = [...systemPaths, ...system, ...mounts.map((mount) => mount.path)]
  const links = wanted
    .flat()
    .filter((place) => place.linkOwner !== undefined && !there.some((each) => covers(each, place.path)))
  const linkPaths = distinct(links.map((link) => link.path))
  return { mounts, links: linkPaths.map((each) => ({ path: each, target: readlinkSync(each) })) }
}

/** The writable folders, without those inside another one, where the program could have created a link. */
function ownFolders(write: readonly string[]): string[] {
  const all = write.map((path) => placesOf(path))
  const ends = all.map(endOf)
  const free = all.filter(
    (places) =>
      !places.some((place) =>
        ends.some((end) => end !== endOf(places) && covers(end, place.path) && end !== place.path),
      ),
  )
  return distinct(free.map(endOf))
}

function assertTrusted(places: readonly Place[], untrusted: readonly string[]): void {
  const link = places.find(
    ({ path, linkOwner }) => linkOwner !== undefined && untrusted.some((folder) => covers(folder, path)),
  )
  if (link === undefined) return
  throw new Error(
    `${endOf(places)} is in the policy by the link ${link.path}, which another confined program may have made: name the folder itself`,
  )
}

function endOf(places: readonly Place[]): string {
  return places.at(-1)?.path ?? '/'
}

function distinct(paths: readonly string[]): string[] {
  return [...new Set(paths)]
}

/** The files of a program outside the system folders: those of its Node or virtual environment, else the file. */
function programPaths(
  command: string,
  path: string | undefined,
  isOutside: (path: string) => boolean,
): string[] {
  const candidates = isAbsolute(command)
    ? [command]
    : pathFolders(path).map((folder) => join(folder, command))
  const found = candidates.find((each) => isProgram(each))
  if (found === undefined || !isOutside(found)) return []
  // This check precedes the search for an installation, which would find the root for `/bin`.
  const own = [found, realpathSync(found)].filter(
    (each) => !systemPaths.some((folder) => covers(folder, each)),
  )
  return own.flatMap((each) => {
    const installation = dirname(dirname(each))
    const marks = ['lib/node_modules', 'pyvenv.cfg'].map((mark) => join(installation, mark))
    if (!marks.some((mark) => existsSync(mark))) return [each]
    return installationParts.map((part) => join(installation, part)).filter((part) => existsSync(part))
  })
}

/** Opens a path without links for a mount by bwrap. @throws Error if the path has become a link */
function openPath(path: string): number {
  const descriptor = openUnlinked(path)
  if (descriptor === undefined) throw new Error(`${path} has become a link while the program was started`)
  return descriptor
}
