// What every request to a server without a handshake says of itself in `_meta`.
//
// MCP 2026-07-28, Base Protocol: `_meta`. Into a request of a client that has opened a session it is inserted, from
// what the client has said when it opened that.

import type { RequestFrame } from '../../jsonrpc/frame.js'
import { type Members, membersAt } from '../../jsonrpc/members.js'
import { type Edit, NO_EDITS, bothEdits, inOrder, splice } from '../../jsonrpc/splice.js'
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

/** The answers of a client that can be asked come from the proxy alone. */
const inputMembers = ['inputResponses', 'requestState']
const keys = Object.values(requestMeta)

/** What the proxy declares where it asks about a task itself. */
const ownTasks: ClientCapabilities = { json: tasksRequired, names: new Set(['extensions']) }

/** What a request says of one client, as raw JSON. */
interface Claim {
  readonly level: string | undefined
  readonly members: string
  /** A `_meta` of these members, before another member. */
  readonly before: Uint8Array
  /** The members, before another one. */
  readonly inside: Uint8Array
}

/** Writes them; those of one client are written once. */
export class Claims {
  readonly #info: string
  /** With the level that the client wants now. */
  readonly #written = new WeakMap<ClientCapabilities, Claim>()

  constructor({ name, version }: ServerIdentity) {
    this.#info = `{"name":${quote(name)},"version":${quote(version)}}`
  }

  /** The params of a request of the proxy's own, during which nobody can be asked anything. */
  own(params: string, isAboutTasks: boolean): string {
    const { members } = this.#claim(isAboutTasks ? ownTasks : noCapabilities, undefined)
    const meta = `"_meta":{${members}}`
    return params === '{}' ? `{${meta}}` : `{${meta},${params.slice(1)}`
  }

  /** The edits of a client's request; `hasTasks` says that the server has the extension Tasks. */
  edits({ frame, context }: Call, hasTasks: boolean): readonly Edit[] {
    const { capabilities, logLevel, revision } = context
    if (revision.form === 'typed')
      return capabilities.names.has('extensions') ? withoutExtensions(frame, hasTasks) : NO_EDITS
    const own = inserted(frame, this.#claim(capabilities, logLevel))
    const cuts = cutNamed(frame.params.members, inputMembers, 'input')
    return bothEdits(own, cuts)
  }

  #claim(capabilities: ClientCapabilities, level: string | undefined): Claim {
    const known = this.#written.get(capabilities)
    if (known !== undefined && known.level === level) return known
    const { version, capabilities: can, info, logLevel } = requestMeta
    const said = capabilities === ownTasks ? ownTasks.json : declared(capabilities)
    const wanted = level === undefined ? '' : `,"${logLevel}":${quote(level)}`
    const members = `"${version}":${quote(latestStateless.version)},"${can}":${said},"${info}":${this.#info}${wanted}`
    const [before, inside] = [Buffer.from(`"_meta":{${members}},`), Buffer.from(`${members},`)]
    const claim = { level, members, before, inside }
    this.#written.set(capabilities, claim)
    return claim
  }
}

/** What the client can be asked, without what has no meaning where there is no session. */
function declared({ json }: ClientCapabilities): string {
  const line = toLine(json)
  const members = membersAt(line, { start: 0, end: line.length })
  const roots = membersAt(line, members?.span('roots'))
  const edits = [
    ...(roots === undefined ? NO_EDITS : cutNamed(roots, ['listChanged'], 'meta')),
    ...(members === undefined ? NO_EDITS : cutNamed(members, ['tasks'], 'meta')),
  ]
  return splice(line, inOrder(edits)).toString()
}

/** Behind what a request has in `_meta` already, or in a `_meta` or `params` of their own. */
function inserted(frame: RequestFrame, claim: Claim): readonly Edit[] {
  const { span, members, meta, metaSpan } = frame.params
  const said = claim.members
  if (span === undefined) return [insertion(frame.idSpan.end, `,"params":{"_meta":{${said}}}`)]
  const start = span.start + 1
  if (metaSpan === undefined)
    return [members.size === 0 ? insertion(start, `"_meta":{${said}}`) : at(start, claim.before)]
  if (frame.line[metaSpan.start] !== OPEN_OBJECT)
    return [{ ...metaSpan, bytes: Buffer.from(`{${said}}`), why: 'meta' }]
  // Nothing that a client of a session says there has this meaning.
  const cuts = cutNamed(meta, keys, 'meta')
  const first = metaSpan.start + 1
  return [keepsSome(meta) ? at(first, claim.inside) : insertion(first, said), ...cuts]
}

function keepsSome(meta: Members): boolean {
  for (let index = 0; index < meta.size; index++) if (!meta.isNamed(index, keys)) return true
  return false
}

/** The bytes of a stateless request pass, without extensions that do not. */
function withoutExtensions(frame: RequestFrame, hasTasks: boolean): readonly Edit[] {
  const span = frame.params.meta.span(requestMeta.capabilities)
  const bytes = span && frame.line.subarray(span.start, span.end)
  if (span === undefined || bytes === undefined) return NO_EDITS
  const members = membersAt(bytes, { start: 0, end: bytes.length })
  const extensions = membersAt(bytes, members?.span('extensions'))
  if (extensions === undefined) return NO_EDITS
  const { start } = span
  return cutNamed(extensions, notRelayed(hasTasks), 'meta').map((cut) => ({
    ...cut,
    start: start + cut.start,
    end: start + cut.end,
  }))
}

function insertion(start: number, text: string): Edit {
  return at(start, Buffer.from(text))
}

function at(start: number, bytes: Uint8Array): Edit {
  return { start, end: start, bytes, why: 'meta' }
}
