// Arguments of a tool that header fields of an HTTP request repeat.
//
// MCP 2026-07-28, Transports, Streamable HTTP: custom headers from tool parameters. The schema of a tool marks them with
// `x-mcp-header`; a mark may stand only where `properties` alone lead.

import { membersAt } from '../jsonrpc/members.js'
import type { Span } from '../jsonrpc/scan.js'
import { rawAt, stringAt } from '../jsonrpc/text.js'
import { fieldOfText, textOfField } from './mirrored-headers.js'

/** One argument, and the field that repeats it. */
export interface ParamHeader {
  /** `Mcp-Param-` and the name, in lower case. */
  readonly field: string
  /** The members that lead to the argument. */
  readonly path: readonly string[]
}

const MARK = 'x-mcp-header'
const QUOTED_MARK = Buffer.from(`"${MARK}"`)

/** The marked arguments of a schema. */
export function paramHeaders(schema: Buffer): readonly ParamHeader[] {
  if (!schema.includes(QUOTED_MARK)) return []
  return marked(schema, { start: 0, end: schema.length }, [])
}

function marked(schema: Buffer, at: Span, path: readonly string[]): ParamHeader[] {
  const properties = membersAt(schema, membersAt(schema, at)?.span('properties'))
  return [...(properties ?? [])].flatMap(({ key, value }) => {
    const inner = [...path, stringAt(schema, key) ?? '']
    const name = membersAt(schema, value)?.string(MARK)
    const own = name === undefined ? [] : [{ field: `mcp-param-${name.toLowerCase()}`, path: inner }]
    return [...own, ...marked(schema, value, inner)]
  })
}

/** The fields that repeat arguments, names and values in turn; what is not given, or null, has none. */
export function paramFields(headers: readonly ParamHeader[], args: Buffer): readonly string[] {
  const values = new Values(args)
  return headers.flatMap(({ field, path }) => {
    const value = values.at(path)
    if (value === undefined || rawAt(args, value) === 'null') return []
    return [field, fieldOfText(stringAt(args, value) ?? rawAt(args, value))]
  })
}

/** The name of the first field that is not what the argument is; undefined where all are. */
export function differingField(
  headers: readonly ParamHeader[],
  args: Buffer | undefined,
  field: (name: string) => string | undefined,
): string | undefined {
  if (args === undefined) return undefined
  const values = new Values(args)
  return headers.find((header) => !isRepeated(header, args, values, field))?.field
}

function isRepeated(
  { field, path }: ParamHeader,
  args: Buffer,
  values: Values,
  read: (name: string) => string | undefined,
): boolean {
  const value = values.at(path)
  // What is not given, or null, is not repeated, and a field for it says nothing.
  if (value === undefined || rawAt(args, value) === 'null') return true
  const sent = read(field)
  const text = sent === undefined ? undefined : textOfField(sent)
  if (text === undefined) return false
  const string = stringAt(args, value)
  if (string !== undefined) return text === string
  const raw = rawAt(args, value)
  return text === raw || (NUMBER.test(text) && NUMBER.test(raw) && Number(text) === Number(raw))
}

const NUMBER = /^-?\d+(?:\.\d+)?$/

/** Finds arguments; each object on the way is read once, since they may be long and many of them marked. */
class Values {
  readonly #args: Buffer
  /** The members of an object by their names, by where the object begins. */
  readonly #objects = new Map<number, ReadonlyMap<string, Span>>()

  constructor(args: Buffer) {
    this.#args = args
  }

  at(path: readonly string[]): Span | undefined {
    let at: Span | undefined = { start: 0, end: this.#args.length }
    for (const name of path) at = at && this.#membersOf(at).get(name)
    return at
  }

  #membersOf(object: Span): ReadonlyMap<string, Span> {
    const known = this.#objects.get(object.start)
    if (known !== undefined) return known
    const members = new Map<string, Span>()
    for (const { key, value } of membersAt(this.#args, object) ?? [])
      members.set(stringAt(this.#args, key) ?? '', value)
    this.#objects.set(object.start, members)
    return members
  }
}
