// One server of the file -> one `ServerConfig`.

import type { ServerCommon, ServerConfig } from '../upstream/contracts/server-config.js'
import type { Environment } from './configuration.js'
import { type Expanded, Expansion } from './expand.js'
import { type LockSettings, readServerLock } from './lock.js'
import { wholeFileKeyHints } from './key-hints.js'
import { type References, unresolved } from './references.js'
import { whatItIs } from './problems.js'
import type { PathBase } from './paths.js'
import { readHttp } from './remote-server.js'
import { sandboxFields } from './sandbox-fields.js'
import { readSandbox } from './sandbox-server.js'
import type { Section } from './section.js'
import {
  type CallTimeValues,
  type SharedValues,
  httpServerFields,
  protocols,
  serverFields,
  serverKeyHints,
  serverTypes,
  sharedFields,
  sseServerFields,
  toolsFields,
  urlKeys,
} from './server-fields.js'
import { sessionRevision } from '../mcp/revisions.js'
import { stdioServerFields } from './stdio-server.js'
import { readStdio } from './stdio-server.js'
import { memberPath } from '../text/member-path.js'
import { nearest } from '../text/nearest.js'

type CallTimes = Pick<ServerCommon, 'timeoutMs' | 'totalTimeoutMs' | 'settableIn'>

/** The values that the servers of one schema share, and the sources of their strings. */
export interface SchemaContext extends PathBase {
  /** The name of the configuration in messages. */
  readonly source: string
  readonly schema: string
  readonly env: Environment
  /** Values that editors put in without asking the environment, such as `userHome`. */
  readonly known: ReadonlyMap<string, string>
  /** Those of the secrets that the servers need. */
  readonly references: References
  /** The values beside `mcpServers`, for all servers there. */
  readonly shared: Partial<SharedValues>
  /** Folders for programs of sandboxes. */
  readonly programs: readonly string[] | undefined
  /** For servers without a key of their own. */
  readonly lock: LockSettings
  /** Whether clients of the HTTP front show who they are. */
  readonly isGuarded: boolean
  /** The time-out of servers that set none. */
  readonly timeoutMs: number
  /** Whether `timeoutMs` stands in the file. */
  readonly isTimeoutWritten: boolean
  /** From the command line; overrides the file. */
  readonly timeoutMsForAll: number | undefined
}

/** The longest time of a call with progress, unless the configuration has another. */
const totalTimeoutMs = 600_000

const keyHints = new Map([...serverKeyHints, ...wholeFileKeyHints])

/** The server, or undefined after its type was reported as a problem. */
export function readServer(name: string, section: Section, context: SchemaContext): ServerConfig | undefined {
  const common = readCommon(name, section, context)
  const kind = kindOf(section)
  if (kind === undefined) return warnOfStrangeKeys(section)
  // No secret is fetched for a server that is not started.
  const expansion = new Expansion(common.disabled ? { ...context, references: unresolved } : context)
  const server = readKind(kind, section, common, expansion, context)
  section.reportUnknownKeys(keyHints)
  warnOfExpansion(section, server, expansion)
  return server
}

function readKind(
  kind: ServerConfig['kind'],
  section: Section,
  common: Omit<ServerCommon, keyof Expanded>,
  expansion: Expansion,
  context: SchemaContext,
): ServerConfig {
  switch (kind) {
    case 'stdio':
      return readStdio(section, common, expansion, context)
    case 'http':
    case 'sse':
      return readHttp(kind, section, common, expansion, context)
    case 'sandbox': {
      const timeoutMs = context.timeoutMsForAll ?? section.read(serverFields, 'timeout')
      return readSandbox(section, common, expansion, { ...context, timeoutMs })
    }
  }
}

/** Of a server whose kind is not known: a key that no kind has may be why. */
function warnOfStrangeKeys(section: Section): undefined {
  const fields = {
    ...stdioServerFields,
    ...httpServerFields,
    ...sseServerFields,
    ...sandboxFields,
    templates: {},
  }
  for (const key of Object.keys(fields)) section.has(key)
  section.reportUnknownKeys(serverKeyHints)
}

function kindOf(section: Section): ServerConfig['kind'] | undefined {
  const type = section.raw('type')
  if (type === undefined) return guessKind(section)
  const kind = typeof type === 'string' ? serverTypes.get(type) : undefined
  if (kind === undefined) {
    const types = [...serverTypes.keys()].map((known) => `"${known}"`).join(', ')
    section.problem('type', whatItIs(type), `must be one of ${types}`)
  }
  return kind
}

function guessKind(section: Section): 'stdio' | 'http' | undefined {
  const hasCommand = section.has('command')
  const hasUrl = urlKeys.some((key) => section.has(key))
  if (hasCommand && !hasUrl) return 'stdio'
  if (hasUrl && !hasCommand) return 'http'
  const problem = hasUrl ? 'has both "command" and "url"' : 'has neither "command" nor "url"'
  const hint = hasUrl
    ? 'keep one of them, or say which with "type": "stdio" or "type": "http"'
    : 'add "command" for a program or "url" for a remote server'
  section.findings.problem(section.path, problem, hint)
  return hasCommand ? 'stdio' : undefined
}

/** A package and all that it needs are downloaded within this, on most lines. */
const FIRST_START_MS = 120_000

function readCommon(
  name: string,
  section: Section,
  { shared, source, timeoutMs, isTimeoutWritten, timeoutMsForAll, lock: settings }: SchemaContext,
): Omit<ServerCommon, keyof Expanded> {
  const values = section.readAll(serverFields)
  const settableIn = isTimeoutWritten ? undefined : `'${name}' in ${source}`
  const times = callTimes(values, { timeoutMs, totalTimeoutMs, settableIn }, timeoutMsForAll)
  const lock = readServerLock(section, settings)
  const hasDefault = section.has('command') && !section.has('startTimeout')
  return {
    name,
    disabled: values.disabled || !values.enabled,
    lazy: values.lazy,
    keep: values.keep,
    protocol: protocols.get(values.protocol) ?? 'auto',
    revision: sessionRevision(values.protocol)?.version,
    startTimeoutMs: values.startTimeout,
    firstStartTimeoutMs: hasDefault ? FIRST_START_MS : values.startTimeout,
    listTimeoutMs: values.startTimeout,
    ...times,
    tools: section.read(toolsFields, 'tools'),
    ...section.readAll(sharedFields, shared),
    ...(lock !== undefined && { lock }),
  }
}

function callTimes({ timeout, totalTimeout }: CallTimeValues, outer: CallTimes, forAll?: number): CallTimes {
  const written = forAll ?? timeout
  const timeoutMs = written ?? outer.timeoutMs
  const { settableIn } = outer
  return {
    timeoutMs,
    totalTimeoutMs: totalTimeout ?? Math.max(outer.totalTimeoutMs, timeoutMs),
    ...(written === undefined && settableIn !== undefined && { settableIn }),
  }
}

/** The form that a `${FORM:…}` of no known form may have been meant to be. */
function meantBy(text: string): string {
  const [, form = ''] = /^\$\{(\w+):/.exec(text) ?? []
  if (form === 'login')
    return 'the token of a login is no variable any more; give the program a token of its own'
  const [near] = nearest(form, ['file', 'cmd', 'keyring', 'input', 'env'])
  return near === undefined ? 'a variable is ${NAME}' : `did you mean \${${near}:…}?`
}

function warnOfExpansion(section: Section, server: ServerConfig, expansion: Expansion): void {
  const { findings, path } = section
  for (const text of expansion.foreign)
    findings.warn(path, `${text} is not a variable and stays as it is; ${meantBy(text)}`)
  for (const [key, name, value] of namedValues(server))
    if (isShellVariable(value))
      findings.warn(
        memberPath(section.pathOf(key), name),
        'is passed on as it stands; where a variable is meant, write ${NAME} in place of $NAME',
      )
  warnOfUnavailable(section, server)
}

/** The server cannot be started as it is written; `path` is its own. */
function warnOfUnavailable(
  { findings, path }: Pick<Section, 'findings' | 'path'>,
  server: ServerConfig,
): void {
  if (server.unavailable !== undefined && !server.disabled)
    findings.warn(path, `is disabled: ${server.unavailable}`)
}

type NamedValue = readonly [key: string, name: string, value: string]

/** The values that go to other programs, with the keys under which they stand. */
function namedValues(server: ServerConfig): NamedValue[] {
  switch (server.kind) {
    case 'stdio':
      return valuesUnder('env', server.env)
    case 'http':
    case 'sse':
      return valuesUnder('headers', server.headers)
    case 'sandbox':
      return []
  }
}

function valuesUnder(key: string, values: Readonly<Record<string, string>>): NamedValue[] {
  return Object.entries(values).map(([name, value]) => [key, name, value])
}

/** A value that other programs take for a variable: `$NAME` alone or behind a space. */
function isShellVariable(value: string): boolean {
  return /(?:^|\s)\$[A-Za-z_]\w*$/.test(value)
}
