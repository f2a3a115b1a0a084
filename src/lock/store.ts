// The file `mcps.lock`: read at the start and after each change, and written with the first lists of a server.

import { FileLock, type LockRuntime } from '../runtime/file-lock.js'
import { readTextFile } from '../runtime/read-file.js'
import { replaceFile } from '../runtime/replace-file.js'
import type { LogSink } from '../runtime/runtime.js'
import { errorText } from '../text/error-text.js'
import type { ListGuard } from '../upstream/contracts/list-guard.js'
import { type Change, lockedAs, type ListedServer, ListReader } from './changes.js'
import { type LockState, type LockWriter, SchemaGuard } from './guard.js'
import { decodeLock, encodeLock, LockError, type LockedSchemas, type LockedServer } from './lock-file.js'

/** A lock of a thousand tools has about two megabytes. */
const FILE_BYTES_MAX = 64 * 1024 * 1024

/** Longer than the lock of a process that was killed counts; one that writes holds it for milliseconds. */
const LOCK_WAIT_MS = 30_000

/** Changes that are remembered as logged, and first lists that wait to be written. */
const REMEMBERED_MAX = 1024

const NO_SCHEMAS: LockedSchemas = new Map()

interface FirstList {
  readonly schema: string
  readonly server: string
  readonly listed: ListedServer
}

/** The lock of one configuration. */
export class LockStore implements LockWriter {
  readonly path: string
  readonly #runtime: LockRuntime
  readonly #log: LogSink
  readonly #reader = new ListReader()
  readonly #logged = new Set<string>()
  readonly #guards = new Map<string, ListGuard>()
  /** The text that was read or written last; undefined where there is no file. */
  #text: string | undefined
  #state: LockState = { schemas: NO_SCHEMAS, problem: undefined }
  #unsaved: FirstList[] = []
  #saving: Promise<void> = Promise.resolve()

  constructor(path: string, runtime: LockRuntime, log: LogSink) {
    this.path = path
    this.#runtime = runtime
    this.#log = log
    this.read()
  }

  /** The servers of each schema, as they are locked. */
  get schemas(): LockedSchemas {
    return this.#state.schemas
  }

  /** Why the file cannot be used; undefined where it can, or there is none. */
  get problem(): string | undefined {
    return this.#state.problem
  }

  /** Reads the file again. One that cannot be used changes nothing, unless it is the first that is read. */
  read(): void {
    try {
      const text = textAt(this.path)
      if (text === this.#text && this.#state.problem === undefined) return
      this.#text = text
      this.#use({
        schemas: text === undefined ? NO_SCHEMAS : decodeLock(Buffer.from(text)),
        problem: undefined,
      })
    } catch (error) {
      const problem = inWords(this.path, error)
      this.#log({ level: 'error', message: problem })
      if (this.#state.schemas === NO_SCHEMAS) this.#use({ schemas: NO_SCHEMAS, problem })
    }
  }

  /** The guard of a schema; it is another object after each change of the lock. */
  guard(schema: string): ListGuard {
    const known = this.#guards.get(schema)
    if (known !== undefined) return known
    const guard = new SchemaGuard(schema, this.#state, this.#reader, this)
    this.#guards.set(schema, guard)
    return guard
  }

  baseline(schema: string, server: string, listed: ListedServer): void {
    if (this.#unsaved.length >= REMEMBERED_MAX) return
    this.#use({ ...this.#state, schemas: withFirst(this.#state.schemas, { schema, server, listed }) })
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
      this.#use({ schemas, problem: undefined })
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

  #use(state: LockState): void {
    this.#state = state
    this.#guards.clear()
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
