// Changes of a configuration file that keep its comments, its order and its indentation.

import { type JSONPath, applyEdits, modify } from 'jsonc-parser'
import { readJson } from './json-syntax.js'
import { isObject } from '../text/json-object.js'

/** A change of one server of a schema. */
export type ServerEdit =
  | { readonly kind: 'add'; readonly name: string; readonly entry: object; readonly replaces: boolean }
  | { readonly kind: 'remove' | 'enable' | 'disable'; readonly name: string }

/** A token as the file has it. */
export interface TokenEntry {
  readonly name: string
  readonly sha256: string
  readonly profiles?: readonly string[]
  readonly expires?: string
}

/** A change of the tokens of the HTTP front. */
export type TokenEdit =
  { readonly kind: 'create'; readonly token: TokenEntry } | { readonly kind: 'revoke'; readonly name: string }

/** Why a file cannot be changed so, in words. */
export class EditMistake extends Error {}

const EMPTY = '{\n  "mcpServers": {}\n}\n'

/**
 * Gives the text with the change; an empty text becomes a file with the one server.
 *
 * @throws EditMistake when there is no such server or schema, or already one
 */
export function editServer(text: string, schema: string, edit: ServerEdit): string {
  const old = text.trim() === '' ? EMPTY : text
  const value = valueOf(old)
  const folder = serversPath(value, schema)
  const servers = memberAt(value, folder)
  const path = [...folder, edit.name]
  const isThere = isObject(servers) && Object.hasOwn(servers, edit.name)
  if (edit.kind === 'add' && isThere && !edit.replaces)
    throw new EditMistake(`there is a server '${edit.name}' already; --force replaces it`)
  if (edit.kind !== 'add' && !isThere) throw new EditMistake(noSuchServer(servers, edit.name))
  const options = { formattingOptions: formOf(old) }
  switch (edit.kind) {
    case 'add':
      return applyEdits(old, modify(old, path, edit.entry, options))
    case 'remove':
      return applyEdits(old, modify(old, path, undefined, options))
    case 'disable':
      return applyEdits(old, modify(old, [...path, 'disabled'], true, options))
    case 'enable':
      return applyEdits(old, modify(old, [...path, 'disabled'], undefined, options))
  }
}

/**
 * Gives the text with a token more or less.
 *
 * @throws EditMistake when there is no such token, or already one
 */
export function editTokens(text: string, edit: TokenEdit): string {
  if (text.trim() === '') throw new EditMistake('there is no configuration yet; mcps-proxy add makes one')
  const path = ['server', 'tokens']
  const tokens = memberAt(valueOf(text), path)
  const names = Array.isArray(tokens) ? tokens.map((each: unknown) => memberAt(each, ['name'])) : []
  const name = edit.kind === 'create' ? edit.token.name : edit.name
  const at = names.indexOf(name)
  const options = { formattingOptions: formOf(text) }
  if (edit.kind === 'revoke') {
    const others = names.length === 0 ? 'there is none' : `there is ${names.join(', ')}`
    if (at < 0) throw new EditMistake(`no token is called '${name}'; ${others}`)
    return applyEdits(text, modify(text, [...path, at], undefined, options))
  }
  if (at >= 0) throw new EditMistake(`there is a token '${name}' already; revoke it first`)
  const edits = Array.isArray(tokens)
    ? modify(text, [...path, tokens.length], edit.token, { ...options, isArrayInsertion: true })
    : modify(text, path, [edit.token], options)
  return applyEdits(text, edits)
}

/** The entries of a schema as the file has them. @throws EditMistake when it has no such schema */
export function serversIn(text: string, schema: string): Readonly<Record<string, unknown>> {
  const value = valueOf(text)
  const servers = memberAt(value, serversPath(value, schema))
  return isObject(servers) ? servers : {}
}

function valueOf(text: string): unknown {
  const read = readJson(text)
  if (read.kind === 'value') return read.value
  const { line, column, message } = read.mistake
  throw new EditMistake(`line ${line}, column ${column}: ${message}`)
}

/** The path to the servers of a schema, in each of the shapes of a file. */
function serversPath(value: unknown, schema: string): JSONPath {
  const root = isObject(value) ? value : {}
  if (isObject(root['schemas'])) {
    if (!Object.hasOwn(root['schemas'], schema))
      throw new EditMistake(
        `there is no schema '${schema}'; --schema takes ${Object.keys(root['schemas']).join(', ')}`,
      )
    return ['schemas', schema, 'mcpServers']
  }
  if (schema !== 'default')
    throw new EditMistake(`there is no schema '${schema}': the file has one, which is 'default'`)
  return [isObject(root['servers']) ? 'servers' : 'mcpServers']
}

function noSuchServer(servers: unknown, name: string): string {
  const names = isObject(servers) ? Object.keys(servers) : []
  const others = names.length === 0 ? 'it has none' : `it has ${names.join(', ')}`
  return `there is no server '${name}'; ${others}`
}

function memberAt(value: unknown, path: JSONPath): unknown {
  return path.reduce<unknown>((at, name) => (isObject(at) ? at[String(name)] : undefined), value)
}

/** The indentation and the line ends of the file. */
function formOf(text: string): { insertSpaces: boolean; tabSize: number; eol: string } {
  const [, indent = '  '] = /^([ \t]+)\S/m.exec(text) ?? []
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  return { insertSpaces: !indent.startsWith('\t'), tabSize: indent.length, eol }
}

/** More lines than this that may differ are shown as one change. */
const comparedMax = 2000

/** The lines that differ: in each place what goes, then what comes. */
export function changedLines(before: string, after: string): string {
  const [old, now] = [before.split('\n'), after.split('\n')]
  let start = 0
  while (start < old.length && start < now.length && old[start] === now[start]) start++
  let end = 0
  while (end < old.length - start && end < now.length - start && old.at(-1 - end) === now.at(-1 - end)) end++
  return compared(old.slice(start, old.length - end), now.slice(start, now.length - end))
}

function compared(old: readonly string[], now: readonly string[]): string {
  const lengths = commonLengths(old, now)
  const [gone, come, lines]: [string[], string[], string[]] = [[], [], []]
  for (let [at, to] = [0, 0]; at < old.length || to < now.length;) {
    const isSame = lengths !== undefined && at < old.length && to < now.length && old[at] === now[to]
    if (isSame) {
      lines.push(...gone.splice(0), ...come.splice(0))
      at++
      to++
    } else if (
      at < old.length &&
      (to === now.length || lengthAt(lengths, at + 1, to) >= lengthAt(lengths, at, to + 1))
    )
      gone.push(`- ${old[at++]}\n`)
    else come.push(`+ ${now[to++]}\n`)
  }
  return [...lines, ...gone, ...come].join('')
}

/** For each pair of places, how many lines behind them are common, in order; undefined for texts that are too long. */
function commonLengths(old: readonly string[], now: readonly string[]): readonly Uint16Array[] | undefined {
  if (old.length > comparedMax || now.length > comparedMax) return undefined
  const lengths = Array.from({ length: old.length + 1 }, () => new Uint16Array(now.length + 1))
  for (let at = old.length - 1; at >= 0; at--)
    for (let to = now.length - 1; to >= 0; to--) {
      const row = lengths[at]
      if (row === undefined) continue
      const isSame = old[at] === now[to]
      row[to] = isSame
        ? lengthAt(lengths, at + 1, to + 1) + 1
        : Math.max(lengthAt(lengths, at + 1, to), lengthAt(lengths, at, to + 1))
    }
  return lengths
}

function lengthAt(lengths: readonly Uint16Array[] | undefined, at: number, to: number): number {
  return lengths?.[at]?.[to] ?? 0
}
