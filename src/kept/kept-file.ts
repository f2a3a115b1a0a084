// The file of one server's kept facts.

import type { KeptLimits } from '../limits.js'
import type { KeptFiles, LogSink, Runtime, Timer } from '../runtime/runtime.js'
import type { KeptFacts } from '../upstream/contracts/kept.js'
import type { ServerConfig } from '../upstream/contracts/server-config.js'
import { type KeptSets, decodeKept, encodeKept } from './format.js'
import type { KeptNames } from './names.js'

/** The dependencies that all files of one folder share. */
export interface KeptFolder {
  readonly files: KeptFiles
  readonly limits: KeptLimits
  readonly runtime: Pick<Runtime, 'now' | 'wallNow' | 'setTimer'>
  readonly log: LogSink
  /** Undefined as long as nothing was ever kept there. */
  readonly names: KeptNames | undefined
  /** Makes the folder ready to be written; undefined when it cannot be. */
  ready(): Promise<KeptNames | undefined>
  /** Nothing is written any more that comes from now on. */
  readonly isClosed: boolean
  /** There is something to be written, or no more. */
  pending(file: KeptFile, isPending: boolean): void
  wrote(): void
  failed(error: unknown): void
}

/** Servers that start together are written a moment later; one whose lists change all the time, rarely. */
const FIRST_WAIT_MS = 500
const NEXT_WAIT_MS = 10_000

const DAY_MS = 24 * 3_600_000

/** The file of one server. */
export class KeptFile {
  readonly #folder: KeptFolder
  readonly #config: ServerConfig
  #unsaved: KeptSets | undefined
  #timer: Timer | undefined
  #notBefore = 0
  #saved: Promise<void> = Promise.resolve()

  constructor(folder: KeptFolder, config: ServerConfig) {
    this.#folder = folder
    this.#config = config
  }

  /** What was kept; nothing where that cannot be read or is damaged. */
  load(): ReadonlyMap<string, KeptFacts> {
    const { names, files, limits } = this.#folder
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
    const { runtime, isClosed } = this.#folder
    if (isClosed) return
    this.#unsaved = sets
    this.#folder.pending(this, true)
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
    this.#notBefore = this.#folder.runtime.now() + NEXT_WAIT_MS
    try {
      const names = await this.#folder.ready()
      if (names !== undefined) await this.#write(names, sets)
    } catch (error) {
      this.#folder.failed(error)
    }
    if (this.#unsaved === undefined) this.#folder.pending(this, false)
  }

  /** Another process may have kept what clients of another set were told. */
  async #write(names: KeptNames, sets: KeptSets): Promise<void> {
    const { files, limits } = this.#folder
    const name = names.file(this.#config)
    const seal = names.seal(name)
    const there = files.read(name, limits.fileBytesMax)?.bytes
    const others = [...((there && decodeKept(there, seal)) ?? [])].filter(([set]) => !sets.has(set))
    const bytes = encodeKept(new Map([...others, ...sets].slice(-limits.setsMax)), seal, limits.fileBytesMax)
    if (bytes === undefined) return this.#debug('its lists are too long to be kept on disk')
    if (there?.equals(bytes) === true) return
    await files.write(name, bytes)
    this.#folder.wrote()
  }

  /** A file that is used stays; once a day is often enough to say so. */
  #use(name: string, modifiedMs: number): void {
    const now = this.#folder.runtime.wallNow()
    if (Math.abs(now - modifiedMs) < DAY_MS) return
    this.#folder.files.touch(name, now).catch((error: unknown) => this.#debug(`${name}: ${String(error)}`))
  }

  #debug(message: string): void {
    this.#folder.log({ level: 'debug', service: this.#config.name, message: `kept lists: ${message}` })
  }
}
