// A server of the file that is started as a program.

import process from 'node:process'
import type { RestartLimits, ServerCommon, StdioServerConfig } from '../upstream/contracts/server-config.js'
import type { Expanded, Expansion } from './expand.js'
import { type PathBase, absolute, fromHome } from './paths.js'
import { type ProcessSandboxValue, processSandbox } from './process-sandbox.js'
import { secretsOfEnv } from './secrets.js'
import type { Section } from './section.js'
import { readTextFile } from './text-file.js'
import { type StdioServerValues, stdioServerFields, stdioServerRules } from './stdio-fields.js'

export function readStdio(
  section: Section,
  common: Omit<ServerCommon, keyof Expanded>,
  expansion: Expansion,
  context: PathBase & { readonly sandbox: ProcessSandboxValue | undefined },
): StdioServerConfig {
  const base: PathBase = context
  section.check(stdioServerRules, stdioServerFields)
  const values = section.readAll(stdioServerFields)
  if (commandLine.test(values.command)) warnOfCommandLine(section, values.command)
  const command = expansion.text(values.command)
  const args = values.args.map((arg) => expansion.text(arg))
  const file = readVariables(section, expansion.text(values.envFile ?? ''), expansion, base)
  const env = new Map([...file.values, ...expansion.map(values.env)])
  const cwd = values.cwd === undefined ? base.folder : absolute(expansion.text(values.cwd), base)
  const sandbox = processSandbox(common.name, section, values, context.sandbox, expansion, base)
  const said = expansion.result(secretsOfEnv(env), command === '' ? 'the command is empty' : undefined)
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
    restartLimits: restartLimits(values),
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
  return isKnown ? readEnvFile(absolute(path, base), section) : { values: new Map() }
}

/** Only the keys of the file; the limits of the proxy are the defaults. */
function restartLimits({
  restartDelayMax: delayMsMax,
  crashesMax,
  crashWindow: windowMs,
  crashHold: holdMs,
}: StdioServerValues): RestartLimits {
  return {
    ...(delayMsMax !== undefined && { delayMsMax }),
    ...(crashesMax !== undefined && { crashesMax }),
    ...(windowMs !== undefined && { windowMs, healthyMs: windowMs }),
    ...(holdMs !== undefined && { holdMs }),
  }
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
