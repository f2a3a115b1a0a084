// A server of the file that is started as a program: every key of it, and how it is read.

import process from 'node:process'
import type { ServerCommon, StdioServerConfig } from '../upstream/contracts/server-config.js'
import type { Expanded, Expansion } from './expand.js'
import { boolean, choice, integer, list, map, milliseconds, or, text, variableNames } from './kinds.js'
import { type PathBase, absolute, absoluteFile, fromHome } from './paths.js'
import { type ServerOrigin, processSandbox, processSandboxKind } from './process-sandbox.js'
import { secretsOfArguments, secretsOfEnv } from './secrets.js'
import { type ValuesOf, type Rules, type Section, field, optional } from './section.js'
import { readTextFile } from '../runtime/read-file.js'

export function readStdio(
  section: Section,
  common: Omit<ServerCommon, keyof Expanded>,
  expansion: Expansion,
  base: ServerOrigin,
): StdioServerConfig {
  section.check(stdioServerRules, stdioServerFields)
  const values = section.readAll(stdioServerFields)
  if (commandLine.test(values.command)) warnOfCommandLine(section, values.command)
  const command = expansion.text(values.command)
  const args = values.args.map((arg) => expansion.text(arg))
  const file = readVariables(section, expansion.text(values.envFile ?? ''), expansion, base)
  const env = new Map([...file.values, ...expansion.map(values.env)])
  const cwd = values.cwd === undefined ? base.folder : absolute(expansion.text(values.cwd), base)
  const sandbox = processSandbox(common.name, section, values.sandbox, expansion, base)
  const secrets = [...secretsOfEnv(env), ...secretsOfArguments(args)]
  const said = expansion.result(secrets, command === '' ? 'the command is empty' : undefined)
  return {
    kind: 'stdio',
    ...common,
    ...said,
    unavailable: said.unavailable ?? file.trouble ?? withoutWalls(sandbox),
    command: fromHome(command, base.home),
    args,
    env: Object.fromEntries(env),
    inheritEnv: values.inheritEnv,
    cwd,
    restart: values.restart,
    restartDelayMs: values.restartDelay,
    crashesMax: values.crashesMax,
    concurrency: values.concurrency,
    processes: values.processes,
    isolation: values.isolation,
    idleTimeoutMs: values.idleTimeout === 0 ? undefined : values.idleTimeout,
    stopTimeoutMs: values.stopTimeout,
    memoryLimitBytes: values.memoryLimitMB === undefined ? undefined : values.memoryLimitMB * 1024 ** 2,
    sandbox,
    onTimeout: values.onTimeout,
  }
}

/** The kernel of another system has no such walls. */
function withoutWalls(sandbox: StdioServerConfig['sandbox']): string | undefined {
  return sandbox === undefined || process.platform === 'linux'
    ? undefined
    : `its "sandbox" needs Linux with bubblewrap, and this is ${process.platform}; take it out to run the program without walls`
}

/** A name with arguments behind it; a path may have spaces in it. */
const commandLine = /^[^\s/\\]+\s+\S/

function warnOfCommandLine(section: Section, written: string): void {
  const [program = '', ...args] = written.trim().split(/\s+/)
  // The value of an option may be a secret.
  const isPlain = args.every((arg) => /^(?!--)[@\w./-]{1,60}$/.test(arg))
  const shown = isPlain ? args.map((arg) => `"${arg}"`).join(', ') : '…'
  section.warn(
    'command',
    `is looked for as one program with spaces in its name; write "command": "${program}", "args": [${shown}]`,
  )
}

/** `env` overrides the file. */
function readVariables(section: Section, path: string, expansion: Expansion, base: PathBase): EnvFile {
  const isKnown = path !== '' && expansion.missing === undefined && !expansion.isPartial
  return isKnown ? readEnvFile(absoluteFile(path, base), section) : { values: new Map() }
}

/** A file of variables is some lines; a log or an image given by mistake is larger. */
const bytesMax = 256 * 1024

/** The variables of a file. */
interface EnvFile {
  readonly values: ReadonlyMap<string, string>
  /** Why the server cannot have them. */
  readonly trouble?: string
}

/** Reads `envFile`, as VS Code and Cursor have it; a warning repeats neither a value nor what stands in place of a name, since both may be secret. */
function readEnvFile(path: string, server: Section): EnvFile {
  const file = readTextFile(path, bytesMax)
  if (file.kind !== 'read') return { values: new Map(), trouble: `envFile ${path}: ${file.why}` }
  // To import the module would make Node.js load what else it exports, at every start.
  const { parseEnv } = process.getBuiltinModule('node:util')
  const values = new Map<string, string>()
  for (const [name, value = ''] of Object.entries(parseEnv(file.text))) {
    if (isName.test(name) && !value.includes('\0')) values.set(name, value)
    else server.warn('envFile', 'has a line with "=" that is not like NAME=value and is ignored')
  }
  if (values.size === 0 && /^\s*[^#\s]/m.test(file.text))
    server.warn('envFile', 'has no line like NAME=value')
  return { values }
}

const isName = /^[A-Za-z_][\w.-]*$/

/** An hour is already longer than a person waits. */
const delayMax = 3_600_000

const secretText = text({ mayBeEmpty: true, secret: true, wanted: 'a string without NUL characters' })

const inheritedName = text({
  pattern: '^[^=*?\\s\\u0000]+$',
  wanted: 'the name of a variable; for all of them write "inheritEnv": true',
})

export const stdioServerRules: Rules = { required: ['command'] }

export const stdioServerFields = {
  command: field(
    text({ wanted: 'the program to start' }),
    '',
    'Program to start, found through PATH; never a shell. ${VAR} is expanded.',
  ),
  args: field(list(secretText), [], 'Arguments of the program. ${VAR} and ${VAR:-fallback} are expanded.'),
  env: field(
    map(variableNames, secretText),
    new Map(),
    'Environment variables for the program. ${VAR} is expanded.',
  ),
  envFile: optional(
    text(),
    'File with further variables for the program, NAME=value on each line; env stands above it. ${VAR} is expanded.',
  ),
  inheritEnv: field(
    or([true], list(inheritedName), 'a list of strings, or true'),
    [],
    'Names of environment variables that the program gets from the proxy; true passes on all but MCPS_PROXY_*.',
  ),
  cwd: optional(text(), 'Working folder. Absent: the folder of this file. ${VAR} is expanded.'),
  restart: field(boolean(), true, 'Whether a program that ended is started again.'),
  restartDelay: field(
    integer(0, delayMax),
    1000,
    'Milliseconds before the first restart; grows with every crash.',
  ),
  crashesMax: optional(
    integer(1, 1000),
    'Crashes within a minute after which the program is left alone for 30 seconds. Absent: 5.',
  ),
  concurrency: field(integer(1, 10_000), 64, 'Calls in flight at once; 1 is strictly one call at a time.'),
  processes: field(integer(1, 256), 1, 'Most processes that share the calls of clients that can share.'),
  isolation: field(
    choice('auto', 'shared', 'session'),
    'auto',
    'Who shares a process: auto gives clients that can be asked something one of their own.',
  ),
  idleTimeout: field(
    milliseconds(0),
    0,
    'Stop a process that had no call for this many milliseconds; 0 never does.',
  ),
  stopTimeout: field(
    integer(1, delayMax),
    5000,
    'Milliseconds that a program which is being stopped has between SIGTERM and SIGKILL.',
  ),
  memoryLimitMB: optional(
    integer(1, 16_777_216),
    'Most memory of one process of the server, with all that it starts, in MiB; above it they are ended.',
  ),
  sandbox: optional(
    processSandboxKind,
    'Runs the program behind walls (Linux, bubblewrap): it reads the system and what is named here, and nothing else.',
  ),
  onTimeout: field(
    choice('cancel', 'restart'),
    'cancel',
    'What happens to the program when a call times out, or the reading of its lists.',
  ),
}

export type StdioServerValues = ValuesOf<typeof stdioServerFields>
