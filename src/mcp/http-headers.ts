// The header fields of an HTTP request that repeat parts of its message.
//
// MCP 2026-07-28, Transports, Streamable HTTP: standard request headers, value encoding, and custom headers
// from tool parameters; the extension Tasks: routing headers. The schema of a tool marks arguments with
// `x-mcp-header`; only `properties` may lead to a mark. A field carries other than plain text as Base64.

import { readMessage, type RequestFrame } from '../jsonrpc/frame.js'
import { type Member, membersAt } from '../jsonrpc/members.js'
import type { Span } from '../jsonrpc/scan.js'
import { parse, rawAt, stringAt, write } from '../jsonrpc/text.js'
import { isObject, memberAt } from '../text/json-object.js'
import { listOf } from './arguments/json-value.js'
import type { Line } from '../jsonrpc/line.js'
import { requestMeta } from './meta-keys.js'
import type { ErrorBody } from '../jsonrpc/build.js'
import type { FieldReader } from '../jsonrpc/connection.js'
import { headerMismatch } from './error-codes.js'
import type { ListItem } from './list-items.js'
import { namingMembers, statelessRequests } from './methods.js'

/** The text that `Mcp-Name` repeats, if the message has it; undefined for a method without this field. */
export function mirroredName({
  method,
  params,
}: RequestFrame): { readonly text: string | undefined } | undefined {
  const member = namingMembers[statelessRequests.get(method)?.route.to ?? 'proxy']
  return member === undefined ? undefined : { text: params.members.string(member) }
}

const ENCODED = /^=\?base64\?((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)\?=$/
const LOOKS_ENCODED = /^=\?base64\?.*\?=$/s
const PLAIN = /^[\x20-\x7e]*$/

/** Decodes a field value; undefined for an invalid value. */
export function textOfField(value: string): string | undefined {
  if (!LOOKS_ENCODED.test(value)) return PLAIN.test(value) ? value : undefined
  const [, encoded] = ENCODED.exec(value) ?? []
  if (encoded === undefined) return undefined
  const bytes = Buffer.from(encoded, 'base64')
  const text = bytes.toString('utf8')
  // Each text has one encoding: spare bits and bytes that are not UTF-8 are invalid.
  const isWhole = bytes.toString('base64') === encoded && Buffer.from(text).equals(bytes)
  return isWhole ? text : undefined
}

/** Encodes a text as a field value. A text that a field can carry stays unchanged. */
function fieldOfText(text: string): string {
  const isPlain = PLAIN.test(text) && text.trim() === text && text !== '' && !LOOKS_ENCODED.test(text)
  return isPlain ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`
}

export interface ParamHeader {
  /** `Mcp-Param-` and the name, in lower case. */
  readonly field: string
  readonly path: readonly string[]
}

const MARK = 'x-mcp-header'
const QUOTED_MARK = Buffer.from(`"${MARK}"`)

export function paramHeaders(schema: Buffer): readonly ParamHeader[] {
  return [...marksOf(schema)].flatMap(({ name, path = [] }) =>
    name === undefined || path.length === 0 ? [] : [{ field: `mcp-param-${name.toLowerCase()}`, path }],
  )
}

/** The first fault in the marks of a schema. Clients that use HTTP leave out a tool with such a fault. */
export function markFault(schema: Buffer): string | undefined {
  const names = new Set<string>()
  for (const { name, path = [], type } of marksOf(schema)) {
    if (name === undefined || !TOKEN.test(name)) return `"${MARK}" is no name of a header field`
    if (path.length === 0) return `"${MARK}" '${name}' is not on a property of its arguments`
    if (!markable.includes(type))
      return `"${MARK}" '${name}' is on a property that is no string, integer or boolean`
    if (names.has(name.toLowerCase())) return `"${MARK}" '${name}' stands twice`
    names.add(name.toLowerCase())
  }
  return undefined
}

/** The characters of a field name (RFC 9110, section 5.6.2). */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const markable: readonly unknown[] = ['string', 'integer', 'boolean']

interface Mark {
  readonly name: string | undefined
  /** The names of the properties that lead to the mark; undefined if other keywords lead there. */
  readonly path: readonly string[] | undefined
  readonly type: unknown
}

/** Keywords whose members are schemas by name. */
const maps = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])
/** Keywords that hold plain values, even if these look like schemas. */
const values = new Set(['const', 'default', 'enum', 'examples'])

function marksOf(schema: Buffer): Iterable<Mark> {
  return schema.includes(QUOTED_MARK) ? marksIn(parse(schema.toString()), []) : []
}

function* marksIn(schema: unknown, path: readonly string[] | undefined): Iterable<Mark> {
  for (const item of listOf(schema)) yield* marksIn(item, undefined)
  if (!isObject(schema)) return
  const { [MARK]: mark, type } = schema
  if (mark !== undefined) yield { name: typeof mark === 'string' ? mark : undefined, path, type }
  for (const [keyword, value] of Object.entries(schema)) {
    if (maps.has(keyword)) {
      const above = keyword === 'properties' ? path : undefined
      for (const [name, each] of Object.entries(isObject(value) ? value : {}))
        yield* marksIn(each, above && [...above, name])
    } else if (!values.has(keyword)) yield* marksIn(value, undefined)
  }
}

/** The fields that repeat arguments, names and values in turn. A missing or null argument has no field. */
export function paramFields(headers: readonly ParamHeader[], args: Buffer): readonly string[] {
  const given = new Given(args)
  return headers.flatMap(({ field, path }) => {
    const value = given.at(path)
    return value === null ? [] : [field, fieldOfText(given.textOf(value, path))]
  })
}

/** The name of the first field that differs from its argument; undefined if all fields agree. */
export function differingField(
  headers: readonly ParamHeader[],
  args: Buffer | undefined,
  field: FieldReader,
): string | undefined {
  if (args === undefined) return undefined
  const given = new Given(args)
  return headers.find((header) => !isRepeated(given, header.path, field(header.field)))?.field
}

/** A missing or null argument needs no field, and a field for it has no meaning. */
function isRepeated(given: Given, path: readonly string[], sent: string | undefined): boolean {
  const value = given.at(path)
  if (value === null) return true
  const text = sent === undefined ? undefined : textOfField(sent)
  if (text === undefined) return false
  return text === given.textOf(value, path) || (NUMBER.test(text) && Number(text) === value)
}

const NUMBER = /^-?\d+(?:\.\d+)?$/

/** The arguments of a call: their parsed values, and the written form of numbers, which parsing loses. */
class Given {
  readonly #args: Buffer
  readonly #value: unknown

  constructor(args: Buffer) {
    this.#args = args
    this.#value = parse(args.toString())
  }

  /** Null for a missing argument. */
  at(path: readonly string[]): unknown {
    return memberAt(this.#value, path) ?? null
  }

  textOf(value: unknown, path: readonly string[]): string {
    if (typeof value === 'string') return value
    const span = typeof value === 'number' ? this.#spanOf(path) : undefined
    return span === undefined ? write(value) : rawAt(this.#args, span)
  }

  /** Undefined if an object on the path has too many members to be read. */
  #spanOf(path: readonly string[]): Span | undefined {
    let span: Span | undefined = { start: 0, end: this.#args.length }
    for (const name of path) {
      const members: readonly Member[] = [...(membersAt(this.#args, span) ?? [])]
      span = members.findLast(({ key }) => stringAt(this.#args, key) === name)?.value
    }
    return span
  }
}

/** Returns the marked arguments of a tool; `tool` is the server's own name of it. */
export type MarkedParams = (tool: string) => readonly ParamHeader[]

/**
 * The fields of a message to a server without sessions, names and values in turn; undefined for a message
 * that names no revision.
 *
 * The fields repeat the bytes that the proxy sends, because the server uses other names than the clients.
 */
export function requestFields(message: Line, marked: MarkedParams): readonly string[] | undefined {
  const frame = readMessage(message)
  if (frame.kind !== 'request') return undefined
  const version = frame.params.meta.string(requestMeta.version)
  if (version === undefined) return undefined
  const fields = ['MCP-Protocol-Version', version, 'Mcp-Method', fieldOfText(frame.method)]
  const name = mirroredName(frame)?.text
  if (name !== undefined) fields.push('Mcp-Name', fieldOfText(name))
  return frame.method === 'tools/call' ? [...fields, ...argumentFields(frame, marked(name ?? ''))] : fields
}

function argumentFields({ line, params }: RequestFrame, marked: readonly ParamHeader[]): readonly string[] {
  const span = params.members.span('arguments')
  return marked.length === 0 || span === undefined
    ? []
    : paramFields(marked, line.subarray(span.start, span.end))
}

/** The error of a call whose header fields differ from its arguments; undefined if they agree. */
export function fieldFault(frame: RequestFrame, field: FieldReader, item: ListItem): ErrorBody | undefined {
  if (item.schemaSpan === undefined) return undefined
  const { start, end } = item.schemaSpan
  const headers = paramHeaders(item.line.subarray(start, end))
  if (headers.length === 0) return undefined
  const span = frame.params.members.span('arguments')
  const bytes = span && frame.line.subarray(span.start, span.end)
  const name = differingField(headers, bytes, field)
  return name === undefined
    ? undefined
    : headerMismatch(`the header field ${name} is not what the argument is that it repeats`)
}
