// The servers in the text of a client's file: JSON with comments, TOML or YAML.
//
// A change replaces the text of single servers; comments and order around them stay.

import { TomlError, parse as parseToml, stringify as tomlText } from 'smol-toml'
import { YAMLSeq, isMap, isSeq, parseDocument } from 'yaml'
import { readJson } from '../../config/json-syntax.js'
import { removeMember, setMember } from '../../config/json-text.js'
import { isObject } from '../../text/json-object.js'
import type { Client } from './table.js'

export interface ServerEdits {
  readonly removed: readonly string[]
  /** Entries that are added, or that replace others. */
  readonly set: ReadonlyMap<string, object>
}

export type FileReading =
  | {
      readonly kind: 'servers'
      /** The entries of the file, in its order. */
      readonly servers: ReadonlyMap<string, unknown>
      readonly value: unknown
      readonly edit: (edits: ServerEdits) => string
    }
  /** The reason why the file does not change; messages show it after the path. */
  | { readonly kind: 'refused'; readonly why: string }

const BOM = '\ufeff'

export function parseServersFile(client: Pick<Client, 'format' | 'key'>, text: string): FileReading {
  if (text.startsWith(BOM)) {
    const reading = parseServersFile(client, text.slice(BOM.length))
    return reading.kind === 'refused' ? reading : { ...reading, edit: (edits) => BOM + reading.edit(edits) }
  }
  const { format, key } = client
  switch (format) {
    case 'json':
      return readJsonFile(text, key)
    case 'toml':
      return readTomlFile(text, key)
    case 'yaml':
      return readYamlFile(text, key)
  }
}

function refuse(why: string): FileReading {
  return { kind: 'refused', why }
}

function readJsonFile(text: string, key: string): FileReading {
  const result = readJson(text)
  if (result.kind === 'mistake') {
    const { line, column, message } = result.mistake
    return refuse(`is not JSON at line ${line}, column ${column}: ${message}`)
  }
  const twice = result.repeated.find(({ topKey }) => topKey === key)
  if (twice !== undefined) return refuse(`has ${twice.path} twice`)
  return readTable('JSON object', result.value, key, ({ removed, set }) => {
    let after = text
    for (const [name, entry] of set) after = setMember(after, [key], name, entry)
    for (const name of removed) after = removeMember(after, [key, name])
    return after
  })
}

function readTable(
  form: string,
  value: unknown,
  key: string,
  edit: (edits: ServerEdits) => string,
): FileReading {
  if (!isObject(value)) return refuse(`is no ${form}`)
  const servers = value[key] ?? {}
  if (!isObject(servers)) return refuse(`has a "${key}" that is no object`)
  return { kind: 'servers', servers: new Map(Object.entries(servers)), value, edit }
}

function readTomlFile(text: string, key: string): FileReading {
  try {
    return readTable('TOML table', parseToml(text), key, (edits) => editToml(text, key, edits))
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    const [, why = error.message] = /^Invalid TOML document: (.*)/.exec(error.message) ?? []
    return refuse(`is not TOML at line ${error.line}: ${why}`)
  }
}

/** A table of a TOML file, from its header to the end of its last member. */
interface TomlTable {
  readonly path: readonly string[]
  readonly start: number
  readonly end: number
}

function editToml(text: string, key: string, { removed, set }: ServerEdits): string {
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  const replaced = new Set([...removed, ...set.keys()])
  const tables = tomlTables(text).filter(
    ({ path: [first, name] }) => first === key && name !== undefined && replaced.has(name),
  )
  const added = set.size === 0 ? '' : tomlText({ [key]: Object.fromEntries(set) }).replaceAll('\n', eol)
  if (tables.length === 0) {
    const gap = text === '' ? '' : text.endsWith('\n') ? eol : eol + eol
    return text + gap + added
  }
  let after = text
  for (const [at, { start, end }] of [...tables.entries()].toReversed()) {
    const put = at === 0 ? added : ''
    // The empty line after a table is removed with the table.
    const rest = put === '' ? after.slice(end).replace(/^[ \t]*\r?\n/, '') : after.slice(end)
    after = after.slice(0, start) + put + rest
  }
  return after
}

function tomlTables(text: string): TomlTable[] {
  const starts = [...text.matchAll(/^[ \t]*\[.*$/gm)].filter(({ index }) => isToml(text.slice(0, index)))
  return starts.map(({ index, 0: header }, at) => {
    const lines = text.slice(index, starts[at + 1]?.index).split(/(?<=\n)/)
    // Comments before the next table belong to that table.
    const last = lines.findLastIndex((line) => !/^\s*(?:#.*)?\s*$/.test(line))
    const length = lines.slice(0, last + 1).join('').length
    return { path: headerPath(parseToml(header)), start: index, end: index + length }
  })
}

/** Whether a text ends outside every value, so that the next line can be a header. */
function isToml(text: string): boolean {
  try {
    parseToml(text)
    return true
  } catch {
    return false
  }
}

/** The names in a header: each parsed table has the next name as its only member. */
function headerPath(table: unknown): string[] {
  const [member] = isObject(table) ? Object.entries(table) : []
  return member === undefined ? [] : [member[0], ...headerPath(member[1])]
}

function readYamlFile(text: string, key: string): FileReading {
  const document = parseDocument(text)
  const [mistake] = document.errors
  if (mistake !== undefined) {
    const [why = ''] = mistake.message.split(/ at line |\n/)
    return refuse(`is not YAML at line ${mistake.linePos?.[0].line ?? 1}: ${why}`)
  }
  const value: unknown = document.toJS()
  const list = isObject(value) ? (value[key] ?? []) : []
  if (!Array.isArray(list)) return refuse(`has a "${key}" that is no list`)
  const servers = new Map<string, unknown>()
  for (const item of list) {
    if (!isObject(item) || typeof item['name'] !== 'string') return refuse('has a server without a name')
    const { name, ...entry } = item
    if (servers.has(name)) return refuse(`has two servers '${name}'`)
    servers.set(name, entry)
  }
  return { kind: 'servers', servers, value, edit: (edits) => editYaml(text, key, edits) }
}

function editYaml(text: string, key: string, { removed, set }: ServerEdits): string {
  if (removed.length + set.size === 0) return text
  const document = parseDocument(text)
  const node = document.get(key)
  const list = isSeq(node) ? node : new YAMLSeq()
  if (list !== node) document.set(key, list)
  list.flow = false
  const isReplaced = (item: unknown): boolean =>
    isMap(item) && [...removed, ...set.keys()].includes(String(item.get('name')))
  const first = list.items.findIndex(isReplaced)
  const kept = list.items.filter((item) => !isReplaced(item))
  const added = [...set].map(([name, entry]) => document.createNode({ name, ...entry }))
  list.items = kept.toSpliced(first < 0 ? kept.length : first, 0, ...added)
  // Readers of YAML 1.1 read `yes` as a switch, so new strings get quotes.
  const form = { lineWidth: 0, indentSeq: !/^- /m.test(text), defaultKeyType: 'PLAIN' } as const
  const after = document.toString({ ...form, defaultStringType: 'QUOTE_DOUBLE' })
  return text.includes('\r\n') ? after.replaceAll('\n', '\r\n') : after
}
