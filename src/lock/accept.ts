// How the lock changes: a first list becomes the baseline, and a person accepts or rejects a change. Pure.

import type { LockedKind } from '../upstream/contracts/list-guard.js'
import {
  type Change,
  type Content,
  isKnown,
  type ListedServer,
  type LockedItem,
  type LockedServer,
  lockedKinds,
} from './compare.js'
import { noInstructions } from './lock-text.js'

type Lists = Record<LockedKind, ReadonlyMap<string, LockedItem>>

export const nothingLocked: LockedServer = {
  clients: [],
  instructions: undefined,
  lists: { tools: new Map(), prompts: new Map() },
}

/**
 * The lock with the first lists of a server for one kind of client.
 *
 * Existing entries stay: an item that differs from its entry is a change for every client.
 */
export function withBaseline(locked: LockedServer | undefined, listed: ListedServer): LockedServer {
  const before = locked ?? nothingLocked
  if (isKnown(before, listed.client)) return before
  const clients = [...before.clients, listed.client].sort()
  const lists: Lists = { ...before.lists }
  for (const kind of lockedKinds) lists[kind] = merged(kind, before, listed, clients)
  return { clients, instructions: before.instructions ?? accepted(listed.instructions), lists }
}

/** The entries of a list, and the items that a further kind of client gets. */
function merged(
  kind: LockedKind,
  { clients: earlier, lists }: LockedServer,
  listed: ListedServer,
  clients: readonly string[],
): ReadonlyMap<string, LockedItem> {
  const now = listed.lists[kind] ?? new Map<string, Content>()
  const entries = [...lists[kind]].map(([name, entry]): [string, LockedItem] => {
    const seenBy = entry.clients ?? earlier
    const next = now.has(name) ? [...seenBy, listed.client].sort() : seenBy
    return [name, { ...entry, clients: next.length === clients.length ? undefined : next }]
  })
  const more = [...now].filter(([name]) => !lists[kind].has(name))
  const only = clients.length === 1 ? undefined : [listed.client]
  return new Map([
    ...entries,
    ...more.map(([name, content]): [string, LockedItem] => [
      name,
      { content, isRejected: false, clients: only },
    ]),
  ])
}

function accepted(content: Content | undefined): LockedItem {
  return { content: content ?? noInstructions, isRejected: false, clients: undefined }
}

/** The changes that a name means: of the whole server where it is undefined. */
export function changesNamed(changes: readonly Change[], name: string | undefined): readonly Change[] {
  return changes.filter(
    (each) =>
      name === undefined ||
      each.name === name ||
      each.from === name ||
      (each.kind === 'instructions' && name === 'instructions'),
  )
}

/** The lock with these changes, which were found between both. */
export function withAccepted(
  locked: LockedServer,
  listed: ListedServer,
  changes: readonly Change[],
): LockedServer {
  const next = changes.reduce((server, change) => withEntry(server, change, listed.client, false), locked)
  return withBaseline(next, listed)
}

/** The lock in which these changes are rejected: what the server lists instead stays hidden. */
export function withRejected(locked: LockedServer, changes: readonly Change[]): LockedServer {
  return changes.reduce((server, change) => withEntry(server, change, '', true), locked)
}

function withEntry(locked: LockedServer, change: Change, client: string, isRejected: boolean): LockedServer {
  const { kind, name, before, after, from } = change
  const entryOf = (entry: LockedItem | undefined): LockedItem => ({
    content: isRejected ? (from === undefined ? before : undefined) : after,
    isRejected,
    clients: entry === undefined && locked.clients.length > 1 && !isRejected ? [client] : entry?.clients,
  })
  if (kind === 'instructions') return { ...locked, instructions: entryOf(locked.instructions) }
  const list = new Map(locked.lists[kind])
  const old = from === undefined ? undefined : list.get(from)
  if (isRejected || after !== undefined) list.set(name, entryOf(list.get(name) ?? old))
  else list.delete(name)
  if (from !== undefined && !isRejected) list.delete(from)
  if (old !== undefined && from !== undefined && isRejected) list.set(from, { ...old, isRejected })
  return { ...locked, lists: { ...locked.lists, [kind]: list } }
}
