// The verdicts about the servers of one schema, by one state of the lock.

import { type ListItem } from '../mcp/list-items.js'
import type { Listed, ListGuard, LockedKind, Verdict } from '../upstream/contracts/list-guard.js'
import type { ServerConfig } from '../upstream/contracts/server-config.js'
import {
  acceptCommand,
  type Change,
  changesOf,
  differences,
  type ListedServer,
  type ListReader,
  subjectOf,
  unseenLines,
} from './changes.js'
import { lockedKinds, type LockedSchemas } from './lock-file.js'

/** One state of the lock: the file as it was read, or why it cannot be used. */
export interface LockState {
  readonly schemas: LockedSchemas
  readonly problem: string | undefined
}

/** Records the lists that were read from servers. */
export interface LockWriter {
  /** A first list. */
  baseline(schema: string, server: string, listed: ListedServer): void
  changed(server: string, change: Change, message: () => string): void
}

/** Names in one error. */
const NAMED_MAX = 5

/** A line of the log; mcps-proxy lock shows the whole change. */
const LINE_LENGTH_MAX = 2000

export class SchemaGuard implements ListGuard {
  readonly #schema: string
  readonly #state: LockState
  readonly #reader: ListReader
  readonly #writer: LockWriter

  constructor(schema: string, state: LockState, reader: ListReader, writer: LockWriter) {
    this.#schema = schema
    this.#state = state
    this.#reader = reader
    this.#writer = writer
  }

  judge({ lock, name }: ServerConfig, listed: Listed): Verdict | undefined {
    if (lock === undefined || lock === false) return undefined
    const { problem, schemas } = this.#state
    if (problem !== undefined) return lock === 'warn' ? undefined : blockedBy(problem, listed, [])
    const locked = schemas.get(this.#schema)?.get(name)
    if (locked === undefined) return undefined
    const changes = changesOf(locked, this.#reader.read(listed), false)
    if (changes.length === 0) return undefined
    if (lock === 'fail') return blockedBy(this.#failure(name, changes), listed, changes)
    const hidden = lock === 'hide' ? changes : []
    const lists = [...listed.lists].map(
      ([kind, items]) => [kind, this.#withheld(kind, name, items, hidden)] as const,
    )
    const showsInstructions = !hidden.some(({ kind }) => kind === 'instructions')
    return { lists: new Map(lists), showsInstructions, blocked: undefined, changes }
  }

  complete({ lock, name }: ServerConfig, listed: Listed, isWhole: boolean): void {
    if (lock === undefined || lock === false || this.#state.problem !== undefined) return
    const locked = this.#state.schemas.get(this.#schema)?.get(name)
    const now = this.#reader.read(listed)
    if (locked !== undefined) {
      for (const change of changesOf(locked, now, false))
        this.#writer.changed(name, change, () => this.#line(name, change, lock))
      return
    }
    // Many servers list nothing at first.
    const hasSome = lockedKinds.some((kind) => kind !== 'instructions' && (now[kind]?.size ?? 0) > 0)
    if (isWhole && hasSome) this.#writer.baseline(this.#schema, name, now)
  }

  #withheld(
    kind: LockedKind,
    server: string,
    items: readonly ListItem[],
    hidden: readonly Change[],
  ): readonly ListItem[] {
    const reasons = new Map(
      hidden.filter((each) => each.kind === kind).map((each) => [each.name, this.#reason(server, each)]),
    )
    if (!items.some(({ key }) => reasons.has(key))) return items
    return items.map((item) => {
      const withheld = reasons.get(item.key)
      return withheld === undefined ? item : { ...item, withheld }
    })
  }

  #reason(server: string, change: Change): string {
    return `'${server}': ${subjectOf(change)} is not as it was accepted (${change.change}), and hidden; ${this.#remedy(server, change.name)}`
  }

  #failure(server: string, changes: readonly Change[]): string {
    const named = changes.slice(0, NAMED_MAX).map((each) => `${subjectOf(each)} (${each.change})`)
    const more = changes.length > NAMED_MAX ? ` and ${changes.length - NAMED_MAX} more` : ''
    return `'${server}' is not as it was accepted: ${named.join(', ')}${more}; ${this.#remedy(server, undefined)}`
  }

  #remedy(server: string, item: string | undefined): string {
    return `look at it with mcps-proxy lock, and accept it with ${acceptCommand(this.#schema, server, item)}`
  }

  #line(server: string, change: Change, action: 'warn' | 'hide' | 'fail'): string {
    const lines = [...unseenLines(change.after), ...differences(change)].join('; ')
    const shown = lines.length > LINE_LENGTH_MAX ? `${lines.slice(0, LINE_LENGTH_MAX)}…` : lines
    const then = { warn: '', hide: 'it is hidden; ', fail: 'the server is not used; ' }[action]
    return `${subjectOf(change)} is not as in mcps.lock (${change.change}): ${shown}; ${then}${acceptCommand(this.#schema, server, change.name)} accepts it`
  }
}

function blockedBy(why: string, listed: Listed, changes: readonly Change[]): Verdict {
  const lists = [...listed.lists].map(
    ([kind, items]) => [kind, items.map((item) => ({ ...item, withheld: why }))] as const,
  )
  return {
    lists: new Map(lists),
    showsInstructions: false,
    blocked: { why, by: changes.map(({ kind }) => kind) },
    changes,
  }
}
