// `--check`: reads a configuration as a start would, starts nothing, and prints every problem and warning.

import { isAbsolute } from 'node:path'
import type { Configuration, Environment, SchemaConfig } from '../config/configuration.js'
import { loopProblems } from '../config/chain.js'
import { enabledSchemas, selectSchema } from '../config/config.js'
import { warningLine, ConfigError } from '../config/problems.js'
import type { StdioServerConfig } from '../upstream/contracts/server-config.js'
import { keptReport } from '../proxy/kept-report.js'
import { escapeText } from '../text/escape.js'
import type { CheckCommand } from './serve-options.js'
import { counted } from '../text/counted.js'
import { loadWithSecrets } from './load.js'
import { programTrouble } from './programs.js'
import { sandboxTrouble } from './sandbox-mends.js'
import { startsItself } from './starts-itself.js'

export interface CheckResult {
  readonly text: string
  readonly exitCode: 0 | 1
  /** The usable configuration; undefined when the configuration is refused. */
  readonly checked?: CheckedConfig
}

/** A configuration without mistakes, and the schemas of it that were asked for. */
export interface CheckedConfig {
  readonly config: Configuration
  readonly schemas: readonly SchemaConfig[]
}

type ConfigWarning = Configuration['warnings'][number]

export async function checkConfig(command: CheckCommand, env: Environment): Promise<CheckResult> {
  try {
    const { config: path, schema, start } = command
    const config = await loadWithSecrets(
      { path, env, servesHttp: schema === undefined },
      { schema, asks: start, runsPrograms: start },
    )
    const checked = { config, schemas: await servedBy(command, config) }
    const warnings = [
      ...warningsOf(checked, env),
      ...(await lockWarnings(config)),
      ...(await auditWarnings(config)),
    ]
    return { text: validText(config, warnings, keptReport(config, env)), exitCode: 0, checked }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return { text: `${error.message}\n${counted(error.problems.length, 'problem')}\n`, exitCode: 1 }
  }
}

/** @throws ConfigError when a start would refuse */
async function servedBy(command: CheckCommand, config: Configuration): Promise<SchemaConfig[]> {
  if (command.schema !== undefined) return [selectSchema(config, command.schema)]
  const { refuseGateway } = await import('../gateway/gateway.js')
  refuseGateway(config, command)
  return enabledSchemas(config).map((name) => selectSchema(config, name))
}

/** A file that cannot be written loses the lines of the audit, or refuses every call. */
async function auditWarnings({ audit }: Configuration): Promise<ConfigWarning[]> {
  if (audit?.file === undefined) return []
  const message = await (await import('../log/rotating-file.js')).fileProblem(audit.file)
  return message === undefined ? [] : [{ path: 'audit', message: `the audit file ${audit.file}: ${message}` }]
}

async function lockWarnings({ lock }: Configuration): Promise<ConfigWarning[]> {
  const message = lock.isOn ? (await import('../lock/store.js')).lockProblem(lock.path) : undefined
  return message === undefined ? [] : [{ path: '', message }]
}

/** Faults that do not stop a start, although a part of it would fail. */
function warningsOf({ config, schemas }: CheckedConfig, env: Environment): readonly ConfigWarning[] {
  const names = schemas.map(({ name }) => name)
  const loops = loopProblems(config, names, env).map(({ problem, hint }) => `${problem}; ${hint}`)
  const starts = schemas.flatMap(({ name: schema, servers }) =>
    servers
      .filter(({ disabled, unavailable }) => !disabled && unavailable === undefined)
      .map((server) => ({
        path: `server "${server.name}" of schema "${schema}"`,
        message: server.kind === 'stdio' ? startTrouble(server, config, schema, env) : undefined,
      })),
  )
  return [
    ...config.warnings,
    ...loops.map((message) => ({ path: '', message })),
    ...starts.flatMap(({ path, message }) => (message === undefined ? [] : [{ path, message }])),
  ]
}

function startTrouble(
  server: StdioServerConfig,
  { source }: Configuration,
  schema: string,
  env: Environment,
): string | undefined {
  const isItself = isAbsolute(source) && startsItself(server, { cwd: server.cwd, env }, source, schema)
  return isItself
    ? 'starts mcps-proxy with this schema of this file, and so itself, without end; name another file or schema for it'
    : (programTrouble(server, env) ?? sandboxTrouble(server.sandbox))
}

function validText(
  config: Configuration,
  warnings: readonly ConfigWarning[],
  kept: readonly string[],
): string {
  const servers = [...config.schemas.values()].flatMap((schema) => schema.servers)
  const lines = warnings.map(warningLine)
  const summary = `valid: ${counted(config.schemas.size, 'schema')}, ${counted(servers.length, 'server')}, ${counted(warnings.length, 'warning')}`
  return `${[`${escapeText(config.source)}:`, ...lines, ...kept.map((line) => `  ${escapeText(line)}`), `  ${summary}`].join('\n')}\n`
}
