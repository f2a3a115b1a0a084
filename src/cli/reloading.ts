// A configuration that changes while it is used: by SIGHUP, or since its file was written.
//
// What cannot be used changes nothing. The log then says why: once for each text
// of the file, and whenever somebody asks by SIGHUP.

import { readFileSync, statSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import { ConfigError } from '../config/config.js'
import type { Configuration } from '../config/config.js'
import type { Logger } from '../log/log.js'
import { ConfigWatch } from './config-watch.js'
import { counted } from './counted.js'

export interface ReloadingParts {
  /** What is used now. */
  readonly config: Configuration
  readonly logger: Logger
  /**
   * Reads the configuration again: this file, or whatever there is to be found.
   *
   * @throws ConfigError
   */
  load(path: string | undefined): Configuration
  /** Whoever serves it takes it over. @throws ConfigError when it cannot be used */
  apply(config: Configuration): Promise<unknown>
  /** It is used now, besides by whoever serves it. */
  used(config: Configuration, before: Configuration): void
}

/** A start has other things to do first. */
const WATCH_DELAY_MS = 500

/** Larger ones are no configurations; whoever reads them says so. */
const CONTENTS_BYTES_MAX = 2 * 1024 * 1024

/** Keeps what is served equal to what the file says. */
export class Reloading {
  readonly #parts: ReloadingParts
  #config: Configuration
  #watch: ConfigWatch | undefined
  #starting: NodeJS.Timeout | undefined
  /** The text that was read last, used or not. */
  #contents: Buffer | undefined
  #stopped = false

  constructor(parts: ReloadingParts) {
    this.#parts = parts
    this.#config = parts.config
    this.#starting = setTimeout(() => this.#startWatch(), WATCH_DELAY_MS).unref()
  }

  /** Reads the file again, though nobody has noticed that it was changed. */
  again(): void {
    void this.#read()
  }

  stop(): void {
    this.#stopped = true
    clearTimeout(this.#starting)
    this.#watch?.stop()
  }

  /** The file in use; undefined for a configuration that is none. */
  get #path(): string | undefined {
    const { source } = this.#config
    return isAbsolute(source) ? source : undefined
  }

  #startWatch(): void {
    this.#starting = undefined
    const path = this.#path
    if (this.#stopped || path === undefined) return
    this.#watch = new ConfigWatch(path, () => this.#noticed())
    this.#contents = contentsOf(path)
    // It may have been written between its reading and now.
    if (changedSinceStart(path)) void this.#read()
  }

  #noticed(): void {
    const contents = this.#path === undefined ? undefined : contentsOf(this.#path)
    if (!isSame(contents, this.#contents)) void this.#read()
  }

  async #read(): Promise<void> {
    const path = this.#path
    this.#contents = path === undefined ? undefined : contentsOf(path)
    const before = this.#config
    try {
      const config = this.#parts.load(path)
      await this.#parts.apply(config)
      this.#config = config
      this.#parts.used(config, before)
    } catch (error) {
      return this.#complain(error)
    }
    if (this.#watch === undefined && this.#starting === undefined) this.#startWatch()
  }

  #complain(error: unknown): void {
    const { sink } = this.#parts.logger
    if (!(error instanceof ConfigError))
      return sink({
        level: 'error',
        message: 'the configuration could not be read again',
        details: { error },
      })
    const { source, problems } = error
    const count = counted(problems.length, 'problem')
    sink({ level: 'error', message: `${source} cannot be used and nothing is changed: ${count}` })
    for (const { path, problem, hint } of problems) {
      const message = `configuration: ${path}${path === '' ? '' : ' '}${problem}${hint === '' ? '' : `; ${hint}`}`
      sink({ level: 'error', message })
    }
  }
}

/** Undefined for what is no file of a sensible size. */
function contentsOf(path: string): Buffer | undefined {
  try {
    const found = statSync(path)
    return found.isFile() && found.size <= CONTENTS_BYTES_MAX ? readFileSync(path) : undefined
  } catch {
    return undefined
  }
}

function isSame(one: Buffer | undefined, other: Buffer | undefined): boolean {
  return one === undefined || other === undefined ? one === other : one.equals(other)
}

function changedSinceStart(path: string): boolean {
  try {
    return statSync(path).ctimeMs > performance.timeOrigin
  } catch {
    return true
  }
}
