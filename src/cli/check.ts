// `--check`: reads a configuration as a start would, starts nothing, and tells everything it found.

import {
  type Configuration,
  ConfigError,
  type Environment,
  type SchemaConfig,
  enabledSchemas,
  loadConfig,
  loopProblems,
  selectSchema,
} from '../config/config.js'
import { warningLine } from '../config/problems.js'
import { keptReport } from '../proxy/kept-report.js'
import { escapeText } from '../log/log.js'
import { wayTroubles } from '../upstream/http/way-troubles.js'
import type { CheckCommand } from './args.js'
import { counted } from './counted.js'
import { programTrouble } from './programs.js'
import { SelfStarts } from './self-starts.js'

export interface CheckResult {
  readonly text: string
  readonly exitCode: 0 | 1
  /** What can be served; undefined when the configuration is refused. */
  readonly checked?: CheckedConfig
}

/** A configuration without mistakes, and the schemas of it that were asked for. */
export interface CheckedConfig {
  readonly config: Configuration
  readonly schemas: readonly SchemaConfig[]
}

type ConfigWarning = Configuration['warnings'][number]
type ConfigProblem = ConfigError['problems'][number]

/** `program` is the file that runs as this program. */
export async function checkConfig(
  command: CheckCommand,
  env: Environment,
  program: string,
): Promise<CheckResult> {
  try {
    const config = loadConfig({ path: command.config, env, servesHttp: command.schema === undefined })
    const checked = { config, schemas: await servedBy(command, config) }
    const { problems, warnings } = findingsIn(checked, env, program)
    if (problems.length > 0) throw new ConfigError('CONFIG_INVALID', config.source, problems, warnings)
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

/** What a start would not stop at, though something of it would fail; a problem is a server that cannot be reached. */
function findingsIn(
  { config, schemas }: CheckedConfig,
  env: Environment,
  program: string,
): { readonly problems: readonly ConfigProblem[]; readonly warnings: readonly ConfigWarning[] } {
  const selfStarts = new SelfStarts(program)
  const names = schemas.map(({ name }) => name)
  const loops = loopProblems(config, names, env).map(({ problem, hint }) => `${problem}; ${hint}`)
  const found = schemas.flatMap(({ name: schema, servers }) =>
    servers
      .filter(({ disabled, unavailable }) => !disabled && unavailable === undefined)
      .map((server) => ({
        path: `server "${server.name}" of schema "${schema}"`,
        starts: [
          selfStarts.leadsBack(server, schema, config, env) ? leadsBack : undefined,
          server.kind === 'stdio' ? programTrouble(server, env) : undefined,
        ].filter((message) => message !== undefined),
        // Proxies and certificates, which a connection would find to be of no use.
        ways: wayTroubles(server, env),
      })),
  )
  return {
    problems: found.flatMap(({ path, ways }) =>
      ways.problems.map((what) => ({ path, problem: `cannot be reached: ${what}`, hint: '' })),
    ),
    warnings: [
      ...config.warnings,
      ...loops.map((message) => ({ path: '', message })),
      ...found.flatMap(({ path, starts }) => starts.map((message) => ({ path, message }))),
      ...found.flatMap(({ path, ways }) => ways.warnings.map((message) => ({ path, message }))),
    ],
  }
}

const leadsBack =
  'starts this program again with a configuration that leads back here, which is refused; take it out of the file, or name another --config or --schema for it'

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
