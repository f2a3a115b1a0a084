// Applies a changed configuration to the process: the log level, and warnings for values that need a
// restart.

import process from 'node:process'
import type { Configuration } from '../config/config.js'
import { loadConfig, refuseLoop } from '../config/config.js'
import type { Logger } from '../log/log.js'
import type { Endings } from './endings.js'
import type { Feedback } from './feedback.js'
import { Reloading } from './reloading.js'
import { type ServeOptions, addSecrets, levelOf } from './surroundings.js'
import { tellWarnings } from './warnings.js'

/** A running process and the configuration that it was started with. */
export interface Followed {
  readonly command: ServeOptions
  readonly config: Configuration
  readonly program: string
  readonly logger: Logger
  readonly feedback: Feedback
  readonly endings: Endings
}

/** What serves a configuration, and takes another one. */
export interface Follower {
  /** The schemas that it serves. */
  schemasOf(config: Configuration): readonly string[]
  /** @throws ConfigError when the configuration cannot be used; nothing has changed then */
  reload(config: Configuration): Promise<unknown>
}

/** Follows the configuration file, and SIGHUP, until it is stopped. */
export function followConfig(followed: Followed, follower: Follower, isFile: boolean): Reloading {
  const { command, config: started, program, logger, feedback, endings } = followed
  const { timeoutMs } = command
  const reloading = new Reloading({
    config: started,
    logger,
    load: (path) => {
      const config = loadConfig({ path, timeoutMs, nameDefault: program })
      refuseLoop(config, follower.schemasOf(config), process.env)
      // Before anything can be logged of it.
      addSecrets(logger, config, follower.schemasOf(config))
      return config
    },
    apply: (config) => follower.reload(config),
    used: (config, before) => {
      logger.level = levelOf(config, command)
      feedback.levelled()
      warnOfRestart(logger, started, config)
      const known = new Set(before.warnings.map(({ path, message }) => `${path} ${message}`))
      const fresh = config.warnings.filter(({ path, message }) => !known.has(`${path} ${message}`))
      tellWarnings(logger, fresh, follower.schemasOf(config))
    },
  })
  endings.onHangup(() => {
    const what = isFile ? 'reading the configuration again' : 'there is no configuration to read again'
    logger.sink({ level: 'info', message: `SIGHUP: ${what}` })
    if (isFile) reloading.again()
  })
  return reloading
}

const startOnly = {
  file: 'logging.file',
  maxSizeBytes: 'logging.maxSize',
  maxFiles: 'logging.maxFiles',
  console: 'logging.console',
} as const

/** A log goes on where it began. */
function warnOfRestart(logger: Logger, started: Configuration, { logging }: Configuration): void {
  for (const key of ['file', 'maxSizeBytes', 'maxFiles', 'console'] as const) {
    if (logging[key] === started.logging[key]) continue
    logger.sink({ level: 'warn', message: `${startOnly[key]} has changed, which needs a restart` })
  }
}
