// `check`: reads a configuration as a start would, and prints every problem and warning. With `--start` it also tries every
// server and every issuer.

import process from 'node:process'
import type { Configuration, Environment, SchemaConfig } from '../config/configuration.js'
import { loopProblems } from '../config/proxy-chain.js'
import { enabledSchemas, selectSchema } from '../config/config.js'
import { warningLine, ConfigError } from '../config/problems.js'
import { fileProblem } from '../log/rotating-file.js'
import { realRuntime } from '../real-runtime.js'
import { escapeText } from '../text/escape.js'
import { type Given, cannotBoth, command, flag } from './command-line.js'
import { config as configOption, listening, schema as schemaOption } from './common-options.js'
import { counted } from '../text/counted.js'
import { type CheckedConfig, tryAll } from './doctor.js'
import { loadWithSecrets } from './load.js'
import { INTERRUPTED } from './server-trials.js'
import { startTrouble } from './start-troubles.js'
import { print, say } from './console.js'

const options = {
  stdio: flag('Check what stdio serves, which is one group'),
  http: flag('Check what http serves, which is the default'),
  schema: schemaOption,
  config: configOption,
  host: listening.host,
  'allow-unauthenticated': listening['allow-unauthenticated'],
  start: flag('Start every server too, and report the result'),
}

type CheckTask = Given<typeof options>

export const checkCommand = command({
  name: 'check',
  takes: '[FILE]',
  about: 'every problem of the configuration; starts nothing',
  group: 'SET UP',
  details: `Prints every problem of a configuration, and every server that cannot start, such as one
whose program does not exist. With --start it also starts every server and reports the result.
The exit code is 1 when there is a problem or a server failed; warnings do not count.`,
  examples: ['mcps-proxy check ./mcp.json', 'mcps-proxy check --start'],
  options,
  conflicts: [['stdio', 'http']],
  wordsMax: 1,
  check: ({ words: [file], config }) => {
    if (file !== undefined && config !== undefined) throw cannotBoth('FILE', '--config', 'name the file once')
  },
  run: async (task) => {
    const { text, exitCode, checked } = await checkConfig(task, process.env)
    await say('stdout', text)
    if (checked === undefined || !task.start) return exitCode
    const tried = await tryAll(checked)
    return tried === INTERRUPTED ? tried : Math.max(tried, await tryIssuers(checked.config))
  },
})

/** Asks each issuer of the front for its keys, and the authorization server of the login for its metadata. */
async function tryIssuers({ server: { auth } }: Configuration): Promise<number> {
  if (auth === undefined) return 0
  const { issuerTrouble } = await import('../front-auth/issuer.js')
  const { loginTrouble } = await import('../front-auth/identity.js')
  const { issuers, login } = auth
  const tries = [
    ...issuers.map(
      (each) => [each.issuer, 'its tokens can be checked', issuerTrouble(each, realRuntime())] as const,
    ),
    ...(login === undefined
      ? []
      : [[login.issuer, 'users can log in there', loginTrouble(login, realRuntime())] as const]),
  ]
  const troubles = await Promise.all(tries.map(([, , trouble]) => trouble))
  await print(...tries.map(([issuer, good], at) => `  ${issuer}  ${troubles[at] ?? good}`))
  return troubles.some((trouble) => trouble !== undefined) ? 1 : 0
}

export interface CheckResult {
  readonly text: string
  readonly exitCode: 0 | 1
  /** The usable configuration; undefined if the configuration is refused. */
  readonly checked?: CheckedConfig
}

type ConfigWarning = Configuration['warnings'][number]

export async function checkConfig(task: CheckTask, env: Environment): Promise<CheckResult> {
  try {
    const { start, stdio } = task
    const path = task.words[0] ?? task.config
    // The group that stdio would serve; undefined checks for http.
    const schema = task.schema ?? (stdio ? 'default' : undefined)
    const config = await loadWithSecrets(
      { path, env, servesHttp: schema === undefined },
      { schema, asks: start, runsPrograms: start },
    )
    const checked = { config, schemas: await servedBy(task, schema, config) }
    const warnings = await warningsOf(checked, env, schema === undefined)
    // A start reports more than its forecast.
    const problems = start ? [] : troublesOf(checked, env)
    if (problems.length > 0) throw new ConfigError('CONFIG_INVALID', config.source, problems, warnings)
    return { text: validText(config, warnings, start), exitCode: 0, checked }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return { text: `${error.message}\n${counted(error.problems.length, 'problem')}\n`, exitCode: 1 }
  }
}

/** @throws ConfigError if a start would refuse */
async function servedBy(
  { host, 'allow-unauthenticated': allowUnauthenticated }: CheckTask,
  schema: string | undefined,
  config: Configuration,
): Promise<SchemaConfig[]> {
  if (schema !== undefined) return [selectSchema(config, schema)]
  const { refuseGateway } = await import('../gateway/gateway.js')
  refuseGateway(config, { host, allowUnauthenticated })
  return enabledSchemas(config).map((name) => selectSchema(config, name))
}

/** Problems that do not stop the start or a server for certain, although a part may fail. */
async function warningsOf(
  checked: CheckedConfig,
  env: Environment,
  mayBeStdout: boolean,
): Promise<readonly ConfigWarning[]> {
  const { config, schemas } = checked
  const { audit, lock } = config
  const names = schemas.map(({ name }) => name)
  const loops = loopProblems(config, names, env)
  const locked = lock.isOn ? (await import('../lock/store.js')).lockProblem(lock.path) : undefined
  // If the file cannot be written, the audit loses lines, or the proxy refuses every call.
  const unwritten = audit?.file && (await fileProblem({ path: audit.file, mayBeStdout }))
  return [
    ...config.warnings,
    ...loops.map(({ problem, hint }) => ({ path: '', message: `${problem}; ${hint}` })),
    ...(locked === undefined ? [] : [{ path: '', message: locked }]),
    ...(unwritten ? [{ path: 'audit', message: `the audit file ${audit?.file}: ${unwritten}` }] : []),
  ]
}

function troublesOf({ schemas }: CheckedConfig, env: Environment): ConfigError['problems'] {
  return schemas.flatMap(({ name: schema, servers }) =>
    servers.flatMap((server) => {
      const isStarted = server.kind === 'stdio' && !server.disabled && server.unavailable === undefined
      const problem = isStarted ? startTrouble(server, env) : undefined
      const path = `server "${server.name}" of group "${schema}"`
      return problem === undefined ? [] : [{ path, problem, hint: '' }]
    }),
  )
}

function validText(config: Configuration, warnings: readonly ConfigWarning[], isStarted: boolean): string {
  const servers = [...config.schemas.values()].flatMap((schema) => schema.servers)
  const lines = warnings.map(warningLine)
  const started = isStarted ? '' : '; nothing was started (--start starts every server)'
  const summary = `valid: ${counted(config.schemas.size, 'group')}, ${counted(servers.length, 'server')}, ${counted(warnings.length, 'warning')}${started}`
  return `${[`${escapeText(config.source)}:`, ...lines, `  ${summary}`].join('\n')}\n`
}
