// The servers in a file that is TOML, of which each is a table: `[mcp_servers.NAME]`, and tables below it.
//
// The whole file is read, because a text of several lines may look like a table; of it only the tables of servers are
// changed, as text. docs/decisions/016 says why no package does this.

import { isObject } from '../../text/json-object.js'
import { type FileReading, type ServerEdits, refuse } from './servers-file.js'

/** A table of the file. */
interface Table {
  readonly path: readonly string[]
  readonly isList: boolean
  /** From the beginning of its header to the end of the line of its last member. */
  readonly start: number
  end: number
  readonly members: (readonly [key: readonly string[], value: unknown])[]
}

class Mistake extends Error {}

export function readTomlFile(text: string, key: string): FileReading {
  try {
    const tables = new Reader(text).tables()
    const servers = new Map<string, Record<string, unknown>>()
    for (const table of tables) addTable(table, key, servers)
    return { kind: 'servers', servers, value: undefined, edit: (edits) => edited(text, key, tables, edits) }
  } catch (error) {
    if (error instanceof Mistake) return refuse(error.message)
    throw error
  }
}

/** Puts the members of a table of a server into the entry of this server. */
function addTable(
  { path, isList, members }: Table,
  key: string,
  servers: Map<string, Record<string, unknown>>,
): void {
  const [first, name, ...below] = path
  const isOther = first === undefined ? members.every(([[own]]) => own !== key) : first !== key
  if (isOther) return
  if (name === undefined && members.length === 0 && !isList) return
  if (name === undefined || isList)
    throw new Mistake(`has servers that are no tables like [${key}.NAME], and these are not read`)
  const entry = servers.get(name) ?? Object.create(null)
  servers.set(name, entry)
  place(entry, below, `[${path.join('.')}]`)
  for (const [names, value] of members) {
    const owner = place(entry, [...below, ...names.slice(0, -1)], names.join('.'))
    const last = names.at(-1) ?? ''
    if (Object.hasOwn(owner, last)) throw new Mistake(`has ${[...path, ...names].join('.')} twice`)
    owner[last] = value
  }
}

/** The object at a path below, which is made where it is not there. */
function place(
  entry: Record<string, unknown>,
  path: readonly string[],
  what: string,
): Record<string, unknown> {
  let at = entry
  for (const name of path) {
    at[name] ??= Object.create(null)
    const next = at[name]
    if (!isRecord(next)) throw new Mistake(`has ${what} below a value that is no table`)
    at = next
  }
  return at
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return isObject(value)
}

function edited(text: string, key: string, tables: readonly Table[], { removed, set }: ServerEdits): string {
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  const gone = new Set([...removed, ...set.keys()])
  const regions = tables.filter(
    ({ path: [first, name] }) => first === key && name !== undefined && gone.has(name),
  )
  const names = new Set(regions.map(({ path: [, name = ''] }) => name))
  const added = [...set].filter(([name]) => !names.has(name))
  const written = new Set<string>()
  const texts = regions.map(({ path: [, name = ''] }, at) => {
    const own = written.has(name) ? undefined : set.get(name)
    written.add(name)
    const entries = [...(own === undefined ? [] : [[name, own] as const]), ...(at === 0 ? added : [])]
    return entries.map(([each, entry]) => tableText(key, each, entry, eol)).join(eol)
  })
  let after = text
  for (const [at, { start, end }] of [...regions.entries()].toReversed()) {
    const put = texts[at] ?? ''
    // A table that goes takes the empty line behind it along.
    const rest = put === '' ? after.slice(end).replace(/^[ \t]*\r?\n/, '') : after.slice(end)
    after = after.slice(0, start) + put + rest
  }
  if (regions.length > 0) return after
  const gap = text === '' || text.endsWith('\n') ? '' : eol
  return `${text}${gap}${text === '' ? '' : eol}${added.map(([each, entry]) => tableText(key, each, entry, eol)).join(eol)}`
}

function tableText(key: string, name: string, entry: object, eol: string): string {
  const members = Object.entries(entry).map(
    ([member, value]) => `${keyText(member)} = ${valueText(value)}${eol}`,
  )
  return `[${key}.${keyText(name)}]${eol}${members.join('')}`
}

function keyText(name: string): string {
  return /^[A-Za-z0-9_-]+$/.test(name) ? name : JSON.stringify(name)
}

function valueText(value: unknown): string {
  return Array.isArray(value) ? `[${value.map(valueText).join(', ')}]` : JSON.stringify(value)
}

const escapes: Readonly<Record<string, string>> = {
  b: '\b',
  t: '\t',
  n: '\n',
  f: '\f',
  r: '\r',
  '"': '"',
  '\\': '\\',
}

/** Reads TOML 1.0; a date is null, since no member of a server is one. */
class Reader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  tables(): Table[] {
    let table: Table = { path: [], isList: false, start: 0, end: 0, members: [] }
    const tables = [table]
    for (this.#skip(); this.#at < this.#text.length; this.#skip()) {
      const start = this.#at
      if (this.#takes('[')) {
        const isList = this.#takes('[')
        const path = this.#key()
        this.#expect(isList ? ']]' : ']')
        table = { path, isList, start, end: 0, members: [] }
        tables.push(table)
      } else {
        const key = this.#key()
        this.#expect('=')
        table.members.push([key, this.#value()])
      }
      this.#endOfLine()
      table.end = this.#at
    }
    return tables
  }

  #key(): string[] {
    const names: string[] = []
    do {
      this.#match(/[ \t]*/y)
      const bare = this.#match(/[A-Za-z0-9_-]+/y)
      names.push(bare ?? this.#oneLineText() ?? this.#fail('a key was expected'))
      this.#match(/[ \t]*/y)
    } while (this.#takes('.'))
    return names
  }

  #value(): unknown {
    this.#match(/[ \t]*/y)
    const text = this.#longText() ?? this.#oneLineText()
    if (text !== undefined) return text
    if (this.#takes('[')) return this.#list()
    if (this.#takes('{')) return this.#table()
    const word = this.#match(/[^\s,\]}#"']+(?: \d{2}:[^\s,\]}#]+)?/y) ?? this.#fail('a value was expected')
    if (word === 'true' || word === 'false') return word === 'true'
    return /^[+-]?\d[\d_]*(?:\.\d[\d_]*)?$/.test(word) ? Number(word.replaceAll('_', '')) : null
  }

  #list(): unknown[] {
    const values: unknown[] = []
    for (this.#skip(); !this.#takes(']'); this.#skip()) {
      values.push(this.#value())
      this.#skip()
      if (!this.#takes(',')) {
        this.#expect(']')
        break
      }
    }
    return values
  }

  #table(): Record<string, unknown> {
    const entry: Record<string, unknown> = Object.create(null)
    this.#match(/[ \t]*/y)
    if (this.#takes('}')) return entry
    do {
      const names = this.#key()
      this.#expect('=')
      place(entry, names.slice(0, -1), names.join('.'))[names.at(-1) ?? ''] = this.#value()
      this.#match(/[ \t]*/y)
    } while (this.#takes(','))
    this.#expect('}')
    return entry
  }

  #longText(): string | undefined {
    const literal = this.#match(/'''(?:\r?\n)?[^]*?'''(?!')/y)
    if (literal !== undefined) return literal.slice(3, -3).replace(/^\r?\n/, '')
    const basic = this.#match(/"""(?:[^\\]|\\[^])*?"""(?!")/y)
    if (basic === undefined) return undefined
    return this.#unescaped(
      basic
        .slice(3, -3)
        .replace(/^\r?\n/, '')
        .replaceAll(/\\[ \t]*\r?\n\s*/g, ''),
    )
  }

  #oneLineText(): string | undefined {
    const literal = this.#match(/'[^'\n]*'/y)
    if (literal !== undefined) return literal.slice(1, -1)
    const basic = this.#match(/"(?:[^"\\\n]|\\.)*"/y)
    return basic === undefined ? undefined : this.#unescaped(basic.slice(1, -1))
  }

  #unescaped(text: string): string {
    return text.replaceAll(/\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([^]))/g, (_, short, long, letter) => {
      const code: unknown = short ?? long
      if (typeof code === 'string') return String.fromCodePoint(Number.parseInt(code, 16))
      return escapes[String(letter)] ?? this.#fail(`\\${String(letter)} is no escape`)
    })
  }

  /** Blanks, line ends and comments. */
  #skip(): void {
    this.#match(/(?:\s|#[^\n]*)*/y)
  }

  #endOfLine(): void {
    this.#match(/[ \t]*(?:#[^\n]*)?/y)
    if (this.#at < this.#text.length && this.#match(/\r?\n/y) === undefined)
      this.#fail('the end of the line was expected')
  }

  #takes(sign: string): boolean {
    if (!this.#text.startsWith(sign, this.#at)) return false
    this.#at += sign.length
    return true
  }

  #expect(sign: string): void {
    this.#match(/[ \t]*/y)
    if (!this.#takes(sign)) this.#fail(`${sign} was expected`)
  }

  /** `pattern` is sticky. */
  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at
    const [found] = pattern.exec(this.#text) ?? []
    this.#at += found?.length ?? 0
    return found
  }

  #fail(why: string): never {
    const line = this.#text.slice(0, this.#at).split('\n').length
    throw new Mistake(`is not TOML at line ${line}: ${why}`)
  }
}
