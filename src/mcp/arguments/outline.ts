// The required names and the types of the top level: what is checked of a schema that cannot be run, and of long arguments.
//
// Nothing inside a value is read.

import type { ErrorObject } from 'ajv'
import { OPEN_ARRAY, OPEN_OBJECT, QUOTE } from '../../jsonrpc/ascii.js'
import { type MemberSink, Scanner } from '../../jsonrpc/scan.js'
import { parse, rawAt, stringAt } from '../../jsonrpc/text.js'
import { isOfType } from './coercion.js'
import { isJsonArray, isJsonObject, type JsonObject, listOf, membersOf } from './json-value.js'

/** A longer text is not read for what it may be instead of a text. */
const TEXT_BYTES_MAX = 1024

/** What a schema says of the names and types of its top level, as a schema of its own; undefined where that is nothing. */
export function outlineOf(root: JsonObject): JsonObject | undefined {
  const properties = membersOf(root['properties']).flatMap(([name, member]) => {
    const types = isJsonObject(member) ? typesOf(member) : []
    return types.length === 0 || !isJsonObject(member)
      ? []
      : [[name, { type: types, ...(Object.hasOwn(member, 'default') && { default: true }) }] as const]
  })
  const required = listOf(root['required']).filter((name) => typeof name === 'string')
  if (properties.length + required.length === 0) return undefined
  return { required, properties: Object.fromEntries(properties) }
}

function typesOf({ type, nullable }: JsonObject): readonly unknown[] {
  const types = isJsonArray(type) ? type : type === undefined ? [] : [type]
  const areKnown = types.every((each) => typeof each === 'string' && known.has(each))
  if (!areKnown) return []
  return nullable === true && types.length > 0 ? [...types, 'null'] : types
}

const known: ReadonlySet<string> = new Set([
  'string',
  'number',
  'integer',
  'boolean',
  'null',
  'array',
  'object',
])

/** What is wrong with the members of the top level, as ajv would say it. */
export function outlineErrors(outline: JsonObject, value: JsonObject): readonly ErrorObject[] {
  const missing = listOf(outline['required']).filter((name) => !Object.hasOwn(value, String(name)))
  const mistyped = membersOf(outline['properties']).flatMap(([name, member]) => {
    const types = isJsonObject(member) ? listOf(member['type']) : []
    const isFit = !Object.hasOwn(value, name) || types.some((type) => isOfType(value[name], type))
    return isFit
      ? []
      : [errorAt(`/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`, 'type', { type: types })]
  })
  return [...missing.map((name) => errorAt('', 'required', { missingProperty: name })), ...mistyped]
}

function errorAt(instancePath: string, keyword: string, params: Record<string, unknown>): ErrorObject {
  return { instancePath, keyword, params, schemaPath: `#${instancePath}/${keyword}` }
}

/** The members of long arguments that an outline names; of lists and objects only that they are some. */
export function topLevel(bytes: Buffer, outline: JsonObject, strings?: readonly number[]): JsonObject {
  const members = new TopLevel(
    bytes,
    new Set([...listOf(outline['required']), ...membersOf(outline['properties']).map(([name]) => name)]),
  )
  new Scanner(bytes, Number.MAX_SAFE_INTEGER, strings).object(0, 1, members)
  return Object.fromEntries(members.found)
}

class TopLevel implements MemberSink {
  readonly #bytes: Buffer
  readonly #names: ReadonlySet<unknown>
  readonly found = new Map<string, unknown>()

  constructor(bytes: Buffer, names: ReadonlySet<unknown>) {
    this.#bytes = bytes
    this.#names = names
  }

  inside(): undefined {
    return undefined
  }

  add(key: number, keyEnd: number, start: number, end: number): boolean {
    const name = stringAt(this.#bytes, { start: key, end: keyEnd })
    if (name !== undefined && this.#names.has(name)) this.found.set(name, this.#valueAt(start, end))
    return true
  }

  #valueAt(start: number, end: number): unknown {
    const first = this.#bytes[start]
    if (first === OPEN_OBJECT) return {}
    if (first === OPEN_ARRAY) return []
    if (first !== QUOTE || end - start <= TEXT_BYTES_MAX) return parse(rawAt(this.#bytes, { start, end }))
    const inside = this.#bytes[start + 1]
    return inside === OPEN_ARRAY ? '[]' : inside === OPEN_OBJECT ? '{}' : 'x'
  }
}
