// The text of `mcps.lock`: JSON in one order, a member a line, so that `git diff` shows what has changed.
//
// Each entry has its content for people and the hash of it. An entry that was edited by hand, or merged wrongly, does not
// fit its hash, and the whole file is refused.

import { errorText } from '../text/error-text.js'
import type { LockedKind } from '../upstream/contracts/list-guard.js'
import type { Content, LockedItem, LockedServer } from './compare.js'
import { lockedKinds } from './compare.js'
import {
  hashOfJson,
  itemsIn,
  type Json,
  type JsonMember,
  memberOf,
  membersOfJson,
  objectOf,
  plain,
  printed,
  readComparable,
  string,
  stringIn,
} from './json.js'

/** The servers of each schema. */
export type LockedSchemas = ReadonlyMap<string, ReadonlyMap<string, LockedServer>>

const VERSION = '1'

/** Why a lock cannot be used. */
export class LockError extends Error {
  override readonly name = 'LockError'
}

export function lockContentOf(json: Json): Content {
  return { hash: hashOfJson(json), json }
}

/** The content for a server without instructions. */
export const noInstructions: Content = lockContentOf(plain('null'))

export function encodeLock(schemas: LockedSchemas): string {
  const members = mapObject(schemas, (servers) => mapObject(servers, serverJson))
  const comment = string('Written by mcps-proxy lock: what each MCP server was accepted with. Commit it.')
  return `${printed(
    objectOf([
      ['$comment', comment],
      ['lockVersion', plain(VERSION)],
      ['schemas', members],
    ]),
  )}\n`
}

function mapObject<T>(values: ReadonlyMap<string, T>, write: (value: T) => Json): Json {
  return objectOf([...values].map(([name, value]): JsonMember => [name, write(value)]))
}

function serverJson({ clients, instructions, lists }: LockedServer): Json {
  const hasInstructions = instructions !== undefined && !isPlainNone(instructions)
  return objectOf([
    ['clients', textList(clients)],
    ...(hasInstructions ? [['instructions', itemJson(instructions)] satisfies JsonMember] : []),
    ...lockedKinds.map((kind): JsonMember => [kind, mapObject(lists[kind], itemJson)]),
  ])
}

function isPlainNone({ content, isRejected }: LockedItem): boolean {
  return content?.hash === noInstructions.hash && !isRejected
}

function itemJson({ content, isRejected, clients }: LockedItem): Json {
  return objectOf([
    ...(clients === undefined ? [] : [['clients', textList(clients)] satisfies JsonMember]),
    ...(content === undefined
      ? []
      : [
          ['content', content.json] satisfies JsonMember,
          ['hash', string(content.hash)] satisfies JsonMember,
        ]),
    ...(isRejected ? [['rejected', plain('true')] satisfies JsonMember] : []),
  ])
}

function textList(texts: readonly string[]): Json {
  return { kind: 'array', items: texts.map(string) }
}

/** @throws LockError that says what is wrong */
export function decodeLock(bytes: Buffer): LockedSchemas {
  const json = jsonOf(bytes)
  const version = memberOf(json, 'lockVersion')
  if (version?.kind !== 'plain' || version.text !== VERSION)
    throw new LockError(`has no "lockVersion": ${VERSION}`)
  return new Map(
    membersOf(memberOf(json, 'schemas'), '"schemas"').map(([schema, servers]) => [
      schema,
      new Map(membersOf(servers, `"${schema}"`).map(([name, server]) => [name, serverOf(name, server)])),
    ]),
  )
}

/** What is missing must not count as nothing that was accepted: the next lists would be a baseline. */
function membersOf(json: Json | undefined, what: string): readonly JsonMember[] {
  if (json?.kind !== 'object') throw new LockError(`has no object for ${what}`)
  return membersOfJson(json)
}

function jsonOf(bytes: Buffer): Json {
  try {
    return readComparable(bytes)
  } catch (error) {
    throw new LockError(`is not JSON: ${errorText(error)}`)
  }
}

function serverOf(name: string, json: Json): LockedServer {
  const instructions = memberOf(json, 'instructions')
  const read = (kind: LockedKind): ReadonlyMap<string, LockedItem> =>
    new Map(
      membersOf(memberOf(json, kind), `"${kind}" of server "${name}"`).map(([item, each]) => [
        item,
        itemOf(`"${item}" in "${kind}" of server "${name}"`, each),
      ]),
    )
  return {
    clients: textsOf(memberOf(json, 'clients')) ?? [],
    instructions:
      instructions === undefined
        ? { content: noInstructions, isRejected: false, clients: undefined }
        : itemOf(`"instructions" of server "${name}"`, instructions),
    lists: { tools: read('tools'), prompts: read('prompts') },
  }
}

function itemOf(what: string, json: Json): LockedItem {
  const written = memberOf(json, 'content')
  const content = written && lockContentOf(written)
  if (content !== undefined && stringIn(memberOf(json, 'hash')) !== content.hash)
    throw new LockError(`has content that does not fit its hash: ${what}`)
  const rejected = memberOf(json, 'rejected')
  const isRejected = rejected?.kind === 'plain' && rejected.text === 'true'
  return { content, isRejected, clients: textsOf(memberOf(json, 'clients')) }
}

function textsOf(json: Json | undefined): readonly string[] | undefined {
  return json && itemsIn(json).flatMap((item) => stringIn(item) ?? [])
}
