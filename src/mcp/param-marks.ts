// Whether the marks of a tool's schema, by which header fields repeat arguments, are as they must be.
//
// MCP 2026-07-28, Transports, Streamable HTTP: custom headers from tool parameters. A client that uses HTTP leaves out a
// tool whose marks are not.

import { itemsAt, membersAt } from '../jsonrpc/members.js'
import type { Span } from '../jsonrpc/scan.js'
import { stringAt } from '../jsonrpc/text.js'

const MARK = 'x-mcp-header'
const QUOTED_MARK = Buffer.from(`"${MARK}"`)
const OPEN_OBJECT = 0x7b
const OPEN_ARRAY = 0x5b

/** What a field name may be made of (RFC 9110, section 5.6.2). */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const markable: readonly unknown[] = ['string', 'integer', 'boolean']

/** Members whose members are schemas by name. */
const maps: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
])
/** Members that hold values, whatever these look like. */
const values: ReadonlySet<string> = new Set(['const', 'default', 'enum', 'examples'])

/** What is wrong with the marks of a schema; undefined where nothing is. */
export function markFault(schema: Buffer): string | undefined {
  if (!schema.includes(QUOTED_MARK)) return undefined
  const marks = new Marks(schema)
  marks.schema({ start: 0, end: schema.length }, 'root')
  return marks.fault
}

/** How a schema was reached: a mark may stand only where `properties` alone lead. */
type Reached = 'root' | 'by-properties' | 'otherwise'

class Marks {
  readonly #bytes: Buffer
  readonly #names = new Set<string>()
  fault: string | undefined

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  schema(at: Span, reached: Reached): void {
    const members = membersAt(this.#bytes, at)
    const mark = members?.span(MARK)
    if (mark !== undefined) this.#mark(stringAt(this.#bytes, mark), members?.string('type'), reached)
    for (const { key, value } of members ?? []) {
      const name = stringAt(this.#bytes, key) ?? ''
      if (maps.has(name)) this.#map(value, name === 'properties' && reached !== 'otherwise')
      else if (!values.has(name)) this.#inner(value)
    }
  }

  #map(at: Span, isReached: boolean): void {
    for (const { value } of membersAt(this.#bytes, at) ?? [])
      this.schema(value, isReached ? 'by-properties' : 'otherwise')
  }

  #inner(at: Span): void {
    const first = this.#bytes[at.start]
    if (first === OPEN_OBJECT) this.schema(at, 'otherwise')
    else if (first === OPEN_ARRAY) for (const item of itemsAt(this.#bytes, at)) this.#inner(item)
  }

  #mark(name: string | undefined, type: string | undefined, reached: Reached): void {
    if (name === undefined || !TOKEN.test(name)) this.fault ??= `"${MARK}" is no name of a header field`
    else if (reached !== 'by-properties')
      this.fault ??= `"${MARK}" '${name}' is not on a property of its arguments`
    else if (!markable.includes(type))
      this.fault ??= `"${MARK}" '${name}' is on a property that is no string, integer or boolean`
    else if (this.#names.has(name.toLowerCase())) this.fault ??= `"${MARK}" '${name}' stands twice`
    else this.#names.add(name.toLowerCase())
  }
}
