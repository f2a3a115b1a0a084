// Writes kept facts to a folder, and reads them at the next start.
//
// Nothing here is needed: without a folder, a key or a file the proxy goes on with what it has in
// memory. Two processes with the same configuration may write the same files; each write takes the place of a whole file.

import { randomBytes } from 'node:crypto'
import { isAbsolute } from 'node:path'
import type { KeptLimits } from '../limits.js'
import type { KeptFiles, LogSink, Runtime, Timer } from '../runtime/runtime.js'
import type { KeptFacts } from '../upstream/contracts/kept.js'
import type { ServerConfig } from '../upstream/contracts/server-config.js'
import { type KeptSets, decodeKept, encodeKept } from './format.js'
import { KEY_BYTES, KEY_FILE, KeptNames, readNames } from './names.js'
import { type TidyRules, untidy } from './tidy.js'

export interface KeptDiskParts {
  readonly files: KeptFiles
  readonly limits: KeptLimits
  readonly runtime: Pick<Runtime, 'now' | 'wallNow' | 'setTimer' | 'secret'>
  readonly log: LogSink
  /** The configuration: the absolute path of its file, or what it is called. */
  readonly source: string
  /** All servers that it has, served or not. */
  readonly servers: readonly ServerConfig[]
}

/** A start has other things to do first, and so has whoever writes a lot. */
const TIDY_FIRST_MS = 5000
const TIDY_NEXT_MS = 3_600_000

/** Servers that start together are written a moment later; one whose lists change all the time, rarely. */
const FIRST_WAIT_MS = 500
const NEXT_WAIT_MS = 10_000

const DAY_MS = 24 * 3_600_000

/** The kept files of one configuration. */
export class KeptDisk {
  readonly parts: KeptDiskParts
  /** Undefined as long as nothing was ever kept there. */
  names: KeptNames | undefined
  /** Nothing is written any more that comes from now on. */
  isClosed = false
  /** Those with something to be written. */
  readonly pending: Set<KeptFile> = new Set()
  /** By their names; those that a reload brings are added. */
  readonly #servers: Set<string>
  #readying: Promise<KeptNames | undefined> | undefined
  #tidying: Timer | undefined
  #tidyNotBefore = 0
  #hasFailed = false

  constructor(parts: KeptDiskParts) {
    this.parts = parts
    this.#servers = new Set(parts.servers.flatMap(({ name, keep }) => (keep ? [name] : [])))
    this.names = this.#readNames()
  }

  file(config: ServerConfig): KeptFile {
    this.#servers.add(config.name)
    if (this.names !== undefined) this.tidySoon()
    return new KeptFile(this, config)
  }

  /** Makes the folder ready to be written; undefined when it cannot be. */
  ready(): Promise<KeptNames | undefined> {
    this.#readying ??= this.#makeReady().finally(() => (this.#readying = undefined))
    return this.#readying
  }

  failed(error: unknown): void {
    const why = error instanceof Error ? error.message : String(error)
    this.#fail('warn', `${why}; what servers list is kept in memory only`)
  }

  tidySoon(): void {
    if (this.#tidying !== undefined || this.isClosed) return
    const waitMs = Math.max(TIDY_FIRST_MS, this.#tidyNotBefore - this.parts.runtime.now())
    this.#tidying = this.parts.runtime.setTimer(waitMs, () => {
      this.#tidying = undefined
      void this.#tidy()
    })
  }

  /** Writes what is left to be written. */
  async close(): Promise<void> {
    this.isClosed = true
    await Promise.all([...this.pending].map((file) => file.flush()))
    if (this.#tidying === undefined) return
    this.#tidying.cancel()
    // A process that never lives for long has to do it too.
    if (this.#tidyNotBefore === 0) await this.#tidy()
  }

  async #makeReady(): Promise<KeptNames | undefined> {
    const why = await this.parts.files.prepare()
    if (why !== undefined) {
      this.#fail('debug', `there is no folder for them: ${why}`)
      return undefined
    }
    this.names = this.#readNames() ?? (await this.#makeNames())
    return this.names
  }

  #readNames(): KeptNames | undefined {
    return readNames(this.parts.files, this.parts.source)
  }

  /** Of two processes that make the first key at once, both use the one that was first. */
  async #makeNames(): Promise<KeptNames> {
    const key = (this.parts.runtime.secret ?? randomBytes)(KEY_BYTES)
    if ((await this.parts.files.list()).some(({ name }) => name === KEY_FILE))
      await this.parts.files.remove(KEY_FILE)
    await this.parts.files.create(KEY_FILE, key).catch((error: unknown) => {
      if (this.#readNames() === undefined) throw error
    })
    return this.#readNames() ?? new KeptNames(key, this.parts.source)
  }

  async #tidy(): Promise<void> {
    this.#tidyNotBefore = this.parts.runtime.now() + TIDY_NEXT_MS
    try {
      const { files, limits, runtime } = this.parts
      const gone = untidy(await files.list(), { limits, now: runtime.wallNow(), isOrphan: this.#orphans() })
      await Promise.all(gone.map((name) => files.remove(name)))
    } catch (error) {
      this.#fail('debug', error instanceof Error ? error.message : String(error))
    }
  }

  /** Programs that give their configuration by themselves may all call it the same. */
  #orphans(): TidyRules['isOrphan'] {
    const { names } = this
    const { source } = this.parts
    const isNamedAlone = isAbsolute(source) || source === 'embedded'
    if (names === undefined || !isNamedAlone) return () => false
    const there = new Set([...this.#servers].map((name) => names.server(name)))
    return ({ owner, server }) => owner === names.owner && !there.has(server)
  }

  /** Once: what was wrong with one file is wrong with all of them. */
  #fail(level: 'warn' | 'debug', why: string): void {
    if (this.#hasFailed) return
    this.#hasFailed = true
    this.parts.log({ level, message: `kept lists in ${this.parts.files.folder}: ${why}` })
  }
}

/** The file of one server. */
export class KeptFile {
  readonly #disk: KeptDisk
  readonly #config: ServerConfig
  #unsaved: KeptSets | undefined
  #timer: Timer | undefined
  #notBefore = 0
  #saved: Promise<void> = Promise.resolve()

  constructor(disk: KeptDisk, config: ServerConfig) {
    this.#disk = disk
    this.#config = config
  }

  /** What was kept; nothing where that cannot be read or is damaged. */
  load(): ReadonlyMap<string, KeptFacts> {
    const { names } = this.#disk
    const { files, limits } = this.#disk.parts
    const name = names?.file(this.#config)
    const found = name === undefined ? undefined : files.read(name, limits.fileBytesMax)
    if (names === undefined || name === undefined || found === undefined) return new Map()
    const sets = decodeKept(found.bytes, names.seal(name))
    if (sets === undefined) this.#debug(`${name} is damaged and not used`)
    else this.#use(name, found.modifiedMs)
    return sets ?? new Map()
  }

  /** Writes these in a moment, or what they are by then. */
  save(sets: KeptSets): void {
    if (this.#disk.isClosed) return
    this.#unsaved = sets
    this.#disk.pending.add(this)
    const { runtime } = this.#disk.parts
    const waitMs = Math.max(FIRST_WAIT_MS, this.#notBefore - runtime.now())
    this.#timer ??= runtime.setTimer(waitMs, () => void this.flush())
  }

  /** Resolves when nothing is left to be written. */
  flush(): Promise<void> {
    this.#timer?.cancel()
    this.#timer = undefined
    this.#saved = this.#saved.then(() => this.#flush())
    return this.#saved
  }

  async #flush(): Promise<void> {
    const sets = this.#unsaved
    if (sets === undefined) return
    this.#unsaved = undefined
    this.#notBefore = this.#disk.parts.runtime.now() + NEXT_WAIT_MS
    try {
      const names = await this.#disk.ready()
      if (names !== undefined) await this.#write(names, sets)
    } catch (error) {
      this.#disk.failed(error)
    }
    if (this.#unsaved === undefined) this.#disk.pending.delete(this)
  }

  /** Another process may have kept what clients of another set were told. */
  async #write(names: KeptNames, sets: KeptSets): Promise<void> {
    const { files, limits } = this.#disk.parts
    const name = names.file(this.#config)
    const seal = names.seal(name)
    const there = files.read(name, limits.fileBytesMax)?.bytes
    const others = [...((there && decodeKept(there, seal)) ?? [])].filter(([set]) => !sets.has(set))
    const bytes = encodeKept(new Map([...others, ...sets].slice(-limits.setsMax)), seal, limits.fileBytesMax)
    if (bytes === undefined) return this.#debug('its lists are too long to be kept on disk')
    if (there?.equals(bytes) === true) return
    await files.write(name, bytes)
    this.#disk.tidySoon()
  }

  /** A file that is used stays; once a day is often enough to say so. */
  #use(name: string, modifiedMs: number): void {
    const now = this.#disk.parts.runtime.wallNow()
    if (Math.abs(now - modifiedMs) < DAY_MS) return
    this.#disk.parts.files
      .touch(name, now)
      .catch((error: unknown) => this.#debug(`${name}: ${String(error)}`))
  }

  #debug(message: string): void {
    this.#disk.parts.log({ level: 'debug', service: this.#config.name, message: `kept lists: ${message}` })
  }
}
