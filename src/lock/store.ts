// The file `mcps.lock`: read at the start and after each change, written with the first lists of a server, and compared with
// what servers list.

import { FileLock, type LockRuntime } from '../runtime/file-lock.js'
import { readTextFile } from '../runtime/read-file.js'
import { replaceFile } from '../runtime/write-file.js'
import type { LogSink } from '../runtime/runtime.js'
import { errorText } from '../text/error-text.js'
import type { ListItem } from '../mcp/list-items.js'
import type { Listed, ListGuard, LockedKind, Verdict } from '../upstream/contracts/list-guard.js'
import type { ServerConfig } from '../upstream/contracts/server-config.js'
import {
  acceptCommand,
  type Change,
  changesOf,
  contentsOf,
  type KnownContents,
  lockedAs,
  type ListedServer,
  subjectOf,
  unseenLines,
} from './changes.js'
import {
  decodeLock,
  encodeLock,
  LockError,
  lockedKinds,
  type LockedSchemas,
  type LockedServer,
} from './lock-file.js'

/** A lock of a thousand tools has about two megabytes. */
const FILE_BYTES_MAX = 64 * 1024 * 1024

/** Longer than the lock of a process that was killed counts; one that writes holds it for milliseconds. */
const LOCK_WAIT_MS = 30_000

/** Changes that are remembered as logged, and first lists that wait to be written. */
const REMEMBERED_MAX = 1024

const NAMED_MAX = 5

const NO_SCHEMAS: LockedSchemas = new Map()

interface FirstList {
  readonly schema: string
  readonly server: string
  readonly listed: ListedServer
}

export class LockStore {
  readonly path: string
  readonly #runtime: LockRuntime
  readonly #log: LogSink
  readonly known: KnownContents = new WeakMap()
  readonly #logged = new Set<string>()
  readonly #guards = new Map<string, ListGuard>()
  /** The text that was read or written last; undefined where there is no file. */
  #text: string | undefined
  /** The servers of each schema, as they are locked. */
  schemas: LockedSchemas = NO_SCHEMAS
  /** Why the file cannot be used; undefined where it can, or there is none. */
  problem: string | undefined
  #unsaved: FirstList[] = []
  #saving: Promise<void> = Promise.resolve()

  constructor(path: string, runtime: LockRuntime, log: LogSink) {
    this.path = path
    this.#runtime = runtime
    this.#log = log
    this.read()
  }

  /** Reads the file again. One that cannot be used changes nothing, unless it is the first that is read. */
  read(): void {
    try {
      const text = textAt(this.path)
      if (text === this.#text && this.problem === undefined) return
      this.#text = text
      this.#use(text === undefined ? NO_SCHEMAS : decodeLock(Buffer.from(text)))
    } catch (error) {
      const problem = inWords(this.path, error)
      this.#log({ level: 'error', message: problem })
      if (this.schemas === NO_SCHEMAS) this.#use(NO_SCHEMAS, problem)
    }
  }

  /** The guard of a schema; it is another object after each change of the lock. */
  guard(schema: string): ListGuard {
    const guard = this.#guards.get(schema) ?? new SchemaGuard(schema, this)
    this.#guards.set(schema, guard)
    return guard
  }

  /** Locks a server with its first lists, unless the file has it already. */
  baseline(schema: string, server: string, listed: ListedServer): void {
    if (this.#unsaved.length >= REMEMBERED_MAX) return
    this.#use(withFirst(this.schemas, { schema, server, listed }), this.problem)
    this.#unsaved.push({ schema, server, listed })
    this.#saving = this.#saving.then(() => this.#save())
  }

  changed(server: string, { kind, name, after }: Change, message: () => string): void {
    const change = `${server} ${kind} ${name} ${after?.hash ?? ''}`
    if (this.#logged.has(change) || this.#logged.size >= REMEMBERED_MAX) return
    this.#logged.add(change)
    this.#log({ level: 'warn', service: server, message: message() })
  }

  /**
   * Changes the lock of one schema while no other process writes it.
   *
   * Rejects with a LockError where the file cannot be used, or the error of the system where it cannot be written.
   */
  async update(change: (schemas: LockedSchemas) => LockedSchemas): Promise<void> {
    const lock = new FileLock(`${this.path}.held`, this.#runtime)
    if (!(await lock.take(LOCK_WAIT_MS))) throw new LockError('is being written by another process')
    try {
      const before = textAt(this.path)
      const schemas = change(before === undefined ? NO_SCHEMAS : decodeLock(Buffer.from(before)))
      const text = encodeLock(schemas)
      if (text !== before) replaceFile(this.path, text, 0o644)
      this.#text = text
      this.#use(schemas)
    } finally {
      lock.free()
    }
  }

  /** Resolves when every first list is written. */
  async close(): Promise<void> {
    await this.#saving
  }

  async #save(): Promise<void> {
    const unsaved = this.#unsaved
    this.#unsaved = []
    if (unsaved.length === 0) return
    try {
      await this.update((schemas) => unsaved.reduce(withFirst, schemas))
      const names = [...new Set(unsaved.map(({ server }) => `'${server}'`))].join(', ')
      this.#log({ level: 'info', message: `${this.path}: the first lists of ${names} are locked` })
    } catch (error) {
      const message = `${this.path} cannot be written, so first lists are locked until the end of this process: ${errorText(error)}`
      this.#log({ level: 'warn', message })
    }
  }

  #use(schemas: LockedSchemas, problem?: string): void {
    this.schemas = schemas
    this.problem = problem
    this.#guards.clear()
  }
}

/** The verdicts about the servers of one schema. */
class SchemaGuard implements ListGuard {
  readonly #schema: string
  readonly #store: LockStore

  constructor(schema: string, store: LockStore) {
    this.#schema = schema
    this.#store = store
  }

  judge({ lock, name }: ServerConfig, listed: Listed): Verdict | undefined {
    if (lock === undefined || lock === false) return undefined
    const { problem, schemas } = this.#store
    if (problem !== undefined) return lock === 'warn' ? undefined : blockedBy(problem, listed, [])
    const locked = schemas.get(this.#schema)?.get(name)
    if (locked === undefined) return undefined
    const changes = changesOf(locked, contentsOf(listed, this.#store.known), false)
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
    if (lock === undefined || lock === false || this.#store.problem !== undefined) return
    const locked = this.#store.schemas.get(this.#schema)?.get(name)
    const now = contentsOf(listed, this.#store.known)
    if (locked !== undefined) {
      for (const change of changesOf(locked, now, false))
        this.#store.changed(name, change, () => this.#line(name, change, lock))
      return
    }
    // Many servers list nothing at first.
    const hasSome = lockedKinds.some((kind) => kind !== 'instructions' && (now[kind]?.size ?? 0) > 0)
    if (isWhole && hasSome) this.#store.baseline(this.#schema, name, now)
  }

  #withheld(
    kind: LockedKind,
    server: string,
    items: readonly ListItem[],
    hidden: readonly Change[],
  ): readonly ListItem[] {
    const reasons = new Map(
      hidden
        .filter((each) => each.kind === kind)
        .map((each) => [each.name, `'${server}': ${this.#line(server, each, 'hide')}`]),
    )
    if (!items.some(({ key }) => reasons.has(key))) return items
    return items.map((item) => {
      const withheld = reasons.get(item.key)
      return withheld === undefined ? item : { ...item, withheld }
    })
  }

  #failure(server: string, changes: readonly Change[]): string {
    const named = changes.slice(0, NAMED_MAX).map((each) => `${subjectOf(each)} (${each.change})`)
    const more = changes.length > NAMED_MAX ? ` and ${changes.length - NAMED_MAX} more` : ''
    return `'${server}' is not as it was accepted: ${named.join(', ')}${more}; ${this.#remedy(server, undefined)}`
  }

  #remedy(server: string, item: string | undefined): string {
    return `look at it with mcps-proxy lock, and accept it with ${acceptCommand(this.#schema, server, item)}`
  }

  /** What a call of a hidden item is refused with, and what the log says. */
  #line(server: string, change: Change, action: 'warn' | 'hide' | 'fail'): string {
    const unseen = unseenLines(change.after)
      .slice(0, NAMED_MAX)
      .map((line) => `; ${line}`)
    const then = { warn: '', hide: ', and hidden', fail: ', and the server is not used' }[action]
    return `${subjectOf(change)} is not as it was accepted (${change.change})${then}${unseen.join('')}; ${this.#remedy(server, change.name)}`
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

/** Why the file cannot be used; undefined where it can, or there is none. */
export function lockProblem(path: string): string | undefined {
  try {
    const text = textAt(path)
    if (text !== undefined) decodeLock(Buffer.from(text))
    return undefined
  } catch (error) {
    return inWords(path, error)
  }
}

function inWords(path: string, error: unknown): string {
  const what = error instanceof LockError ? error.message : `cannot be read: ${errorText(error)}`
  return `${path} ${what}; restore it from git, or remove it and run mcps-proxy lock`
}

function withFirst(schemas: LockedSchemas, { schema, server, listed }: FirstList): LockedSchemas {
  const isLocked = schemas.get(schema)?.has(server) === true
  return isLocked ? schemas : withServer(schemas, schema, server, lockedAs(listed))
}

/** The lock with another entry for one server; undefined takes it out. */
export function withServer(
  schemas: LockedSchemas,
  schema: string,
  server: string,
  locked: LockedServer | undefined,
): LockedSchemas {
  const servers = new Map(schemas.get(schema))
  if (locked === undefined) servers.delete(server)
  else servers.set(server, locked)
  return new Map(schemas).set(schema, servers)
}

/** Undefined where there is none. @throws LockError where it cannot be read */
function textAt(path: string): string | undefined {
  const file = readTextFile(path, FILE_BYTES_MAX)
  if (file.kind === 'read') return file.text
  if (file.code === 'ENOENT') return undefined
  throw new LockError(`cannot be used: ${file.why}`)
}
