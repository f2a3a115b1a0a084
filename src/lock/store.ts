// Reads `mcps.lock` at the start and after each change, adds the first lists of each server to the file, and
// compares the file with the lists of servers.

import { FileLock, type LockRuntime } from '../runtime/file-lock.js'
import { readTextFile } from '../runtime/read-file.js'
import { replaceFile } from '../runtime/write-file.js'
import type { LogSink } from '../runtime/runtime.js'
import { errorText } from '../text/error-text.js'
import type { ListItem } from '../mcp/list-items.js'
import type {
  ChangeAction,
  Listed,
  ListGuard,
  LockedKind,
  Verdict,
} from '../upstream/contracts/list-guard.js'
import {
  acceptCommand,
  type Change,
  changesOf,
  contentsOf,
  lockedAs,
  type ListedServer,
  INSTRUCTIONS,
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

/** The most changes that the store remembers as logged, and the most first lists that wait for the disk. */
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
  readonly #logged = new Set<string>()
  readonly #guards = new Map<string, ListGuard>()
  /** The text of the last read or write; undefined if the file is missing. */
  #text: string | undefined
  schemas: LockedSchemas = NO_SCHEMAS
  /** Why the file cannot be used; undefined if the file is valid or missing. */
  problem: string | undefined
  #unsaved: FirstList[] = []
  #saving: Promise<void> = Promise.resolve()

  constructor(path: string, runtime: LockRuntime, log: LogSink) {
    this.path = path
    this.#runtime = runtime
    this.#log = log
    this.read()
  }

  /** Reads the file again. An invalid file changes nothing once a valid file was read. */
  read(): void {
    try {
      const text = textAt(this.path)
      if (text === this.#text && this.problem === undefined) return
      this.#text = text
      this.#use(schemasIn(text))
    } catch (error) {
      const problem = inWords(this.path, error)
      this.#log({ level: 'error', message: problem })
      if (this.schemas === NO_SCHEMAS) this.#use(NO_SCHEMAS, problem)
    }
  }

  /** Returns the guard of a schema. Each change of the lock replaces the guard. */
  guard(schema: string): ListGuard {
    const guard = this.#guards.get(schema) ?? guardOf(schema, this)
    this.#guards.set(schema, guard)
    return guard
  }

  /** Locks a server with its first lists, unless the file already contains the server. */
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
   * Changes the lock while no other process writes the file.
   *
   * Rejects with a LockError for an invalid file, a FileLockError, or the system's error if the write fails.
   */
  async update(change: (schemas: LockedSchemas) => LockedSchemas): Promise<void> {
    const write = (): void => {
      const before = textAt(this.path)
      const schemas = change(schemasIn(before))
      const text = encodeLock(schemas)
      if (text !== before) replaceFile(this.path, text, 0o644)
      this.#text = text
      this.#use(schemas)
    }
    await new FileLock(`${this.path}.held`, this.#runtime).during(write)
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

function guardOf(schema: string, store: LockStore): ListGuard {
  return {
    judge: ({ lock, name }, listed) => {
      if (lock === undefined || lock === false) return undefined
      const { problem, schemas } = store
      if (problem !== undefined) return lock === 'warn' ? undefined : blockedBy(problem, listed, [])
      const locked = schemas.get(schema)?.get(name)
      const changes = locked === undefined ? [] : changesOf(locked, contentsOf(listed), false)
      if (changes.length === 0) return undefined
      if (lock === 'fail') return blockedBy(failureOf(schema, name, changes), listed, changes)
      const hidden = new Map(
        (lock === 'hide' ? changes : []).map((each) => [
          `${each.kind} ${each.name}`,
          `'${name}': ${lineOf(schema, name, each, 'hide')}`,
        ]),
      )
      const lists = withheld(listed, (kind, { key }) => hidden.get(`${kind} ${key}`))
      const showsInstructions = !hidden.has(`instructions ${INSTRUCTIONS}`)
      return { lists, showsInstructions, blocked: undefined, changes }
    },
    complete: ({ lock, name }, listed, isWhole) => {
      if (lock === undefined || lock === false || store.problem !== undefined) return
      const locked = store.schemas.get(schema)?.get(name)
      const now = contentsOf(listed)
      if (locked !== undefined) {
        for (const change of changesOf(locked, now, false))
          store.changed(name, change, () => lineOf(schema, name, change, lock))
        return
      }
      // Many servers list nothing at first, and an empty lock would report each later item as new.
      const hasSome = lockedKinds.some((kind) => kind !== 'instructions' && (now[kind]?.size ?? 0) > 0)
      if (isWhole && hasSome) store.baseline(schema, name, now)
    },
  }
}

/** Returns the lists, and marks the items that clients do not get. */
function withheld(
  { lists }: Listed,
  whyOf: (kind: LockedKind, item: ListItem) => string | undefined,
): Verdict['lists'] {
  const marked = (kind: LockedKind, item: ListItem): ListItem => {
    const why = whyOf(kind, item)
    return why === undefined ? item : { ...item, withheld: why }
  }
  return new Map([...lists].map(([kind, items]) => [kind, items.map((item) => marked(kind, item))]))
}

function failureOf(schema: string, server: string, changes: readonly Change[]): string {
  const named = changes.slice(0, NAMED_MAX).map((each) => `${subjectOf(each)} (${each.change})`)
  const more = changes.length > NAMED_MAX ? ` and ${changes.length - NAMED_MAX} more` : ''
  return `'${server}' is not as it was accepted: ${named.join(', ')}${more}; ${remedyOf(schema, server, undefined)}`
}

function remedyOf(schema: string, server: string, item: string | undefined): string {
  return `look at it with mcps-proxy lock, and accept it with ${acceptCommand(schema, server, item)}`
}

/** Returns the message for the log, and for a refused call of a hidden item. */
function lineOf(schema: string, server: string, change: Change, action: ChangeAction): string {
  const unseen = unseenLines(change.after)
    .slice(0, NAMED_MAX)
    .map((line) => `; ${line}`)
  const then = { warn: '', hide: ', and hidden', fail: ', and the server is not used' }[action]
  return `${subjectOf(change)} is not as it was accepted (${change.change})${then}${unseen.join('')}; ${remedyOf(schema, server, change.name)}`
}

function blockedBy(why: string, listed: Listed, changes: readonly Change[]): Verdict {
  const blocked = { why, by: changes.map(({ kind }) => kind) }
  return { lists: withheld(listed, () => why), showsInstructions: false, blocked, changes }
}

/** Returns why the file cannot be used; undefined if the file is valid or missing. */
export function lockProblem(path: string): string | undefined {
  try {
    schemasIn(textAt(path))
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

export function withServer(
  schemas: LockedSchemas,
  schema: string,
  server: string,
  locked: LockedServer,
): LockedSchemas {
  return new Map(schemas).set(schema, new Map(schemas.get(schema)).set(server, locked))
}

function schemasIn(text: string | undefined): LockedSchemas {
  return text === undefined ? NO_SCHEMAS : decodeLock(Buffer.from(text))
}

/** Returns undefined if the file is missing. @throws LockError if the file cannot be read */
function textAt(path: string): string | undefined {
  const file = readTextFile(path, FILE_BYTES_MAX)
  if (file.kind === 'read') return file.text
  if (file.code === 'ENOENT') return undefined
  throw new LockError(`cannot be used: ${file.why}`)
}
