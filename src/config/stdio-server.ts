// A server of the file that is started as a program.

import type { RestartLimits, ServerCommon, StdioServerConfig } from '../upstream/contracts/server-config.js'
import { readEnvFile } from './env-file.js'
import type { Expansion } from './expand.js'
import { expandMap, expanded, requireKey } from './expanded.js'
import { absolute, fromHome } from './paths.js'
import { secretsOfEnv } from './secrets.js'
import type { Section } from './section.js'
import { stdioServerFields } from './stdio-fields.js'

export interface StdioContext {
  readonly home: string
  /** Where relative paths begin. */
  readonly folder: string
}

export function readStdio(
  section: Section,
  common: ServerCommon,
  expansion: Expansion,
  context: StdioContext,
): StdioServerConfig {
  requireKey(section, 'command', 'the program to start')
  const command = readCommand(section, expansion)
  const args = section.read(stdioServerFields, 'args').map((arg) => expansion.text(arg))
  const file = readVariables(section, expansion, context)
  const env = new Map([...file.values, ...expandMap(section.read(stdioServerFields, 'env'), expansion)])
  const cwd = section.read(stdioServerFields, 'cwd')
  const idleTimeout = section.read(stdioServerFields, 'idleTimeout')
  const memoryLimit = section.read(stdioServerFields, 'memoryLimitMB')
  const said = expanded(expansion, secretsOfEnv(env), command === '' ? 'the command is empty' : undefined)
  return {
    kind: 'stdio',
    ...common,
    ...said,
    unavailable: said.unavailable ?? file.trouble,
    command: fromHome(command, context.home),
    args,
    env: Object.fromEntries(env),
    inheritEnv: section.read(stdioServerFields, 'inheritEnv'),
    cwd: cwd === undefined ? context.folder : absolute(expansion.text(cwd), context.folder, context.home),
    restart: section.read(stdioServerFields, 'restart'),
    restartDelayMs: section.read(stdioServerFields, 'restartDelay'),
    restartLimits: readRestartLimits(section),
    concurrency: section.read(stdioServerFields, 'concurrency'),
    processes: section.read(stdioServerFields, 'processes'),
    isolation: section.read(stdioServerFields, 'isolation'),
    idleTimeoutMs: idleTimeout === 0 ? undefined : idleTimeout,
    memoryLimitBytes: memoryLimit === undefined ? undefined : memoryLimit * 1024 ** 2,
    onTimeout: section.read(stdioServerFields, 'onTimeout'),
  }
}

/** A name with arguments behind it; a path may have spaces in it. */
const commandLine = /^[^\s/\\]+\s+\S/

function readCommand(section: Section, expansion: Expansion): string {
  const written = section.read(stdioServerFields, 'command')
  if (commandLine.test(written)) {
    const [program = '', ...args] = written.trim().split(/\s+/)
    // What stands behind an option may be a secret.
    const isPlain = args.every((arg) => /^(?!--)[@\w./-]{1,60}$/.test(arg))
    const shown = isPlain ? args.map((arg) => `"${arg}"`).join(', ') : '…'
    section.findings.warn(
      section.pathOf('command'),
      `is looked for as one program with spaces in its name; write "command": "${program}", "args": [${shown}]`,
    )
  }
  return expansion.text(written)
}

interface Variables {
  readonly values: ReadonlyMap<string, string>
  /** Why the server cannot have its variables. */
  readonly trouble: string | undefined
}

/** What `env` says stands above the file. */
function readVariables(section: Section, expansion: Expansion, { folder, home }: StdioContext): Variables {
  const written = section.read(stdioServerFields, 'envFile')
  const path = written === undefined ? '' : expansion.text(written)
  if (path === '' || expansion.unset.size > 0) return { values: new Map(), trouble: undefined }
  const whole = absolute(path, folder, home)
  const file = readEnvFile(whole)
  if (file.kind === 'unreadable') return { values: new Map(), trouble: `envFile ${whole}: ${file.why}` }
  const [odd] = file.oddLines
  if (odd !== undefined) {
    const more = file.oddLines.length === 1 ? '' : `, and ${file.oddLines.length - 1} more`
    const message = `has line ${odd} which is not like NAME=value and is ignored${more}`
    section.findings.warn(section.pathOf('envFile'), message)
  }
  return { values: file.values, trouble: undefined }
}

/** Only what the file says; the rest is as the limits of the proxy are. */
function readRestartLimits(section: Section): RestartLimits {
  const delayMsMax = section.read(stdioServerFields, 'restartDelayMax')
  const crashesMax = section.read(stdioServerFields, 'crashesMax')
  const windowMs = section.read(stdioServerFields, 'crashWindow')
  const holdMs = section.read(stdioServerFields, 'crashHold')
  return {
    ...(delayMsMax !== undefined && { delayMsMax }),
    ...(crashesMax !== undefined && { crashesMax }),
    ...(windowMs !== undefined && { windowMs, healthyMs: windowMs }),
    ...(holdMs !== undefined && { holdMs }),
  }
}
