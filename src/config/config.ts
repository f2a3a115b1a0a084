// Configuration: search, read, check, default, expand.
//
// The proxy reports all mistakes together and starts with none. There are two exceptions: an unset variable
// disables only the server that uses it, and a mistake in `cli.stdio` selects its default. Reading is
// synchronous, because a client waits for the start.

import { existsSync } from 'node:fs'
import { dirname, isAbsolute, join } from 'node:path'
import process from 'node:process'
import { programFolder } from '../folder.js'
import { requests, statelessRequests } from '../mcp/methods.js'
import { isObject } from '../text/json-object.js'
import { matcherOf } from '../text/name-patterns.js'
import { namesHint, nearest } from '../text/nearest.js'
import { type ServerConfig, isRemote } from '../upstream/contracts/server-config.js'
import type {
  AuditConfig,
  Configuration,
  Environment,
  FrontConfig,
  LimitConfig,
  ProfileConfig,
  SchemaConfig,
} from './configuration.js'
import { withConfinement } from './confinement.js'
import { literal } from './expand.js'
import { findConfigFile, homeOf } from './file.js'
import { hasUsers, needsToken, readFront, neededReading } from './front.js'
import type { Repeated } from './json-syntax.js'
import { lockFileName, rootFields, rootType, sharedSandbox } from './keys.js'
import { absoluteFile, editorVariables, projectOf } from './paths.js'
import { ConfigError, type FindLine, ProblemList } from './problems.js'
import { type References, unresolved } from './references.js'
import { type LockSettings, type ServersContext, readSchemas, serverPath } from './servers.js'
import { Location, type ValuesOf } from './values.js'

export interface LoadOptions extends ConfigOverrides {
  /** The file that the user named. Absent: the usual places are searched. */
  readonly path?: string | undefined
  readonly env?: Environment
  readonly home?: string
  readonly cwd?: string
}

export interface ConfigOverrides {
  /** Defaults by the paths of their keys, such as `server.port`. They replace the usual defaults. */
  readonly defaults?: Readonly<Record<string, unknown>>
  /** Whether the HTTP front is served. Otherwise mistakes that concern only it stop no start. Absent: true. */
  readonly servesHttp?: boolean
  /** A client of the HTTP front reads the file, so `server.token` gets its value although no front is served. */
  readonly asksFront?: boolean
  /** The time-out of every call. Overrides the file. */
  readonly timeoutMs?: number | undefined
  /** The only server to read. Its tools keep their own names. Undefined reads all. */
  readonly only?: ServersContext['only']
  /** Further files that the proxy obeys. No confined program may write them. */
  readonly files?: readonly string[]
  /** Resolves references to secrets. Absent: they stay unresolved. */
  readonly references?: References
}

/** The context of a configuration that is not a file. */
export interface ResolveContext extends ConfigOverrides {
  readonly source: string
  /** The absolute folder of relative paths. */
  readonly folder: string
  readonly env: Environment
  readonly home?: string
  /** Members that the value lacks, because a later member has the same name. */
  readonly repeated?: readonly Repeated[]
  readonly lineOf?: FindLine
}

/**
 * Finds and reads the configuration: the path, `$MCPS_PROXY_CONFIG`, `~/.mcps-proxy/config.json`, or the
 * bundled Time server.
 *
 * @throws ConfigError with every problem of the file.
 */
export function loadConfig(options: LoadOptions = {}): Configuration {
  const { path, env = process.env, cwd = process.cwd(), home = homeOf(env) } = options
  const file = findConfigFile({ path, env, home, cwd })
  if (file === undefined)
    return resolveConfig(embeddedConfig(), { ...options, source: 'embedded', folder: cwd, env, home })
  const { path: source, value, repeated, lineOf, writableByOthers } = file
  const about = { source, folder: dirname(source), repeated, lineOf }
  const config = resolveConfig(value, { ...options, ...about, env, home })
  const servers = [...config.schemas.values()].flatMap((schema) => schema.servers)
  if (!writableByOthers || servers.every(({ kind }) => kind !== 'stdio')) return config
  const message = 'the file starts commands and other users can write it; run chmod go-w on it'
  return { ...config, warnings: [{ path: '', message }, ...config.warnings] }
}

/**
 * Checks a configuration in memory, applies defaults and expands variables. Reads no file except an `envFile`
 * that it names.
 *
 * @throws ConfigError with every problem of it.
 */
export function resolveConfig(value: unknown, context: ResolveContext): Configuration {
  const { source, folder, lineOf, files = [], defaults = {} } = context
  const problems = new ProblemList(lineOf)
  const home = context.home ?? homeOf(context.env)
  const obeyed = new Set([...files, ...(isAbsolute(source) ? [source] : [])])
  const meant = context.only === undefined ? value : withoutClients(value)
  const root = new Location(meant, '', { problems, folder, home, files: obeyed, defaults })
  const config = readRoot(root, context, obeyed)
  if (config === undefined || problems.problems.length > 0)
    throw new ConfigError('CONFIG_INVALID', source, problems.problems, problems.warnings)
  return { ...config, warnings: problems.warnings }
}

/** The proxy of a single server uses no profiles and no tokens, so mistakes in them do not count. */
function withoutClients(value: unknown): unknown {
  if (!isObject(value)) return value
  const { profiles: _, server, ...rest } = value
  if (!isObject(server)) return { ...rest, ...(server !== undefined && { server }) }
  const { tokens: __, ...front } = server
  return { ...rest, server: front }
}

/** @throws ConfigError (`CONFIG_SCHEMA`) with the existing names, if the schema is missing or disabled */
export function selectSchema(config: Configuration, name: string): SchemaConfig {
  const schema = config.schemas.get(name)
  if (schema?.enabled === true) return schema
  const enabled = enabledSchemas(config)
  const problem = `group "${name}" ${schema === undefined ? 'does not exist' : 'is disabled'}`
  const [right = enabled[0]] = nearest(name, enabled)
  const hint =
    right === undefined
      ? 'no group is enabled'
      : `${namesHint(name, enabled)}; for example: mcps-proxy stdio --schema ${right}`
  throw new ConfigError('CONFIG_SCHEMA', config.source, [{ path: '', problem, hint }])
}

/** @throws ConfigError (`CONFIG_PROFILE`) with the existing names */
export function selectProfile({ profiles, source }: Configuration, name: string): ProfileConfig {
  const profile = profiles.get(name)
  if (profile !== undefined) return profile
  const hint = namesHint(name, [...profiles.keys()], 'the file has none')
  throw new ConfigError('CONFIG_PROFILE', source, [
    { path: '', problem: `profile "${name}" does not exist`, hint },
  ])
}

/** The names of all schemas that are served. */
export function enabledSchemas({ schemas }: Configuration): string[] {
  return [...schemas.values()].filter(({ enabled }) => enabled).map(({ name }) => name)
}

/** The secrets of the front and of these schemas, which must never be shown. Without `names`: of all schemas. */
export function secretsIn(
  { server, schemas }: Configuration,
  names: Iterable<string> = schemas.keys(),
): string[] {
  const servers = [...names].flatMap((name) => schemas.get(name)?.servers ?? [])
  // Nearly every line of a log names a server, so a name is no secret.
  const isName = new Set(
    [...schemas.values()].flatMap(({ name, servers }) => [name, ...servers.map((each) => each.name)]),
  )
  const all = [...servers, server].flatMap(({ secrets }) => secrets)
  return all.filter((value) => !isName.has(value))
}

type RootValues = ValuesOf<typeof rootFields>

function readRoot(
  root: Location,
  context: ResolveContext,
  files: ReadonlySet<string>,
): Omit<Configuration, 'warnings'> | undefined {
  const { env, source, references = unresolved } = context
  const { home } = root.reading
  const values = rootType.read(root)
  if (values === undefined) return undefined
  const folder = projectOf(context.folder, home) ?? context.folder
  const sources = { ...root.reading, env, references }
  const server = readFront(values.server, sources, {
    isServed: context.servesHttp ?? true,
    isAsked: context.asksFront ?? false,
  })
  const { prefix, describe, argumentChecks, confirm, startupGraceMs, processesMax, logging, audit } = values
  const { stdio } = values.cli
  const lock = lockSettings(values, root, source)
  const ofServers = { ...sources, folder, known: editorVariables(context.folder, home) }
  const reading = neededReading(values.sandbox, ofServers, { isServed: true, isAsked: false })
  const read = readSchemas(root.with({ folder }), {
    ...ofServers,
    source,
    only: context.only,
    shared: { prefix, describe, argumentChecks, confirm },
    lock,
    programs: sharedSandbox.read(values.sandbox.with({ folder, ...reading }))?.programs ?? [],
    isGuarded: server !== undefined && needsToken(server),
    timeoutMs: stdio.timeoutMs,
    isTimeoutWritten: root.at('cli').at('stdio').has('timeout'),
    timeoutMsForAll: context.timeoutMs,
  })
  const warn = (schema: string, { name }: ServerConfig, message: string): void =>
    root.reading.problems.warn(serverPath(root, schema, name), message)
  const { schemas, path } = withConfinement(read, { env, home, folder, files, warn })
  references.declare({ inputs: values.inputs, folder, ...(path !== undefined && { env: { PATH: path } }) })
  const profiles = readProfiles(values.profiles, root.at('profiles'), schemas)
  for (const each of context.repeated ?? []) reportRepeated(root, each)
  if (server === undefined) return undefined
  if (context.only === undefined) {
    checkProfilesOfTokens(root, server, profiles)
    warnOfUsers(root, server, schemas)
  }
  const locks = [...schemas.values()].flatMap(({ servers }) => servers.map((each) => each.lock))
  return {
    source,
    server,
    startupGraceMs,
    processesMax,
    logging,
    schemas,
    profiles,
    audit: audit && readAudit(audit, root.at('audit'), logging.file),
    lock: { path: lock.path, isOn: locks.some((each) => each !== undefined && each !== false) },
    limits: values.limits.map((limit, index) => readLimit(limit, root.at('limits').at(index), server)),
  }
}

/** A lock file is expected only beside a configuration in a file. */
function lockSettings({ lock }: RootValues, { reading }: Location, source: string): LockSettings {
  const own = typeof lock === 'object' ? lock : undefined
  const path = own?.file ?? absoluteFile(lockFileName, reading)
  return {
    path,
    isOn: lock === undefined ? isAbsolute(source) && existsSync(path) : lock !== false,
    action: own?.onChange ?? 'warn',
  }
}

function readAudit(
  { file, ...values }: NonNullable<RootValues['audit']>,
  at: Location,
  logFile: string | undefined,
): AuditConfig {
  if (file === logFile) at.problem(`is "${file}", which is the log file`, 'use another file')
  // A misspelled method would leave the audit without lines. Methods of extensions are not in this list.
  const methods = [...requests.keys(), ...statelessRequests.keys()]
  for (const [index, pattern] of values.methods.entries()) {
    if (methods.some(matcherOf([pattern]))) continue
    const [near] = nearest(pattern, methods)
    const meant = near === undefined ? '' : `; did you mean "${near}"?`
    at.at('methods').at(index).warn(`is "${pattern}", which fits no method of MCP without extensions${meant}`)
  }
  return { ...values, file: file === 'stderr' ? undefined : file }
}

/** A principal that looks like a misspelled token is only a warning, because the user may add the token later. */
function readLimit(
  limit: RootValues['limits'][number],
  at: Location,
  { tokens = [] }: FrontConfig,
): LimitConfig {
  const { principal = '*', burst, perMinute } = limit
  const names = tokens.map(({ name }) => name)
  const [near] = principal.includes('*') || names.includes(principal) ? [] : nearest(principal, names)
  if (near !== undefined)
    at.at('principal').warn(`is "${principal}", which is the name of no token; did you mean "${near}"?`)
  return { ...limit, burst: burst ?? perMinute }
}

function readProfiles(
  profiles: RootValues['profiles'],
  root: Location,
  schemas: ReadonlyMap<string, SchemaConfig>,
): Map<string, ProfileConfig> {
  const all = new Map<string, ProfileConfig>()
  for (const [name, profile] of profiles) {
    const at = root.at(name)
    const { schema, servers: named = [] } = profile
    const servers = schemas.get(schema)?.servers.map((server) => server.name)
    if (servers === undefined)
      at.at('schema').problem(`is "${schema}", which is no group`, namesHint(schema, [...schemas.keys()]))
    else checkNames(at.at('servers'), named, 'server', servers)
    all.set(name, { name, ...profile })
  }
  return all
}

function checkNames(list: Location, names: readonly string[], what: string, known: readonly string[]): void {
  for (const [index, name] of names.entries())
    if (!known.includes(name))
      list.at(index).problem(`is "${name}", which is no ${what}`, namesHint(name, known))
}

/** A token with a misspelled profile would have no access at all. */
function checkProfilesOfTokens(
  root: Location,
  { tokens = [], auth }: FrontConfig,
  profiles: ReadonlyMap<string, unknown>,
): void {
  const server = root.at('server')
  const lists = [
    [server.at('tokens'), tokens],
    [server.at('auth').at('rules'), auth?.rules ?? []],
  ] as const
  for (const [at, list] of lists)
    for (const [index, { profiles: named = [] }] of list.entries())
      checkNames(at.at(index).at('profiles'), named, 'profile', [...profiles.keys()])
}

/** If clients have no names, they all count as one user. */
function warnOfUsers(root: Location, server: FrontConfig, schemas: Configuration['schemas']): void {
  const servers = [...schemas.values()].flatMap((schema) => schema.servers)
  const names = servers.flatMap((each) => (isRemote(each) && each.login?.isPerUser === true ? each.name : []))
  if (names.length === 0 || hasUsers(server)) return
  root
    .at('server')
    .at('tokens')
    .warn(
      `is empty, and so is "server.auth": all clients share one login at ${names.join(', ')}, in spite of "auth.perUser"`,
    )
}

/** A repeated key that the proxy does not read does not stop a start. */
function reportRepeated({ reading }: Location, { path, topKey, problem }: Repeated): void {
  const hint = 'only one of them can have this name, so rename or remove the other'
  if (Object.hasOwn(rootFields, topKey)) reading.problems.problem(path, problem, hint)
  else reading.problems.warn(path, `${problem}; ${hint}`)
}

/** The Time server as a real child process, so that a machine without a configuration has a server. */
function embeddedConfig(): unknown {
  const program = join(programFolder, 'servers', 'time.js')
  return { mcpServers: { Time: { command: literal(process.execPath), args: [literal(program)] } } }
}
