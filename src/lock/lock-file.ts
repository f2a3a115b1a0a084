// The text of `mcps.lock`: sorted JSON with one member a line, so that `git diff` shows the changes.
//
// Each entry has its content, for people, and the hash of the content. An edit by hand or a wrong merge breaks
// the hash, and the proxy refuses the whole file.

import { membersAt } from '../jsonrpc/members.js'
import { DEPTH_MAX, type Span, scanText } from '../jsonrpc/scan.js'
import { quote, rawAt, stringAt } from '../jsonrpc/text.js'
import { errorText } from '../text/error-text.js'
import type { LockedKind } from '../upstream/contracts/list-guard.js'
import { type Content, contentOf, indented, type JsonMember, objectText } from './content.js'

export const lockedKinds = ['instructions', 'tools', 'prompts'] as const

export type Contents = ReadonlyMap<string, Content>

/** The accepted contents of a server. */
export type LockedServer = Readonly<Record<LockedKind, Contents>>

export type LockedSchemas = ReadonlyMap<string, ReadonlyMap<string, LockedServer>>

const VERSION = '2'

const COMMENT = 'Written by mcps-proxy lock: what each MCP server was accepted with. Commit it.'

/** The number of objects around a content. */
const CONTENT_DEPTH = 6

/** The message says why the lock cannot be used, and begins with a verb, because the path precedes it. */
export class LockError extends Error {
  override readonly name = 'LockError'
}

export function encodeLock(schemas: LockedSchemas): string {
  const all = mapText(schemas, (servers) => mapText(servers, serverText, 2), 1)
  const members: readonly JsonMember[] = [
    ['$comment', quote(COMMENT)],
    ['lockVersion', VERSION],
    ['schemas', all],
  ]
  return `${objectText(members, 0)}\n`
}

function serverText(locked: LockedServer): string {
  return objectText(
    lockedKinds.map((kind): JsonMember => [kind, mapText(locked[kind], entryText, CONTENT_DEPTH - 2)]),
    CONTENT_DEPTH - 3,
  )
}

function entryText(content: Content): string {
  const members: readonly JsonMember[] = [
    ['content', indented(content, CONTENT_DEPTH)],
    ['hash', quote(content.hash)],
  ]
  return objectText(members, CONTENT_DEPTH - 1)
}

function mapText<T>(values: ReadonlyMap<string, T>, write: (value: T) => string, depth: number): string {
  return objectText(
    [...values].map(([name, value]): JsonMember => [name, write(value)]),
    depth,
  )
}

/** @throws LockError if the file is invalid */
export function decodeLock(bytes: Buffer): LockedSchemas {
  const file = membersIn(bytes, whole(bytes), 'the lock')
  const version = file.get('lockVersion')
  if (version === undefined || rawAt(bytes, version) !== VERSION)
    throw new LockError(`has no "lockVersion": ${VERSION}`)
  return mapOf(bytes, file.get('schemas'), '"schemas"', (servers, schema) =>
    mapOf(bytes, servers, `"${schema}"`, (server, name) => serverOf(bytes, server, name)),
  )
}

function whole(bytes: Buffer): Span {
  try {
    return scanText(bytes, DEPTH_MAX + CONTENT_DEPTH)
  } catch (error) {
    throw new LockError(`is not JSON: ${errorText(error)}`)
  }
}

function serverOf(bytes: Buffer, span: Span, name: string): LockedServer {
  const lists = membersIn(bytes, span, `server "${name}"`)
  const read = (kind: LockedKind): Contents =>
    mapOf(bytes, lists.get(kind), `"${kind}" of server "${name}"`, (entry, item) =>
      entryOf(bytes, entry, `"${item}" in "${kind}" of server "${name}"`),
    )
  return { instructions: read('instructions'), tools: read('tools'), prompts: read('prompts') }
}

function entryOf(bytes: Buffer, span: Span, what: string): Content {
  const members = membersIn(bytes, span, what)
  const { start, end } = members.get('content') ?? { start: 0, end: 0 }
  const content = start === end ? undefined : contentOf(bytes.subarray(start, end))
  if (content === undefined || stringAt(bytes, members.get('hash')) !== content.hash)
    throw new LockError(`has content that does not fit its hash: ${what}`)
  return content
}

function mapOf<T>(
  bytes: Buffer,
  span: Span | undefined,
  what: string,
  read: (span: Span, name: string) => T,
): ReadonlyMap<string, T> {
  return new Map([...membersIn(bytes, span, what)].map(([name, value]) => [name, read(value, name)]))
}

/** Throws for a missing object. An empty map would mean a server without a lock, which accepts the next lists. */
function membersIn(bytes: Buffer, span: Span | undefined, what: string): ReadonlyMap<string, Span> {
  const members = membersAt(bytes, span)
  if (members === undefined) throw new LockError(`has no object for ${what}`)
  return new Map([...members].map(({ key, value }) => [stringAt(bytes, key) ?? '', value]))
}
