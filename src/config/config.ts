// Configuration: search, read, check, default, expand.
//
// Nothing is started from a configuration with a mistake in it, and all
// mistakes are reported together. Two things are forgiven: an unset variable
// disables the one server that uses it, and `cli.stdio` falls back to its
// defaults. Everything here is synchronous and table-driven, since a client
// waits for the start.

import { existsSync } from 'node:fs'
import { dirname, isAbsolute, join } from 'node:path'
import process from 'node:process'
import type {
  Configuration,
  Environment,
  FrontConfig,
  LoggingConfig,
  ProfileConfig,
  SchemaConfig,
} from './configuration.js'
import { type Door, throughDoor } from './door.js'
import { readAudit } from './audit.js'
import { literal } from './expand.js'
import { inputsFields, logFields, rootFields, stdioFields, frontKeyHints } from './fields.js'
import { findConfigFile, homeOf } from './file.js'
import { readSchemas, serverPath } from './formats.js'
import { readLimits } from './policy.js'
import { readProfiles } from './profiles.js'
import { sharedSandboxFields } from './process-sandbox.js'
import { type FrontDefaults, hasUsers, needsToken, readFront } from './front.js'
import { type Repeated, lineFinder } from './json-syntax.js'
import { lockFileName, lockPlace, readLock } from './lock.js'
import { ConfigError, Findings, type FindLine } from './problems.js'
import { type ServerConfig, isRemote } from '../upstream/contracts/server-config.js'
import { Section } from './section.js'
import { type PathBase, absolute, editorVariables, projectOf } from './paths.js'
import { withWalls } from './walls.js'
import { type References, unresolved } from './references.js'
import { programFolder } from '../folder.js'
import { namesHint } from '../text/nearest.js'

/** The places that are searched for a configuration, and the values of the command line. */
export interface LoadOptions extends ConfigOverrides {
  /** The file that was named; undefined searches. */
  readonly path?: string | undefined
  readonly env?: Environment
  readonly home?: string
  /** The folder in which a relative path begins. */
  readonly cwd?: string
  /** The one server that is wanted; undefined is all. */
  readonly door?: Door | undefined
}

/** Values that override the file, or replace what it lacks. */
export interface ConfigOverrides {
  /** `server.name` when the file has none. */
  readonly nameDefault?: string | undefined
  /** Whether the HTTP front is served; without it, nothing that only the front needs stops a start. Absent: true. */
  readonly servesHttp?: boolean
  /** A client of the HTTP front reads the file: `server.token` gets its value although no front is served. */
  readonly asksFront?: boolean
  /** Defaults of the front, below file and environment. */
  readonly frontDefaults?: Omit<FrontDefaults, 'name' | 'isServed' | 'isAsked'>
  /** The time-out of every call, above the file. */
  readonly timeoutMs?: number | undefined
  /** Further files that the proxy obeys, which no confined program may write. */
  readonly files?: readonly string[]
  /** Of the secrets that the configuration refers to; absent leaves them all unresolved. */
  readonly references?: References
}

/** The context in which a configuration is resolved that is not a file. */
export interface ResolveContext extends ConfigOverrides {
  /** The name of the configuration in messages. */
  readonly source: string
  /** The folder in which its relative paths begin; absolute. */
  readonly folder: string
  readonly env: Environment
  readonly home?: string
  /** Members of the text that the value has lost, since a later one has the same name. */
  readonly repeated?: readonly Repeated[]
  /** Of the text, for messages. */
  readonly lineOf?: FindLine
  /** Whether there is a lock beside the file. */
  readonly hasLock?: boolean
}

/**
 * Finds and reads the configuration: the path, `$MCPS_PROXY_CONFIG`, `~/.mcps-proxy/config.json`, or the
 * bundled Time server.
 *
 * @throws ConfigError with every problem of the file.
 */
export function loadConfig(options: LoadOptions = {}): Configuration {
  const { path, env = process.env, cwd = process.cwd(), home = homeOf(env), door } = options
  const file = findConfigFile({ path, env, home, cwd })
  const wanted = (value: unknown, source: string): unknown =>
    door === undefined ? value : throughDoor(value, door, source)
  if (file === undefined) {
    const embedded = wanted(embeddedConfig(), 'the built-in configuration')
    return resolveConfig(embedded, { ...options, source: 'embedded', folder: cwd, env, home })
  }
  const folder = dirname(file.path)
  const { repeated } = file
  const value = wanted(file.value, file.path)
  const hasLock = existsSync(join(folder, lockFileName))
  const about = { repeated, hasLock, lineOf: lineFinder(file.text) }
  const config = resolveConfig(value, { ...options, ...about, source: file.path, folder, env, home })
  if (!file.writableByOthers || !startsCommands(config)) return config
  const message = 'the file starts commands and others than its owner can write it; run chmod go-w on it'
  return { ...config, warnings: [{ path: '', message }, ...config.warnings] }
}

/**
 * Checks a configuration that is already in memory, applies defaults and expands variables. Reads no file but an
 * `envFile` that it names.
 *
 * @throws ConfigError with every problem of it.
 */
export function resolveConfig(value: unknown, context: ResolveContext): Configuration {
  const findings = new Findings(context.lineOf)
  const home = context.home ?? homeOf(context.env)
  const root = Section.of(value, '', findings)
  const config = root && readRoot(root, { ...context, home })
  if (config === undefined || findings.problems.length > 0)
    throw new ConfigError('CONFIG_INVALID', context.source, findings.problems, findings.warnings)
  return config
}

/**
 * The schema of that name.
 *
 * @throws ConfigError (`CONFIG_SCHEMA`) that names the schemas there are when it is missing or disabled.
 */
export function selectSchema(config: Configuration, name: string): SchemaConfig {
  const schema = config.schemas.get(name)
  if (schema?.enabled === true) return schema
  const enabled = enabledSchemas(config)
  const problem = `schema "${name}" ${schema === undefined ? 'does not exist' : 'is disabled'}`
  throw new ConfigError('CONFIG_SCHEMA', config.source, [
    { path: '', problem, hint: namesHint(name, enabled, 'no schema is enabled') },
  ])
}

/**
 * The profile of that name.
 *
 * @throws ConfigError (`CONFIG_PROFILE`) that names those there are
 */
export function selectProfile({ profiles, source }: Configuration, name: string): ProfileConfig {
  const profile = profiles.get(name)
  if (profile !== undefined) return profile
  const hint = namesHint(name, [...profiles.keys()], 'the file has none')
  throw new ConfigError('CONFIG_PROFILE', source, [
    { path: '', problem: `profile "${name}" does not exist`, hint },
  ])
}

/** The names of the schemas that are served where all of them are. */
export function enabledSchemas({ schemas }: Configuration): string[] {
  return [...schemas.values()].filter(({ enabled }) => enabled).map(({ name }) => name)
}

/** The values of these schemas, and of the front, that are never shown; of every schema unless some are named. */
export function secretsIn(
  { server, schemas }: Configuration,
  names: Iterable<string> = schemas.keys(),
): string[] {
  const servers = [...names].flatMap((name) => schemas.get(name)?.servers ?? [])
  // Nearly every line of a log names a server.
  const isName = new Set(
    [...schemas.values()].flatMap(({ name, servers }) => [name, ...servers.map((each) => each.name)]),
  )
  const { stateKeys, token = [], auth } = server
  const ofIssuers = (auth?.issuers ?? []).map(({ introspection }) => introspection?.clientSecret ?? [])
  return [
    ...servers.flatMap(({ secrets }) => secrets),
    ...stateKeys,
    token,
    ...ofIssuers,
    auth?.login?.clientSecret ?? [],
  ]
    .flat()
    .filter((value) => !isName.has(value))
}

function readRoot(root: Section, given: ResolveContext & { readonly home: string }): Configuration {
  const files = new Set([...(given.files ?? []), ...(isAbsolute(given.source) ? [given.source] : [])])
  const context = { ...given, files }
  root.has('$schema')
  const { isTimeoutWritten, ...stdio } = readStdio(root)
  const { references = unresolved } = context
  const folder = projectOf(context.folder, context.home) ?? context.folder
  references.declare({ inputs: root.read(inputsFields, 'inputs') ?? [], folder })
  const server = readFront(root.section('server'), context, {
    ...context.frontDefaults,
    name: context.nameDefault,
    isServed: context.servesHttp ?? true,
    isAsked: context.asksFront ?? false,
  })
  const lock = readLock(root, context, context.hasLock === true)
  const read = readSchemas(root, {
    ...context,
    folder,
    references,
    known: editorVariables(context.folder, context.home),
    shared: {},
    lock,
    programs: root.read(sharedSandboxFields, 'sandbox')?.programs,
    isGuarded: needsToken(server),
    timeoutMs: stdio.timeoutMs,
    isTimeoutWritten,
    timeoutMsForAll: context.timeoutMs,
  })
  const warn = (schema: string, { name }: ServerConfig, message: string): void =>
    root.findings.warn(serverPath(root, schema, name), message)
  const schemas = withWalls(read, { ...context, warn })
  const profiles = readProfiles(root, schemas)
  checkTokens(root, server, profiles)
  warnOfUsers(root, server, schemas)
  const logging = readLogging(root, context)
  const config = {
    source: context.source,
    ...root.readAll(rootFields),
    server,
    stdio: { ...stdio, timeoutMs: context.timeoutMs ?? stdio.timeoutMs },
    logging,
    audit: readAudit(root, context, logging),
    lock: lockPlace(
      lock,
      [...schemas.values()].flatMap(({ servers }) => servers.map((each) => each.lock)),
    ),
    schemas,
    profiles,
    limits: readLimits(root, server),
    warnings: root.findings.warnings,
  }
  root.reportUnknownKeys(frontKeyHints)
  for (const each of context.repeated ?? []) reportRepeated(root, each)
  return config
}

/** A token whose profile is misspelled would be refused everything. */
function checkTokens(
  root: Section,
  { tokens = [], auth }: FrontConfig,
  profiles: ReadonlyMap<string, unknown>,
): void {
  const there = [...profiles.keys()]
  const lists = [
    ['server.tokens', tokens],
    ['server.auth.rules', auth?.rules ?? []],
  ] as const
  for (const [path, list] of lists)
    for (const [index, { profiles: named = [] }] of list.entries())
      for (const [at, name] of named.entries())
        if (!profiles.has(name))
          root.findings.problem(
            `${path}[${index}].profiles[${at}]`,
            `is "${name}", which is no profile`,
            namesHint(name, there),
          )
}

/** Without names of clients, all of them are one user. */
function warnOfUsers(root: Section, server: FrontConfig, schemas: Configuration['schemas']): void {
  const servers = [...schemas.values()].flatMap((schema) => schema.servers)
  const names = servers.flatMap((each) => (isRemote(each) && each.login?.isPerUser === true ? each.name : []))
  if (names.length === 0 || hasUsers(server)) return
  root.findings.warn(
    'server.tokens',
    `is empty, and so is "server.auth": all clients share one login at ${names.join(', ')}, in spite of "auth.perUser"`,
  )
}

/** A key that the proxy does not read is no reason not to start. */
function reportRepeated(root: Section, { path, topKey, first, again }: Repeated): void {
  const where = `is there twice: at line ${first.line}, column ${first.column}, and at line ${again.line}, column ${again.column}`
  const hint = 'only one of them can have this name, so rename or remove the other'
  if (root.knows(topKey)) root.findings.problem(path, where, hint)
  else root.findings.warn(path, `${where}; ${hint}`)
}

/** The one part whose mistakes are forgiven: its values can only be what they are by default. */
function readStdio(root: Section): Configuration['stdio'] & { readonly isTimeoutWritten: boolean } {
  const forgiven = new Findings()
  const cli = root.section('cli', forgiven)
  const section = cli.section('stdio')
  const { delimiter, timeout: timeoutMs } = section.readOnly(stdioFields)
  cli.reportUnknownKeys()
  for (const { path, problem, hint } of forgiven.problems)
    root.findings.warn(path, `${problem}; ${hint}; the default is used`)
  for (const { path, message } of forgiven.warnings) root.findings.warn(path, message)
  return { timeoutMs, encoding: 'utf8', delimiter, isTimeoutWritten: section.has('timeout') }
}

function readLogging(root: Section, base: PathBase): LoggingConfig {
  const { file, maxSize, ...plain } = root.read(logFields, 'logging')
  return { ...plain, file: file === undefined ? undefined : absolute(file, base), maxSizeBytes: maxSize }
}

/** The Time server as a real child process, so that a machine with nothing installed has something to serve. */
function embeddedConfig(): unknown {
  const program = join(programFolder, 'servers', 'time.js')
  return { mcpServers: { Time: { command: literal(process.execPath), args: [literal(program)] } } }
}

function startsCommands({ schemas }: Configuration): boolean {
  return [...schemas.values()].some(({ servers }) => servers.some(({ kind }) => kind === 'stdio'))
}
