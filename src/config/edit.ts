// Edits a configuration file. Comments, order and indentation stay.

import type { JSONPath } from 'jsonc-parser'
import { readJson } from './json-syntax.js'
import { addItem, removeMember, setMember } from './json-text.js'
import { isObject, memberAt } from '../text/json-object.js'
import { unknownName } from '../text/nearest.js'

type Entry = Readonly<Record<string, unknown>>

export type ServerEdit =
  | { readonly kind: 'add'; readonly name: string; readonly entry: Entry; readonly replaces: boolean }
  | { readonly kind: 'remove' | 'enable' | 'disable'; readonly name: string }

export interface TokenEntry {
  readonly name: string
  readonly sha256: string
  readonly profiles?: readonly string[]
  readonly expires?: string
}

export type TokenEdit =
  { readonly kind: 'create'; readonly token: TokenEntry } | { readonly kind: 'revoke'; readonly name: string }

export class EditMistake extends Error {}

const NO_FILE = 'there is no configuration yet; mcps-proxy add makes one'

const EMPTY = '{\n  "mcpServers": {}\n}\n'

/**
 * Returns the edited text. An empty text becomes a file with only this server.
 *
 * @throws EditMistake if the server or schema is missing, or if the server to add exists
 */
export function editServer(text: string, schema: string, edit: ServerEdit): string {
  if (text.trim() === '' && edit.kind !== 'add') throw new EditMistake(NO_FILE)
  const old = text.trim() === '' ? EMPTY : text
  const value = valueOf(old)
  const folder = serversPath(value, schema)
  const servers = memberAt(value, folder)
  const path = [...folder, edit.name]
  const isThere = isObject(servers) && Object.hasOwn(servers, edit.name)
  if (edit.kind === 'add' && isThere && !edit.replaces)
    throw new EditMistake(`there is a server '${edit.name}' already; --force replaces it`)
  if (edit.kind !== 'add' && !isThere)
    throw new EditMistake(unknownName('server', edit.name, isObject(servers) ? Object.keys(servers) : []))
  switch (edit.kind) {
    case 'add':
      return setMember(old, folder, edit.name, edit.entry)
    case 'remove':
      return removeMember(old, path)
    case 'disable':
      return setMember(old, path, 'disabled', true)
    case 'enable': {
      const enabled = removeMember(old, [...path, 'disabled'])
      const isOff = memberAt(value, [...path, 'enabled']) === false
      return isOff ? removeMember(enabled, [...path, 'enabled']) : enabled
    }
  }
}

/** @throws EditMistake if the token is missing, or if the token to create exists */
export function editTokens(text: string, edit: TokenEdit): string {
  if (text.trim() === '') throw new EditMistake(NO_FILE)
  const path = ['server', 'tokens']
  const tokens = memberAt(valueOf(text), path)
  const names = Array.isArray(tokens) ? tokens.map((each: unknown) => memberAt(each, ['name'])) : []
  const name = edit.kind === 'create' ? edit.token.name : edit.name
  const at = names.indexOf(name)
  if (edit.kind === 'revoke') {
    if (at < 0) throw new EditMistake(unknownName('token', edit.name, names.map(String)))
    return removeMember(text, [...path, at])
  }
  if (at >= 0) throw new EditMistake(`there is a token '${name}' already; revoke it first`)
  return Array.isArray(tokens)
    ? addItem(text, path, edit.token)
    : setMember(text, ['server'], 'tokens', [edit.token])
}

/** Returns the entries of a schema in their written form. @throws EditMistake if the schema is missing */
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

/** Returns the path to the servers of a schema, for each of the three shapes of a file. */
function serversPath(value: unknown, schema: string): JSONPath {
  const root = isObject(value) ? value : {}
  if (isObject(root['schemas'])) {
    if (!Object.hasOwn(root['schemas'], schema))
      throw new EditMistake(unknownName('group', schema, Object.keys(root['schemas'])))
    return ['schemas', schema, 'mcpServers']
  }
  if (schema !== 'default') throw new EditMistake(unknownName('group', schema, ['default']))
  return [isObject(root['servers']) ? 'servers' : 'mcpServers']
}
