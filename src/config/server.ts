// One server of the file -> one `ServerConfig`.

import type {
  HttpServerConfig,
  ServerCommon,
  ServerConfig,
  StdioServerConfig,
  ToolFilter,
} from '../upstream/server-config.js'
import { readAuth } from './auth.js'
import type { Environment } from './configuration.js'
import { Expansion } from './expand.js'
import { absolute, fromHome } from './paths.js'
import { whatItIs } from './problems.js'
import { secretsOfEnv, secretsOfHeaders, secretsOfUrl } from './secrets.js'
import type { Section } from './section.js'
import {
  httpServerFields,
  serverFields,
  serverTypes,
  sharedFields,
  sseServerFields,
  stdioServerFields,
  toolFields,
} from './server-fields.js'
import type { SharedValues } from './server-fields.js'
import { type TimeDefaults, readTimes, readToolTimes } from './times.js'
import { type WayContext, readProxy, readTls } from './way.js'

/** What servers of one schema have in common, and where their strings come from. */
export interface ServerContext extends TimeDefaults {
  readonly env: Environment
  readonly home: string
  /** Where relative working folders begin. */
  readonly folder: string
  readonly shared: SharedValues
}

/** The server, or undefined after its type was reported as a problem. */
export function readServer(name: string, section: Section, context: ServerContext): ServerConfig | undefined {
  const common = readCommon(name, section, context)
  const kind = kindOf(section)
  if (kind === undefined) return warnOfStrangeKeys(section)
  const expansion = new Expansion(context.env)
  const server =
    kind === 'stdio'
      ? readStdio(section, common, expansion, context)
      : readHttp(kind, section, common, { ...context, expansion })
  section.warnOfUnknownKeys()
  warnOfExpansion(section, server, expansion)
  return server
}

/** Of a server whose kind is not known: a key that no kind has may be why. */
function warnOfStrangeKeys(section: Section): undefined {
  for (const fields of [stdioServerFields, httpServerFields, sseServerFields])
    for (const key of Object.keys(fields)) section.has(key)
  for (const key of ['auth', 'tls']) section.has(key)
  section.warnOfUnknownKeys()
}

function kindOf(section: Section): 'stdio' | 'http' | 'sse' | undefined {
  const type = section.raw('type')
  if (type === undefined && !section.has('type')) return guessKind(section)
  const kind = typeof type === 'string' ? serverTypes.get(type) : undefined
  if (kind === undefined) {
    const types = [...serverTypes.keys()].map((known) => `"${known}"`).join(', ')
    section.findings.problem(section.pathOf('type'), whatItIs(type), `must be one of ${types}`)
  }
  return kind
}

function guessKind(section: Section): 'stdio' | 'http' | undefined {
  const hasCommand = section.has('command')
  const hasUrl = section.has('url')
  if (hasCommand && !hasUrl) return 'stdio'
  if (hasUrl && !hasCommand) return 'http'
  const problem = hasUrl ? 'has both "command" and "url"' : 'has neither "command" nor "url"'
  const hint = hasUrl
    ? 'keep one of them, or say which with "type": "stdio" or "type": "http"'
    : 'add "command" for a program or "url" for a remote server'
  section.findings.problem(section.path, problem, hint)
  return hasCommand ? 'stdio' : undefined
}

function readCommon(name: string, section: Section, context: ServerContext): ServerCommon {
  const { shared } = context
  const tools = section.section('tools')
  const times = readTimes(section, context)
  return {
    name,
    disabled: section.read(serverFields, 'disabled'),
    lazy: section.read(serverFields, 'lazy'),
    keep: section.read(serverFields, 'keep'),
    unavailable: undefined,
    ...times,
    toolTimes: readToolTimes(tools, times, context.timeoutMsForAll),
    tools: readTools(tools),
    prefix: section.has('prefix') ? section.read(sharedFields, 'prefix') : shared.prefix,
    describe: section.has('describe') ? section.read(sharedFields, 'describe') : shared.describe,
    argumentErrors: section.has('argumentErrors')
      ? section.read(sharedFields, 'argumentErrors')
      : shared.argumentErrors,
    argumentChecks: section.has('argumentChecks')
      ? section.read(sharedFields, 'argumentChecks')
      : shared.argumentChecks,
    variables: [],
    secrets: [],
  }
}

function readTools(section: Section): ToolFilter {
  const tools = {
    allow: section.read(toolFields, 'allow'),
    deny: section.read(toolFields, 'deny'),
    rename: section.read(toolFields, 'rename'),
  }
  section.warnOfUnknownKeys()
  return tools
}

function readStdio(
  section: Section,
  common: ServerCommon,
  expansion: Expansion,
  context: ServerContext,
): StdioServerConfig {
  requireKey(section, 'command', 'the program to start')
  const command = expansion.text(section.read(stdioServerFields, 'command'))
  const args = section.read(stdioServerFields, 'args').map((arg) => expansion.text(arg))
  const env = expandMap(section.read(stdioServerFields, 'env'), expansion)
  const cwd = section.read(stdioServerFields, 'cwd')
  const idleTimeout = section.read(stdioServerFields, 'idleTimeout')
  const memoryLimit = section.read(stdioServerFields, 'memoryLimitMB')
  return {
    kind: 'stdio',
    ...common,
    ...expanded(expansion, secretsOfEnv(env), command === '' ? 'the command is empty' : undefined),
    command: fromHome(command, context.home),
    args,
    env: Object.fromEntries(env),
    inheritEnv: section.read(stdioServerFields, 'inheritEnv'),
    cwd: cwd === undefined ? context.folder : absolute(expansion.text(cwd), context.folder, context.home),
    restart: section.read(stdioServerFields, 'restart'),
    restartDelayMs: section.read(stdioServerFields, 'restartDelay'),
    concurrency: section.read(stdioServerFields, 'concurrency'),
    processes: section.read(stdioServerFields, 'processes'),
    isolation: section.read(stdioServerFields, 'isolation'),
    idleTimeoutMs: idleTimeout === 0 ? undefined : idleTimeout,
    memoryLimitBytes: memoryLimit === undefined ? undefined : memoryLimit * 1024 ** 2,
    onTimeout: section.read(stdioServerFields, 'onTimeout'),
  }
}

function readHttp(
  kind: 'http' | 'sse',
  section: Section,
  common: ServerCommon,
  context: WayContext,
): HttpServerConfig {
  requireKey(section, 'url', 'the address of the server')
  const { expansion } = context
  const url = readUrl(section, expansion)
  const headers = expandMap(section.read(httpServerFields, 'headers'), expansion)
  const proxy = readProxy(section, expansion)
  const secrets = [...secretsOfHeaders(headers), ...secretsOfUrl(url), ...secretsOfUrl(proxy || '')]
  return {
    kind,
    ...common,
    ...expanded(expansion, secrets, whyUnreachable(url, headers)),
    url,
    headers: Object.fromEntries(headers),
    retries: readRetries(kind, section),
    retryDelayMs: section.read(httpServerFields, 'retryDelay'),
    reconnectIntervalMs: readReconnectInterval(kind, section),
    auth: readAuth(section),
    proxy,
    tls: readTls(section, context),
  }
}

/** Without a variable in it, an address that cannot be parsed is a mistake in the file. */
function readUrl(section: Section, expansion: Expansion): string {
  const written = section.read(httpServerFields, 'url')
  if (written !== '' && !written.includes('${') && !isAddress(written))
    section.findings.problem(section.pathOf('url'), 'is not an address', 'must be like "https://host/mcp"')
  return expansion.text(written)
}

/** Readers of addresses do not agree where a host ends that has `"` or `\` before its path. */
function isAddress(text: string): boolean {
  return URL.canParse(text) && !/^[^/]*\/\/[^/?#]*["\\]/.test(text)
}

/** For an event stream `maxRetries` counts, and `retries` where only that is given. */
function readRetries(kind: 'http' | 'sse', section: Section): number {
  const retries = section.read(httpServerFields, 'retries')
  if (kind === 'http') return retries
  const maxRetries = section.read(sseServerFields, 'maxRetries')
  return section.has('retries') && !section.has('maxRetries') ? retries : maxRetries
}

function readReconnectInterval(kind: 'http' | 'sse', section: Section): number {
  return kind === 'sse'
    ? section.read(sseServerFields, 'reconnectInterval')
    : sseServerFields.reconnectInterval.fallback
}

function requireKey(section: Section, key: string, what: string): void {
  if (section.has(key)) return
  section.findings.problem(section.pathOf(key), 'is missing', `must be ${what}`)
}

function expandMap(values: ReadonlyMap<string, string>, expansion: Expansion): Map<string, string> {
  return new Map([...values].map(([key, value]) => [key, expansion.text(value)]))
}

/** What the variables of a server say about it; `trouble` is what their values made of its fields. */
function expanded(
  expansion: Expansion,
  secrets: readonly string[],
  trouble: string | undefined,
): Pick<ServerCommon, 'unavailable' | 'variables' | 'secrets'> {
  const unset = [...expansion.unset]
  const variables = [...expansion.variables]
  const missing = `${unset.length === 1 ? 'variable' : 'variables'} ${unset.join(', ')} ${unset.length === 1 ? 'is' : 'are'} not set`
  const broken = trouble === undefined || variables.length === 0 ? undefined : trouble
  return {
    unavailable: unset.length > 0 ? missing : broken,
    variables,
    secrets: [...new Set([...expansion.secrets, ...secrets])],
  }
}

/** What a variable may have done to an address or a header that was right as it stood in the file. */
function whyUnreachable(url: string, headers: ReadonlyMap<string, string>): string | undefined {
  if (!/^https?:\/\//i.test(url) || !isAddress(url))
    return 'url is not an http:// or https:// address once its variables are put in'
  // oxlint-disable-next-line no-control-regex -- exactly these would end the header.
  const broken = [...headers].find(([, value]) => /[\u0000\r\n]/.test(value))
  return broken && `header ${broken[0]} is not one line once its variables are put in`
}

function warnOfExpansion(section: Section, server: ServerConfig, expansion: Expansion): void {
  const { findings, path } = section
  for (const text of expansion.foreign)
    findings.warn(path, `${text} is not a variable and stays as it is; a variable is \${NAME}`)
  if (server.unavailable !== undefined && !server.disabled)
    findings.warn(path, `is disabled: ${server.unavailable}`)
}
