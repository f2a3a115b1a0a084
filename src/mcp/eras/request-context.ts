// The `_meta` of a stateless request: how it is read, and how it is written for a client with a session.
//
// MCP 2026-07-28, Overview: `_meta`. Nothing of it holds for another request.

import { OPEN_OBJECT } from '../../jsonrpc/ascii.js'
import type { ErrorBody } from '../../jsonrpc/build.js'
import type { RequestFrame } from '../../jsonrpc/frame.js'
import { toLine } from '../../jsonrpc/line.js'
import { membersAt, membersOf } from '../../jsonrpc/members.js'
import { type Edit, NO_EDITS, inOrder, splice } from '../../jsonrpc/splice.js'
import { quote } from '../../jsonrpc/text.js'
import type { Call } from '../../calls/call.js'
import type { StatelessContext } from '../client-context.js'
import {
  type ClientCapabilities,
  type ServerIdentity,
  clientCapabilities,
  clientInfo,
  identityJson,
  noCapabilities,
  notRelayed,
  tasksRequired,
} from '../capabilities.js'
import { methodNotFound, mistyped, unsupportedVersion } from '../error-codes.js'
import { cutNamed } from '../member-edits.js'
import { type MetaMembers, requestEdits } from '../meta-edits.js'
import { inputMembers, requestMeta, requestMetaKeys } from '../meta-keys.js'
import { extensionRow, severity, statelessRequests } from '../methods.js'
import { latestStateless, statelessRevision, statelessRevisions } from '../revisions.js'

/** The revision that a request names; empty where that is no text. */
export function namedVersion({ params }: RequestFrame): string {
  return params.meta.string(requestMeta.version) ?? ''
}

/** The first required member of `_meta` that is missing or of the wrong type. */
export function metaFault(frame: RequestFrame): ErrorBody | undefined {
  const { meta } = frame.params
  if (meta.string(requestMeta.version) === undefined)
    return mistyped(`_meta.${requestMeta.version}`, 'a string')
  const capabilities = meta.span(requestMeta.capabilities)
  if (capabilities === undefined || frame.line[capabilities.start] !== OPEN_OBJECT)
    return mistyped(`_meta.${requestMeta.capabilities}`, 'an object')
  const isLevel =
    meta.span(requestMeta.logLevel) === undefined || severity(meta.string(requestMeta.logLevel)) >= 0
  return isLevel ? undefined : mistyped(`_meta.${requestMeta.logLevel}`, 'a log level')
}

export function versionFault(frame: RequestFrame): ErrorBody | undefined {
  const version = namedVersion(frame)
  const supported = statelessRevisions.map((each) => each.version)
  return supported.includes(version) ? undefined : unsupportedVersion(version, supported)
}

export function methodFault({ method }: RequestFrame): ErrorBody | undefined {
  const row = statelessRequests.get(method) ?? extensionRow(method)
  return row === undefined ? methodNotFound(method) : undefined
}

/** The facts of a client that no request says. */
export type RequestSender = Pick<StatelessContext, 'origin' | 'principal' | 'isSeveral'>

export function statelessContext(
  frame: RequestFrame,
  { origin, principal, isSeveral }: RequestSender,
): StatelessContext {
  const { meta } = frame.params
  const revision = statelessRevision(namedVersion(frame)) ?? latestStateless
  return {
    origin,
    principal,
    isSeveral,
    revision,
    capabilities: clientCapabilities(frame.line, meta.span(requestMeta.capabilities), revision),
    logLevel: meta.string(requestMeta.logLevel),
    info: clientInfo(frame.line, meta.span(requestMeta.info)),
  }
}

/** Longer words are not compared with those of the request before. */
const META_LENGTH_MAX = 4096

/** The members of `_meta` that say what the client is, as raw text; undefined if that is long. */
export function reservedMeta({ line, params: { meta } }: RequestFrame): string | undefined {
  const texts: string[] = []
  for (const name of requestMetaKeys) {
    const { start, end } = meta.span(name) ?? { start: 0, end: 0 }
    if (end - start > META_LENGTH_MAX) return undefined
    texts.push(line.toString('latin1', start, end))
  }
  return texts.join('\n')
}

// The members of `_meta` that a stateless server needs. The proxy inserts them into a request of a client with a
// session, from the client's `initialize`.

/** The capabilities of the proxy when it asks about a task itself. */
const ownTasks: ClientCapabilities = { json: tasksRequired, names: new Set(['extensions']) }

/** The members of one client, with the level that it wants. */
interface MetaTemplate extends MetaMembers {
  readonly level: string | undefined
}

/** Writes them; those of one client are written once. */
export class MetaTemplates {
  readonly #info: string
  readonly #written = new WeakMap<ClientCapabilities, MetaTemplate>()

  constructor(identity: ServerIdentity) {
    this.#info = identityJson(identity)
  }

  /** The params of a request of the proxy itself, which answers no questions. */
  own(params: string, isAboutTasks: boolean): string {
    const { text } = this.#template(isAboutTasks ? ownTasks : noCapabilities, undefined)
    const meta = `"_meta":{${text}}`
    return params === '{}' ? `{${meta}}` : `{${meta},${params.slice(1)}`
  }

  /** The edits of a client's request; `hasTasks` says that the server has the extension Tasks. */
  edits(call: Call, hasTasks: boolean, own: readonly MetaMembers[] = []): readonly Edit[] {
    const { frame, context } = call
    const { capabilities, logLevel, revision } = context
    if (revision.era === 'session') {
      const cuts = cutNamed(frame.params.members, inputMembers, 'input')
      return requestEdits(call, cuts, [...own, this.#template(capabilities, logLevel)])
    }
    const hasExtensions = capabilities.names.has('extensions')
    return requestEdits(call, hasExtensions ? withoutExtensions(frame, hasTasks) : NO_EDITS, own)
  }

  #template(capabilities: ClientCapabilities, level: string | undefined): MetaTemplate {
    const known = this.#written.get(capabilities)
    if (known !== undefined && known.level === level) return known
    const { version, capabilities: can, info, logLevel } = requestMeta
    const said = capabilities === ownTasks ? ownTasks.json : declared(capabilities)
    const wanted = level === undefined ? '' : `,"${logLevel}":${quote(level)}`
    const text = `"${version}":${quote(latestStateless.version)},"${can}":${said},"${info}":${this.#info}${wanted}`
    const template = { level, text, names: requestMetaKeys, why: 'meta' } as const
    this.#written.set(capabilities, template)
    return template
  }
}

/** The capabilities of the client, without the members that have a meaning only in a session. */
function declared({ json }: ClientCapabilities): string {
  const line = toLine(json)
  const members = membersOf(line)
  const roots = membersAt(line, members?.span('roots'))
  const edits = [
    ...(roots === undefined ? NO_EDITS : cutNamed(roots, ['listChanged'], 'meta')),
    ...(members === undefined ? NO_EDITS : cutNamed(members, ['tasks'], 'meta')),
  ]
  return splice(line, inOrder(edits)).toString()
}

/** The bytes of a stateless request pass, without extensions that do not. */
function withoutExtensions({ line, params: { meta } }: RequestFrame, hasTasks: boolean): readonly Edit[] {
  const members = membersAt(line, meta.span(requestMeta.capabilities))
  const extensions = membersAt(line, members?.span('extensions'))
  return extensions === undefined ? NO_EDITS : cutNamed(extensions, notRelayed(hasTasks), 'meta')
}
