// Follows the configuration file of a running proxy: reads the file after SIGHUP, and after a change.
//
// A configuration with a mistake changes nothing, and the log says why.

import { stat } from 'node:fs/promises'
import { isAbsolute } from 'node:path'
import process from 'node:process'
import { setTimeout } from 'node:timers/promises'
import { refuseLoop } from '../config/proxy-chain.js'
import { secretsIn } from '../config/config.js'
import { homeOf, ownPath } from '../config/file.js'
import type { Configuration } from '../config/configuration.js'
import { ConfigError } from '../config/problems.js'
import type { Logger } from '../log/log.js'
import { counted } from '../text/counted.js'
import { logLevelOf } from './common-options.js'
import type { Run } from './serve.js'
import { memberPath } from '../text/member-path.js'

/** The first look waits this long, because the start has more urgent work. */
const FIRST_LOOK_MS = 500

const LOOK_MS = 1000

/** A file that is being written is read when it has not changed for this long. */
const SETTLE_MS = 100

function pause(ms: number): Promise<unknown> {
  return setTimeout(ms, undefined, { ref: false })
}

/** Values that the process uses at the start only. */
const openedAtStart: readonly (readonly [name: string, valueOf: (config: Configuration) => unknown])[] = [
  ['logging.file', ({ logging }) => logging.file],
  ['logging.maxSize', ({ logging }) => logging.maxSizeBytes],
  ['logging.maxFiles', ({ logging }) => logging.maxFiles],
  ['logging.console', ({ logging }) => logging.console],
  ['audit', ({ audit }) => audit],
  ['processesMax', ({ processesMax }) => processesMax],
  ['server.drainTimeout', ({ server }) => server.drainTimeoutMs],
  ['server.drainDelay', ({ server }) => server.drainDelayMs],
  ['server.metrics', ({ server }) => server.metrics],
  ['server.ui', ({ server }) => server.ui],
]

/** Applies the file to the server and to the log of this process, until `stop`. */
export class ConfigFollower {
  readonly #run: Run
  readonly #reload: (config: Configuration) => Promise<unknown>
  /** The file in use, or the file that would be used if it existed. */
  readonly #path: string
  #config: Configuration
  /** The version of the files at the last look; undefined before the first look. */
  #seen: string | undefined
  /** Reloads run one after the other. */
  #reading: Promise<void> = Promise.resolve()
  #isStopped = false

  /** `reload` applies another configuration to the server, or throws a ConfigError and changes nothing. */
  constructor(run: Run, reload: (config: Configuration) => Promise<unknown>) {
    const { read, config, shutdown, logger } = run
    this.#run = run
    this.#reload = reload
    this.#config = config
    this.#path = isAbsolute(config.source) ? config.source : ownPath(homeOf(process.env), 'config.json')
    if (read !== undefined) void this.#follow()
    shutdown.onHangup(() => {
      const what =
        read === undefined ? 'there is no configuration file to read' : 'reading the configuration again'
      logger.sink({ level: 'info', message: `SIGHUP: ${what}` })
      void this.#readNext()
    })
  }

  stop(): void {
    this.#isStopped = true
  }

  /** Reads the files once two looks in a row find the same change. A later write makes another version. */
  async #follow(): Promise<void> {
    await pause(FIRST_LOOK_MS)
    let last = await this.#filesNow()
    const isOld = last.changedAtMs <= Date.now() - process.uptime() * 1000
    this.#seen ??= isOld ? last.version : ''
    while (!this.#isStopped) {
      const now = await this.#filesNow()
      const isChanged = now.version !== this.#seen
      if (isChanged && now.version === last.version) await this.#readNext()
      last = now
      await pause(isChanged ? SETTLE_MS : LOOK_MS)
    }
  }

  /** The file of the secrets changes with each secret that is set, even if a keyring has the value. */
  async #filesNow(): Promise<{ readonly version: string; readonly changedAtMs: number }> {
    const paths = [this.#path, ownPath(homeOf(process.env), 'secrets.json'), this.#config.lock.path]
    const files = await Promise.all(paths.map((path) => stat(path, { bigint: true }).catch(() => undefined)))
    const versions = files.map(
      (file) => file && [file.dev, file.ino, file.size, file.mtimeNs, file.ctimeNs].join(' '),
    )
    return {
      version: versions.join('\n'),
      changedAtMs: Math.max(0, ...files.map((file) => Number(file?.ctimeMs ?? 0))),
    }
  }

  #readNext(): Promise<void> {
    this.#reading = this.#reading.then(() => this.#read())
    return this.#reading
  }

  async #read(): Promise<void> {
    const { read, logger, schemasOf } = this.#run
    if (read === undefined || this.#isStopped) return
    this.#seen = (await this.#filesNow()).version
    const { source } = this.#config
    try {
      const config = await read(isAbsolute(source) ? source : undefined)
      refuseLoop(config, schemasOf(config), process.env)
      // Add the secrets before anything about the configuration is logged.
      logger.addSecrets(secretsIn(config, schemasOf(config)))
      await this.#reload(config)
      this.#use(config)
    } catch (error) {
      this.#complain(error)
    }
  }

  #use(config: Configuration): void {
    const { given, config: started, logger, eventLog, patterns, schemasOf } = this.#run
    const known = new Set(this.#config.warnings.map(({ path, message }) => `${path} ${message}`))
    const fresh = config.warnings.filter(({ path, message }) => !known.has(`${path} ${message}`))
    this.#config = config
    logger.level = logLevelOf(given, config.logging.level)
    eventLog.levelChanged()
    patterns.use(config)
    for (const [name, valueOf] of openedAtStart)
      if (JSON.stringify(valueOf(config)) !== JSON.stringify(valueOf(started)))
        logger.sink({ level: 'warn', message: `${name} has changed, which needs a restart` })
    tellWarnings(logger, fresh, schemasOf(config))
  }

  #complain(error: unknown): void {
    const { sink } = this.#run.logger
    const message = 'the configuration could not be read again'
    if (!(error instanceof ConfigError)) return sink({ level: 'error', message, details: { error } })
    const { source, problems } = error
    const count = counted(problems.length, 'problem')
    sink({ level: 'error', message: `${source} cannot be used and nothing is changed: ${count}` })
    for (const { path, problem, hint } of problems)
      sink({ level: 'error', message: placed(path, `${problem}${hint === '' ? '' : `; ${hint}`}`) })
  }
}

/** Logs warnings of a configuration, except those about schemas that are not served: `check` prints these. */
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
