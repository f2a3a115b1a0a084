// The verdicts about the servers of one schema, by one state of the lock.

import { type ListItem } from '../mcp/lists.js'
import type {
  ChangeAction,
  ChangeActions,
  Listed,
  ListGuard,
  LockedKind,
  Verdict,
} from '../upstream/contracts/list-guard.js'
import type { ServerConfig } from '../upstream/contracts/server-config.js'
import { type Change, changesOf, isKnown, type ListedServer, lockedKinds } from './compare.js'
import { acceptCommand, changeInWords, subjectOf, unseenOfChange } from './change-words.js'
import type { Contents } from './listed.js'
import type { LockedSchemas } from './lock-text.js'

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

export class SchemaGuard implements ListGuard {
  readonly #schema: string
  readonly #state: LockState
  readonly #contents: Contents
  readonly #writer: LockWriter

  constructor(schema: string, state: LockState, contents: Contents, writer: LockWriter) {
    this.#schema = schema
    this.#state = state
    this.#contents = contents
    this.#writer = writer
  }

  judge(config: ServerConfig, listed: Listed): Verdict | undefined {
    const { lock, name } = config
    if (lock === undefined || lock === false) return undefined
    const { problem, schemas } = this.#state
    if (problem !== undefined) return isOnlyWarned(lock) ? undefined : blockedBy(problem, listed, [], [])
    const locked = schemas.get(this.#schema)?.get(name)
    if (locked === undefined) return undefined
    const changes = changesOf(locked, this.#contents.of(listed))
    if (changes.length === 0) return undefined
    const failing = changes.filter((change) => actionOf(change, lock) === 'fail')
    if (failing.length > 0) return blockedBy(this.#failure(name, failing), listed, failing, changes)
    const hidden = changes.filter((change) => actionOf(change, lock) === 'hide')
    const lists = lockedKinds.map((kind) => [kind, this.#withheld(kind, name, listed, hidden)] as const)
    return {
      lists: new Map(lists.flatMap(([kind, items]) => (items === undefined ? [] : [[kind, items]]))),
      showsInstructions: !hidden.some(({ kind }) => kind === 'instructions'),
      blocked: undefined,
      changes,
    }
  }

  complete(config: ServerConfig, listed: Listed, isWhole: boolean): void {
    const { lock, name } = config
    if (lock === undefined || lock === false || this.#state.problem !== undefined) return
    const locked = this.#state.schemas.get(this.#schema)?.get(name)
    const now = this.#contents.of(listed)
    for (const change of locked === undefined ? [] : changesOf(locked, now))
      this.#writer.changed(name, change, () => this.#line(name, change, actionOf(change, lock)))
    // Many servers list nothing at first.
    const hasSome = lockedKinds.some((kind) => (now.lists[kind]?.size ?? 0) > 0)
    if (isWhole && hasSome && (locked === undefined || !isKnown(locked, listed.client)))
      this.#writer.baseline(this.#schema, name, now)
  }

  #withheld(
    kind: LockedKind,
    server: string,
    listed: Listed,
    hidden: readonly Change[],
  ): readonly ListItem[] | undefined {
    const items = listed.lists.get(kind)
    const reasons = new Map(
      hidden.filter((each) => each.kind === kind).map((each) => [each.name, this.#reason(server, each)]),
    )
    if (items === undefined || !items.some(({ key }) => reasons.has(key))) return items
    return items.map((item) => {
      const withheld = reasons.get(item.key)
      return withheld === undefined ? item : { ...item, withheld }
    })
  }

  #reason(server: string, change: Change): string {
    return `'${server}': ${subjectOf(change)} is not as it was accepted (${change.classes.join(', ')}), and hidden; ${this.#remedy(server, change)}`
  }

  #failure(server: string, changes: readonly Change[]): string {
    const named = changes.slice(0, NAMED_MAX).map((each) => `${subjectOf(each)} (${each.classes.join(', ')})`)
    const more = changes.length > NAMED_MAX ? ` and ${changes.length - NAMED_MAX} more` : ''
    return `'${server}' is not as it was accepted: ${named.join(', ')}${more}; ${this.#remedy(server, undefined)}`
  }

  #remedy(server: string, change: Change | undefined): string {
    return `look at it with mcps-proxy lock, and accept it with ${acceptCommand(this.#schema, server, change)}`
  }

  #line(server: string, change: Change, action: ChangeAction): string {
    const what = `${subjectOf(change)} is not as in mcps.lock (${change.classes.join(', ')}): ${inOneLine(change)}`
    if (change.isRejected) return `${what}; it was rejected, and stays hidden`
    const then = { warn: '', hide: 'it is hidden; ', fail: 'the server is not used; ' }[action]
    return `${what}; ${then}${acceptCommand(this.#schema, server, change)} accepts it`
  }
}

/** A line of the log; mcps-proxy lock shows the whole change. */
function inOneLine(change: Change): string {
  const line = [...unseenOfChange(change), ...changeInWords(change)].join('; ')
  return line.length > LINE_LENGTH_MAX ? `${line.slice(0, LINE_LENGTH_MAX)}…` : line
}

const LINE_LENGTH_MAX = 2000

/** Names in one error. */
const NAMED_MAX = 5

/** The strictest of its classes. An item that is gone cannot be hidden. */
function actionOf({ classes, isRejected }: Change, actions: ChangeActions): ChangeAction {
  if (isRejected) return 'hide'
  const wanted = new Set(classes.map((each) => actions[each]))
  return wanted.has('fail') ? 'fail' : wanted.has('hide') ? 'hide' : 'warn'
}

function isOnlyWarned(actions: ChangeActions): boolean {
  return Object.values(actions).every((action) => action === 'warn')
}

function blockedBy(
  why: string,
  listed: Listed,
  failing: readonly Change[],
  changes: readonly Change[],
): Verdict {
  const lists = [...listed.lists].map(
    ([kind, items]) => [kind, items.map((item) => ({ ...item, withheld: why }))] as const,
  )
  return {
    lists: new Map(lists),
    showsInstructions: false,
    blocked: { why, by: failing.map(({ kind }) => kind) },
    changes,
  }
}
