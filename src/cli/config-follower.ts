// A configuration that changes while it is used: by SIGHUP, or since its file was written.
//
// What cannot be used changes nothing. The log then says why: once for each text
// of the file, and whenever somebody asks by SIGHUP.

import { readFileSync, statSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import process from 'node:process'
import { ConfigError, refuseLoop } from '../config/config.js'
import type { Configuration } from '../config/config.js'
import { memberPath } from '../config/problems.js'
import type { Logger } from '../log/log.js'
import { ConfigWatch } from './config-watch.js'
import { counted } from './counted.js'
import { type Run, addSecrets, levelOf } from './run.js'

/** A start has other things to do first. */
const WATCH_DELAY_MS = 500

/** Larger ones are no configurations; whoever reads them says so. */
const CONTENTS_BYTES_MAX = 2 * 1024 * 1024

const startOnly = [
  ['file', 'logging.file'],
  ['maxSizeBytes', 'logging.maxSize'],
  ['maxFiles', 'logging.maxFiles'],
  ['console', 'logging.console'],
] as const

/** Keeps what is served, and the log of this process, equal to what the file says, until it is stopped. */
export class ConfigFollower {
  readonly #run: Run
  readonly #reload: (config: Configuration) => Promise<unknown>
  /** What is used now. */
  #config: Configuration
  #watch: ConfigWatch | undefined
  #starting: NodeJS.Timeout | undefined
  /** The text that was read last, used or not. */
  #contents: string | undefined
  #stopped = false

  /** `reload` makes whoever serves the configuration take another one, or throws a ConfigError and changes nothing. */
  constructor(run: Run, reload: (config: Configuration) => Promise<unknown>) {
    this.#run = run
    this.#reload = reload
    this.#config = run.config
    this.#starting = setTimeout(() => this.#startWatch(), WATCH_DELAY_MS).unref()
    run.endings.onHangup(() => this.#onHangup())
  }

  stop(): void {
    this.#stopped = true
    clearTimeout(this.#starting)
    this.#watch?.stop()
  }

  #onHangup(): void {
    const { read, logger } = this.#run
    const what =
      read !== undefined ? 'reading the configuration again' : 'there is no configuration to read again'
    logger.sink({ level: 'info', message: `SIGHUP: ${what}` })
    void this.#read()
  }

  /** The file in use; undefined for a configuration that is none. */
  get #path(): string | undefined {
    const { source } = this.#config
    return this.#run.read !== undefined && isAbsolute(source) ? source : undefined
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
    if (contentsOf(this.#path) !== this.#contents) void this.#read()
  }

  /** Reads the file, or whatever there is to be found, and uses it. */
  async #read(): Promise<void> {
    const { read } = this.#run
    if (read === undefined) return
    const path = this.#path
    this.#contents = contentsOf(path)
    try {
      const config = this.#checked(read(path))
      await this.#reload(config)
      this.#use(config)
    } catch (error) {
      return this.#complain(error)
    }
    if (this.#watch === undefined && this.#starting === undefined) this.#startWatch()
  }

  #checked(config: Configuration): Configuration {
    const { logger, schemasOf } = this.#run
    refuseLoop(config, schemasOf(config), process.env)
    // Before anything can be logged of it.
    addSecrets(logger, config, schemasOf(config))
    return config
  }

  #use(config: Configuration): void {
    const { command, config: started, logger, feedback, schemasOf } = this.#run
    const known = new Set(this.#config.warnings.map(({ path, message }) => `${path} ${message}`))
    const fresh = config.warnings.filter(({ path, message }) => !known.has(`${path} ${message}`))
    this.#config = config
    logger.level = levelOf(config, command)
    feedback.levelled()
    // A log goes on where it began.
    for (const [key, name] of startOnly)
      if (config.logging[key] !== started.logging[key])
        logger.sink({ level: 'warn', message: `${name} has changed, which needs a restart` })
    tellWarnings(logger, fresh, schemasOf(config))
  }

  #complain(error: unknown): void {
    const { sink } = this.#run.logger
    if (!(error instanceof ConfigError)) {
      const message = 'the configuration could not be read again'
      return sink({ level: 'error', message, details: { error } })
    }
    const { source, problems } = error
    const count = counted(problems.length, 'problem')
    sink({ level: 'error', message: `${source} cannot be used and nothing is changed: ${count}` })
    for (const { path, problem, hint } of problems)
      sink({ level: 'error', message: placed(path, `${problem}${hint === '' ? '' : `; ${hint}`}`) })
  }
}

/** Undefined for what is no file of a sensible size. */
function contentsOf(path: string | undefined): string | undefined {
  try {
    const found = path === undefined ? undefined : statSync(path)
    if (path === undefined || found?.isFile() !== true || found.size > CONTENTS_BYTES_MAX) return undefined
    return readFileSync(path, 'latin1')
  } catch {
    return undefined
  }
}

function changedSinceStart(path: string): boolean {
  try {
    return statSync(path).ctimeMs > Date.now() - process.uptime() * 1000
  } catch {
    return true
  }
}

/** Logs warnings of a configuration; those about schemas that are not served would only be noise: `--check` tells them. */
export function tellWarnings(
  logger: Logger,
  warnings: Configuration['warnings'],
  schemas: readonly string[],
): void {
  for (const { path, message } of warnings)
    if (schemas.some((schema) => concerns(path, schema)))
      logger.sink({ level: 'warn', message: placed(path, message) })
}

function placed(path: string, what: string): string {
  return `configuration: ${path}${path === '' ? '' : ' '}${what}`
}

function concerns(path: string, schema: string): boolean {
  const own = memberPath('schemas', schema)
  return (
    !path.startsWith('schemas') || path === own || path.startsWith(`${own}.`) || path.startsWith(`${own}[`)
  )
}
