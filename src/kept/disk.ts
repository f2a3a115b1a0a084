// Writes kept facts to a folder, and reads them at the next start.
//
// Nothing here is needed: without a folder, a key or a file the proxy goes on with what it has in
// memory. Two processes with the same configuration may write the same files; each write takes the place of a whole file.

import { randomBytes } from 'node:crypto'
import { isAbsolute } from 'node:path'
import type { KeptLimits } from '../limits.js'
import type { KeptFiles, LogSink, Runtime, Timer } from '../runtime/runtime.js'
import type { ServerConfig } from '../upstream/contracts/server-config.js'
import { type KeptFolder, KeptFile } from './kept-file.js'
import { KEY_BYTES, KEY_FILE, readNames } from './key.js'
import { KeptNames } from './names.js'
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

/** The kept files of one configuration. */
export class KeptDisk implements KeptFolder {
  readonly files: KeptFiles
  readonly limits: KeptLimits
  readonly runtime: KeptDiskParts['runtime']
  readonly log: LogSink
  names: KeptNames | undefined
  isClosed = false
  readonly #source: string
  /** By their names; those that a reload brings are added. */
  readonly #servers: Set<string>
  readonly #pending = new Set<KeptFile>()
  #readying: Promise<KeptNames | undefined> | undefined
  #tidying: Timer | undefined
  #tidyNotBefore = 0
  #hasFailed = false

  constructor({ files, limits, runtime, log, source, servers }: KeptDiskParts) {
    this.files = files
    this.limits = limits
    this.runtime = runtime
    this.log = log
    this.#source = source
    this.#servers = new Set(servers.flatMap(({ name, keep }) => (keep ? [name] : [])))
    this.names = this.#readNames()
  }

  file(config: ServerConfig): KeptFile {
    this.#servers.add(config.name)
    if (this.names !== undefined) this.#tidySoon()
    return new KeptFile(this, config)
  }

  ready(): Promise<KeptNames | undefined> {
    this.#readying ??= this.#makeReady().finally(() => (this.#readying = undefined))
    return this.#readying
  }

  pending(file: KeptFile, isPending: boolean): void {
    if (isPending) this.#pending.add(file)
    else this.#pending.delete(file)
  }

  wrote(): void {
    this.#tidySoon()
  }

  failed(error: unknown): void {
    const why = error instanceof Error ? error.message : String(error)
    this.#fail('warn', `${why}; what servers list is kept in memory only`)
  }

  /** Writes what is left to be written. */
  async close(): Promise<void> {
    this.isClosed = true
    await Promise.all([...this.#pending].map((file) => file.flush()))
    if (this.#tidying === undefined) return
    this.#tidying.cancel()
    // A process that never lives for long has to do it too.
    if (this.#tidyNotBefore === 0) await this.#tidy()
  }

  async #makeReady(): Promise<KeptNames | undefined> {
    const why = await this.files.prepare()
    if (why !== undefined) {
      this.#fail('debug', `there is no folder for them: ${why}`)
      return undefined
    }
    this.names = this.#readNames() ?? (await this.#makeNames())
    return this.names
  }

  #readNames(): KeptNames | undefined {
    return readNames(this.files, this.#source)
  }

  /** Of two processes that make the first key at once, both use the one that was first. */
  async #makeNames(): Promise<KeptNames> {
    const key = (this.runtime.secret ?? randomBytes)(KEY_BYTES)
    if ((await this.files.list()).some(({ name }) => name === KEY_FILE)) await this.files.remove(KEY_FILE)
    await this.files.create(KEY_FILE, key).catch((error: unknown) => {
      if (this.#readNames() === undefined) throw error
    })
    return this.#readNames() ?? new KeptNames(key, this.#source)
  }

  #tidySoon(): void {
    if (this.#tidying !== undefined || this.isClosed) return
    const waitMs = Math.max(TIDY_FIRST_MS, this.#tidyNotBefore - this.runtime.now())
    this.#tidying = this.runtime.setTimer(waitMs, () => {
      this.#tidying = undefined
      void this.#tidy()
    })
  }

  async #tidy(): Promise<void> {
    this.#tidyNotBefore = this.runtime.now() + TIDY_NEXT_MS
    try {
      const { limits } = this
      const entries = await this.files.list()
      const gone = untidy(entries, { limits, now: this.runtime.wallNow(), isOrphan: this.#orphans() })
      await Promise.all(gone.map((name) => this.files.remove(name)))
    } catch (error) {
      this.#fail('debug', error instanceof Error ? error.message : String(error))
    }
  }

  /** Programs that give their configuration by themselves may all call it the same. */
  #orphans(): TidyRules['isOrphan'] {
    const { names } = this
    const isNamedAlone = isAbsolute(this.#source) || this.#source === 'embedded'
    if (names === undefined || !isNamedAlone) return () => false
    const there = new Set([...this.#servers].map((name) => names.server(name)))
    return ({ owner, server }) => owner === names.owner && !there.has(server)
  }

  /** Once: what was wrong with one file is wrong with all of them. */
  #fail(level: 'warn' | 'debug', why: string): void {
    if (this.#hasFailed) return
    this.#hasFailed = true
    this.log({ level, message: `kept lists in ${this.files.folder}: ${why}` })
  }
}
