// Starts a child. The call always returns a child.
//
// Node reports a failed spawn in three ways: it throws, it emits `error`, or it
// returns an object without streams (when no descriptors are left). Here every
// failure is a child that has ended already and has the reason.

import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { Duplex, Readable, Writable } from 'node:stream'
import { hasDescriptors } from './descriptors.js'
import type { Guardian } from './guardian.js'
import type { Child, ChildExit, SpawnSpec } from '../../runtime/runtime.js'
import { ProcessGroup, type ProcessTree } from './process-tree.js'
import { errorCode, errorText } from '../../text/error-text.js'
import type { StdioServerConfig } from '../contracts/server-config.js'

/** Whether each child leads a process group, which can be signalled as one. */
const hasGroups = process.platform !== 'win32'

/** Descriptors 0, 1 and 2. */
const STANDARD_STREAMS = 3

export function spawnChild(
  spec: SpawnSpec,
  guardian: Pick<Guardian, 'announce' | 'add' | 'withdraw' | 'remove'>,
  tree: ProcessTree,
): Child {
  if (hasGroups && !hasDescriptors()) return failed('EMFILE')
  try {
    const child = spawnProgram(spec.command, spec.args, {
      cwd: spec.cwd,
      env: { ...spec.env, ...guardian.announce() },
      stdio: [
        ...Array.from({ length: STANDARD_STREAMS + (spec.pipes ?? 0) }, () => 'pipe' as const),
        ...(spec.descriptors ?? []),
      ],
      ...spec.identity,
      detached: hasGroups,
      shell: false,
      windowsHide: true,
    })
    const { pid, stdin, stdout, stderr } = child
    if (pid === undefined) guardian.withdraw()
    else guardian.add(pid)
    const exited = exitOf(child)
    // Without free descriptors the streams are missing.
    if (!stdin || !stdout || !stderr) return { ...failed('EMFILE'), exited }
    const pipes = child.stdio.slice(STANDARD_STREAMS).filter((stream) => stream instanceof Duplex)
    const streams = { stdin, stdout, stderr, ...(pipes.length > 0 && { pipes }) }
    if (pid === undefined) return { ...failed(''), ...streams, exited }
    return { pid, ...streams, ...endings(child, pid, exited, spec, guardian, tree) }
  } catch (error) {
    guardian.withdraw()
    return failed(errorCode(error) ?? errorText(error))
  }
}

function endings(
  child: ChildProcess,
  pid: number,
  exited: Promise<ChildExit>,
  { passesSignals = false }: SpawnSpec,
  guardian: Pick<Guardian, 'remove'>,
  tree: ProcessTree,
): Omit<Child, 'pid' | 'stdin' | 'stdout' | 'stderr' | 'pipes'> {
  const group = new ProcessGroup(pid, tree)
  let ended = false
  void exited.then(() => {
    ended = true
    // Windows has no groups, and no record of the children of a process that has ended.
    if (hasGroups) group.signal('SIGKILL')
    guardian.remove(pid)
  })
  return {
    exited,
    signal: (name) => {
      if (ended) return false
      return passesSignals && name === 'SIGTERM' ? child.kill(name) : group.signal(name)
    },
    interrupt: () => void child.kill('SIGINT'),
    survey: () => group.survey(),
  }
}

function exitOf(child: ChildProcess): Promise<ChildExit> {
  return new Promise((resolve) => {
    // Several errors may occur, and an `error` without a listener would end the proxy.
    child.on('error', (error) =>
      resolve({ code: undefined, signal: undefined, spawnError: errorCode(error) ?? errorText(error) }),
    )
    child.once('exit', (code, signal) =>
      resolve({ code: code ?? undefined, signal: signal ?? undefined, spawnError: undefined }),
    )
  })
}

function failed(spawnError: string): Child {
  return {
    pid: undefined,
    stdin: new Writable({ write: (_chunk, _encoding, done) => done() }),
    stdout: Readable.from([]),
    stderr: Readable.from([]),
    exited: Promise.resolve({ code: undefined, signal: undefined, spawnError }),
    signal: () => false,
  }
}

// Windows itself starts only `.exe` and `.com`. `npx`, `uvx` and most programs of npm are `.cmd` files, which
// cross-spawn starts through `cmd.exe` with escaped arguments.

type Spawn = (command: string, args: readonly string[], options: SpawnOptions) => ChildProcess

/** Returns immediately; a failed start emits `error`. @throws the errors of `child_process.spawn` */
export function spawnProgram(
  command: string,
  args: readonly string[],
  options: SpawnOptions,
  platform: string = process.platform,
): ChildProcess {
  return platform === 'win32' ? crossSpawn()(command, args, options) : spawn(command, [...args], options)
}

const load: () => unknown = () => requireLate('cross-spawn')

function crossSpawn(): Spawn {
  const loaded = load()
  if (isSpawn(loaded)) return loaded
  throw new TypeError('the package cross-spawn gives no function')
}

/** `scripts/build.mjs` replaces the call of this function with the bundled package. */
function requireLate(path: string): unknown {
  // oxlint-disable-next-line no-restricted-globals -- this loads code, and nothing else.
  const { createRequire } = process.getBuiltinModule('node:module')
  const load: (path: string) => unknown = createRequire(import.meta.url)
  return load(path)
}

function isSpawn(value: unknown): value is Spawn {
  return typeof value === 'function'
}

// The environment of a child: an allow-list, and the variables that the configuration adds.

const posix = ['HOME', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'USER', 'LANG', 'TZ', 'TMPDIR']

const windows = [
  'APPDATA',
  'HOMEDRIVE',
  'HOMEPATH',
  'LOCALAPPDATA',
  'PATH',
  'PATHEXT',
  'PROCESSOR_ARCHITECTURE',
  'PROGRAMFILES',
  'SYSTEMDRIVE',
  'SYSTEMROOT',
  'TEMP',
  'TMP',
  'USERNAME',
  'USERPROFILE',
]

/** A server behind a company's proxy or certificate authority reaches nothing without these variables. */
const network = ['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR']
const networkOfEitherCase = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY']

/** A user name or password before the host of an address. */
const login = /^(?:[a-z][a-z0-9+.-]*:)?(?:\/\/)?[^/?#]*@/i

type Variables = Readonly<Record<string, string | undefined>>

function childEnvironment(
  own: Variables,
  inherit: true | readonly string[],
  configured: Readonly<Record<string, string>>,
): Record<string, string> {
  const environment: Record<string, string> = {}
  for (const name of inherit === true ? everyName(own) : [...namesFor(own), ...inherit]) {
    const value = own[name]
    // An exported shell function does not survive as a plain variable.
    if (value !== undefined && !value.startsWith('()')) environment[name] = value
  }
  return Object.assign(environment, configured)
}

function everyName(own: Variables): string[] {
  return Object.keys(own).filter((name) => !name.toUpperCase().startsWith('MCPS_PROXY_'))
}

/** The allow-list, without addresses that contain a login. A configuration can name such variables. */
function namesFor(own: Variables): string[] {
  const proxies = networkOfEitherCase.flatMap((name) => [name, name.toLowerCase()])
  const folders = Object.keys(own).filter((name) => name.startsWith('XDG_'))
  const told = [...network, ...proxies, ...folders].filter((name) => !login.test(own[name] ?? ''))
  return [...(process.platform === 'win32' ? windows : posix), ...told]
}

export function spawnSpec(
  config: StdioServerConfig,
  own: Readonly<Record<string, string | undefined>>,
): SpawnSpec {
  const { command, args, cwd, inheritEnv, env, sandbox } = config
  // The program that confines a server passes SIGTERM on to it, and would end immediately if it got a second one.
  const passesSignals = sandbox !== undefined
  return { command, args, cwd, env: childEnvironment(own, inheritEnv, env), passesSignals }
}
