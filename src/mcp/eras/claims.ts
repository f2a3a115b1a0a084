// What every request to a server without a handshake says of itself in `_meta`.
//
// MCP 2026-07-28, Base Protocol: `_meta`. Into a request of a client that has opened a session it is inserted, from
// what the client has said when it opened that.

import type { RequestFrame } from '../../jsonrpc/frame.js'
import { type Members, membersAt } from '../../jsonrpc/members.js'
import type { Span } from '../../jsonrpc/scan.js'
import { type Edit, inOrder, splice } from '../../jsonrpc/splice.js'
import { toLine } from '../../jsonrpc/line.js'
import { quote } from '../../jsonrpc/text.js'
import type { Call } from '../call.js'
import { type ClientCapabilities, noCapabilities } from '../capabilities.js'
import { notRelayed, tasksRequired } from '../extensions.js'
import { cutNamed } from '../member-edits.js'
import { requestMeta } from '../meta-keys.js'
import { latestStateless } from '../revisions.js'
import type { ServerIdentity } from './legacy-client.js'

const OPEN_OBJECT = 0x7b
const NONE = [] as const

/** The answers of a client that can be asked come from the proxy alone. */
const inputMembers = ['inputResponses', 'requestState']
const keys = Object.values(requestMeta)

/** What the proxy declares where it asks about a task itself. */
const ownTasks: ClientCapabilities = { json: tasksRequired, names: new Set(['extensions']) }

/** Writes them; those of one client are written once. */
export class Claims {
  readonly #info: string
  /** Without the level, which a client may change. */
  readonly #written = new WeakMap<ClientCapabilities, string>()

  constructor({ name, version }: ServerIdentity) {
    this.#info = `{"name":${quote(name)},"version":${quote(version)}}`
  }

  /** The params of a request of the proxy's own, during which nobody can be asked anything. */
  own(params: string, isAboutTasks: boolean): string {
    const meta = `"_meta":{${this.#members(isAboutTasks ? ownTasks : noCapabilities)}}`
    return params === '{}' ? `{${meta}}` : `{${meta},${params.slice(1)}`
  }

  /** The edits of a client's request; `hasTasks` says that the server has the extension Tasks. */
  edits({ frame, context }: Call, hasTasks: boolean): readonly Edit[] {
    const { capabilities, logLevel, revision } = context
    if (revision.form === 'typed')
      return capabilities.names.has('extensions') ? withoutExtensions(frame, hasTasks) : NONE
    const level = logLevel === undefined ? '' : `,"${requestMeta.logLevel}":${quote(logLevel)}`
    return [
      ...inserted(frame, `${this.#members(capabilities)}${level}`),
      ...cutNamed(frame.params.members, inputMembers, 'input'),
    ]
  }

  #members(capabilities: ClientCapabilities): string {
    const known = this.#written.get(capabilities)
    if (known !== undefined) return known
    const { version, capabilities: can, info } = requestMeta
    const said = capabilities === ownTasks ? ownTasks.json : declared(capabilities)
    const members = `"${version}":${quote(latestStateless.version)},"${can}":${said},"${info}":${this.#info}`
    this.#written.set(capabilities, members)
    return members
  }
}

/** What the client can be asked, without what has no meaning where there is no session. */
function declared({ json }: ClientCapabilities): string {
  const line = toLine(json)
  const members = membersAt(line, { start: 0, end: line.length })
  const roots = membersAt(line, members?.span('roots'))
  const edits = [
    ...(roots === undefined ? NONE : cutNamed(roots, ['listChanged'], 'meta')),
    ...(members === undefined ? NONE : cutNamed(members, ['tasks'], 'meta')),
  ]
  return splice(line, inOrder(edits)).toString()
}

/** Behind what a request has in `_meta` already, or in a `_meta` or `params` of their own. */
function inserted(frame: RequestFrame, claim: string): readonly Edit[] {
  const { span, members, meta, metaSpan } = frame.params
  if (span === undefined) return [insertion(frame.idSpan.end, `,"params":{"_meta":{${claim}}}`)]
  if (metaSpan === undefined) {
    const behind = members.size === 0 ? '' : ','
    return [insertion(span.start + 1, `"_meta":{${claim}}${behind}`)]
  }
  if (byteAt(frame, metaSpan.start) !== OPEN_OBJECT)
    return [{ ...metaSpan, bytes: Buffer.from(`{${claim}}`), why: 'meta' }]
  // Nothing that a client of a session says there has this meaning.
  const cuts = cutNamed(meta, keys, 'meta')
  const behind = keepsSome(meta) ? ',' : ''
  return [insertion(metaSpan.start + 1, `${claim}${behind}`), ...cuts]
}

function keepsSome(meta: Members): boolean {
  for (let index = 0; index < meta.size; index++) if (!meta.isNamed(index, keys)) return true
  return false
}

/** The bytes of a stateless request pass, without extensions that do not. */
function withoutExtensions(frame: RequestFrame, hasTasks: boolean): readonly Edit[] {
  const span = frame.params.meta.span(requestMeta.capabilities)
  const bytes = span && bytesAt(frame, span)
  if (span === undefined || bytes === undefined) return NONE
  const members = membersAt(bytes, { start: 0, end: bytes.length })
  const extensions = membersAt(bytes, members?.span('extensions'))
  if (extensions === undefined) return NONE
  const { start } = span
  return cutNamed(extensions, notRelayed(hasTasks), 'meta').map((cut) => ({
    ...cut,
    start: start + cut.start,
    end: start + cut.end,
  }))
}

function insertion(at: number, text: string): Edit {
  return { start: at, end: at, bytes: Buffer.from(text), why: 'meta' }
}

function byteAt(frame: RequestFrame, at: number): number | undefined {
  return bytesAt(frame, { start: at, end: at + 1 })[0]
}

/** A long message is not joined for a few of its bytes. */
function bytesAt(frame: RequestFrame, { start, end }: Span): Buffer {
  return frame.long === undefined ? frame.line.subarray(start, end) : frame.long.slice(start, end)
}
