// One server of the file -> one `ServerConfig`.

import type { ServerCommon, ServerConfig, ToolFilter } from '../upstream/contracts/server-config.js'
import type { Environment } from './configuration.js'
import { Expansion } from './expand.js'
import { hintOfForeign, isShellVariable, serverKeyHints } from './foreign.js'
import { memberPath, whatItIs } from './problems.js'
import { readHttp, urlKeys } from './remote-server.js'
import type { Section } from './section.js'
import {
  httpServerFields,
  serverFields,
  serverTypes,
  sharedFields,
  sseServerFields,
  toolFields,
} from './server-fields.js'
import type { SharedValues } from './server-fields.js'
import { stdioServerFields } from './stdio-fields.js'
import { readStdio } from './stdio-server.js'
import { type TimeDefaults, readTimes, readToolTimes } from './times.js'

/** What servers of one schema have in common, and where their strings come from. */
export interface ServerContext extends TimeDefaults {
  readonly env: Environment
  readonly home: string
  /** What editors put in without asking the environment, such as `userHome`. */
  readonly known: ReadonlyMap<string, string>
  /** Where relative working folders begin. */
  readonly folder: string
  readonly shared: SharedValues
}

/** The server, or undefined after its type was reported as a problem. */
export function readServer(name: string, section: Section, context: ServerContext): ServerConfig | undefined {
  const common = readCommon(name, section, context)
  const kind = kindOf(section)
  if (kind === undefined) return warnOfStrangeKeys(section)
  const expansion = new Expansion(context.env, context.known)
  const server =
    kind === 'stdio'
      ? readStdio(section, common, expansion, context)
      : readHttp(kind, section, common, { ...context, expansion })
  section.warnOfUnknownKeys(serverKeyHints)
  warnOfExpansion(section, server, expansion)
  return server
}

/** Of a server whose kind is not known: a key that no kind has may be why. */
function warnOfStrangeKeys(section: Section): undefined {
  for (const fields of [stdioServerFields, httpServerFields, sseServerFields])
    for (const key of Object.keys(fields)) section.has(key)
  for (const key of ['auth', 'tls']) section.has(key)
  section.warnOfUnknownKeys(serverKeyHints)
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

function readCommon(name: string, section: Section, context: ServerContext): ServerCommon {
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
    ...readShared(section, context.shared),
    variables: [],
    secrets: [],
  }
}

/** The values of a section for all of its servers; `outer` are those of the enclosing section. */
export function readShared(section: Section, outer: SharedValues): SharedValues {
  return {
    prefix: section.has('prefix') ? section.read(sharedFields, 'prefix') : outer.prefix,
    describe: section.has('describe') ? section.read(sharedFields, 'describe') : outer.describe,
    argumentErrors: section.has('argumentErrors')
      ? section.read(sharedFields, 'argumentErrors')
      : outer.argumentErrors,
    argumentChecks: section.has('argumentChecks')
      ? section.read(sharedFields, 'argumentChecks')
      : outer.argumentChecks,
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

function warnOfExpansion(section: Section, server: ServerConfig, expansion: Expansion): void {
  const { findings, path } = section
  for (const text of expansion.foreign)
    findings.warn(path, `${text} is not a variable and stays as it is; ${hintOfForeign(text)}`)
  const [key, values] = server.kind === 'stdio' ? ['env', server.env] : ['headers', server.headers]
  for (const [name, value] of Object.entries(values))
    if (isShellVariable(value)) {
      const at = memberPath(section.pathOf(key), name)
      findings.warn(
        at,
        'is passed on as it stands; where a variable is meant, write ${NAME} in place of $NAME',
      )
    }
  if (server.unavailable !== undefined && !server.disabled)
    findings.warn(path, `is disabled: ${server.unavailable}`)
}
