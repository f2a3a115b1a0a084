// The differences between the lock and what a server lists, each with its classes. Pure: no file and no clock.

import type { ChangeClass, ListChange, LockedKind } from '../upstream/contracts/list-guard.js'
import { everyAskable } from '../mcp/capabilities.js'
import { type Json, isSame, memberOf, membersOfJson } from './json.js'
import { schemaChanges } from './schema-change.js'

/** A tool or a prompt without its name, or the text of instructions, with the hash of it. */
export interface Content {
  readonly hash: string
  readonly json: Json
}

/** One entry of the lock. */
export interface LockedItem {
  /** Undefined for one that has never been accepted, but rejected. */
  readonly content: Content | undefined
  /** Anything but `content` stays hidden. */
  readonly isRejected: boolean
  /** The kinds of clients to which the server lists it; undefined is all of those of the server. */
  readonly clients: readonly string[] | undefined
}

export interface LockedServer {
  /** The kinds of clients whose lists are in the lock. */
  readonly clients: readonly string[]
  readonly instructions: LockedItem | undefined
  readonly lists: Readonly<Record<LockedKind, ReadonlyMap<string, LockedItem>>>
}

/** The lists of a server for one kind of client; a list that is not known is undefined. */
export interface ListedServer {
  readonly client: string
  /** Whether the lists are of this kind of client; those of an earlier start may be of another. */
  readonly isCurrent: boolean
  readonly instructions: Content | undefined
  readonly lists: Readonly<Record<LockedKind, ReadonlyMap<string, Content> | undefined>>
}

/** A difference, with both sides. */
export interface Change extends ListChange {
  readonly before: Content | undefined
  readonly after: Content | undefined
  /** The name of before, of an item that has another one now. */
  readonly from: string | undefined
}

export const lockedKinds = ['tools', 'prompts'] as const

/** In the order of the lists; rejected changes are included. */
export function changesOf(locked: LockedServer, listed: ListedServer): Change[] {
  return [
    ...instructionChanges(locked.instructions, listed.instructions),
    ...lockedKinds.flatMap((kind) => listChanges(kind, locked, listed)),
  ]
}

function instructionChanges(locked: LockedItem | undefined, after: Content | undefined): Change[] {
  const before = locked?.content
  if (after === undefined || before?.hash === after.hash) return []
  const isRejected = locked?.isRejected === true
  const change = { kind: 'instructions', name: '', classes: ['instructions'], isRejected } as const
  return [{ ...change, before, after, from: undefined }]
}

function listChanges(
  kind: LockedKind,
  locked: LockedServer,
  { client, isCurrent, lists }: ListedServer,
): Change[] {
  const listed = lists[kind]
  if (listed === undefined) return []
  const entries = locked.lists[kind]
  const gone = [...entries].filter(
    ([name, { content, clients }]) =>
      isCurrent && content !== undefined && !listed.has(name) && isFor(client, clients ?? locked.clients),
  )
  const renames = new Map<string, string>()
  const changes = [...listed].flatMap(([name, after]): Change[] => {
    const entry = entries.get(name)
    const before = entry?.content
    if (before?.hash === after.hash) return []
    const isRejected = entry?.isRejected === true
    if (before !== undefined)
      return [change(kind, name, classesOf(kind, before.json, after.json), isRejected, before, after)]
    if (entry === undefined && isCurrent && !isKnown(locked, client)) return []
    const old = gone.find(([each, { content }]) => content?.hash === after.hash && !renames.has(each))?.[0]
    if (old === undefined) return [change(kind, name, ['new'], isRejected, undefined, after)]
    renames.set(old, name)
    return [{ ...change(kind, name, ['renamed'], isRejected, after, after), from: old }]
  })
  const removed = gone
    .filter(([name]) => !renames.has(name))
    .map(([name, { content, isRejected }]) => change(kind, name, ['removed'], isRejected, content, undefined))
  return [...changes, ...removed]
}

/** Clients that can be asked for everything get every tool, so that nothing is new to the others which these have not. */
const askedAnything = everyAskable.join(' ')

/** Whether an item that is not in the lock is new for such a client; otherwise its first list is a baseline. */
export function isKnown({ clients }: LockedServer, client: string): boolean {
  return clients.includes(client) || clients.includes(askedAnything)
}

function isFor(client: string, clients: readonly string[]): boolean {
  return clients.includes(client)
}

function change(
  kind: LockedKind,
  name: string,
  classes: readonly ChangeClass[],
  isRejected: boolean,
  before: Content | undefined,
  after: Content | undefined,
): Change {
  return { kind, name, classes, isRejected, before, after, from: undefined }
}

/** The classes of a changed item; never empty. */
export function classesOf(kind: LockedKind, before: Json, after: Json): readonly ChangeClass[] {
  if (kind === 'prompts') return ['prompt']
  const names = new Set([...membersOfJson(before), ...membersOfJson(after)].map(([name]) => name))
  const classes = [...names]
    .filter((name) => !isSame(memberOf(before, name), memberOf(after, name)))
    .flatMap((name) => classesOfMember(name, memberOf(before, name), memberOf(after, name)))
  // Of members that stand twice some clients read the first, which may hold anything.
  const twice = membersOfJson(after).flatMap(([name], at, all) => (all[at + 1]?.[0] === name ? [name] : []))
  const hidden = twice.flatMap((name) => classesOfMember(name, memberOf(before, name), undefined))
  const found = new Set([...classes, ...hidden])
  return found.size === 0 ? ['other'] : [...found]
}

function classesOfMember(name: string, before: Json | undefined, after: Json | undefined): ChangeClass[] {
  switch (name) {
    case 'title':
    case 'description':
      return ['description']
    case 'inputSchema':
      return inputClasses(before, after)
    case 'outputSchema':
      return ['output']
    case 'annotations':
      return isMoreDestructive(before, after) ? ['newlyDestructive'] : ['annotations']
    default:
      return ['other']
  }
}

/** Descriptions inside a schema are read by models as those of tools are. */
function inputClasses(before: Json | undefined, after: Json | undefined): ChangeClass[] {
  const found = schemaChanges(before, after)
  const hasText = found.delete('text')
  if (found.size === 0) return [hasText ? 'description' : 'input']
  const [only, ...others] = found
  const values =
    others.length > 0 || only === 'other' ? 'input' : only === 'wider' ? 'inputWider' : 'inputNarrower'
  return hasText ? ['description', values] : [values]
}

/** Compares the hints with their defaults (MCP 2025-11-25, Schema: ToolAnnotations); a `destructiveHint` that comes counts too. */
function isMoreDestructive(before: Json | undefined, after: Json | undefined): boolean {
  const [was, is] = [dangerOf(before), dangerOf(after)]
  const saysSo = isHint(after, 'destructiveHint', 'true') && !isHint(after, 'readOnlyHint', 'true')
  return is > was || (saysSo && !isHint(before, 'destructiveHint', 'true'))
}

/** 0 for a tool that only reads, 1 for one that only adds, 2 for one that may destroy. */
function dangerOf(annotations: Json | undefined): number {
  if (isHint(annotations, 'readOnlyHint', 'true')) return 0
  return isHint(annotations, 'destructiveHint', 'false') ? 1 : 2
}

function isHint(annotations: Json | undefined, name: string, value: 'true' | 'false'): boolean {
  const hint = memberOf(annotations, name)
  return hint?.kind === 'plain' && hint.text === value
}
